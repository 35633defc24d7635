from inivault import Document, ExpandError, expand

from .support import DocumentTest


class ExpandTest(DocumentTest):
    def test_references(self):
        self.assertEqual(expand(self.document, "server", "url"), "http://example:80/")

    def test_references_over_steps(self):
        document = Document.parse("[a]\nx=1${a:y}\ny=2${b:z}\n[b]\nz=3\n")
        self.assertEqual(expand(document, "a", "x"), "123")

    def test_loop(self):
        document = Document.parse("[a]\nx=${a:y}\ny=${a:x}\n")
        with self.assertRaisesRegex(ExpandError, "loop at a:x"):
            expand(document, "a", "x")

    def test_no_value(self):
        with self.assertRaisesRegex(ExpandError, "no value for a:q"):
            expand(Document.parse("[a]\nx=${a:q}\n"), "a", "x")
