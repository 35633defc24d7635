import unittest

from inivault import Document, ParseError

from .support import TEXT, DocumentTest


class ParseTest(DocumentTest):
    def test_sections(self):
        self.assertEqual(self.document.sections(), ["server", "login"])

    def test_get_ignores_case_of_keys(self):
        self.assertEqual(self.document.get("server", "HOST"), "example")
        self.assertEqual(self.document.get("server", "nothing", "x"), "x")

    def test_last_value_wins(self):
        document = Document.parse("[a]\nk=1\nk=2\n")
        self.assertEqual(document.get("a", "k"), "2")

    def test_error_names_the_line(self):
        with self.assertRaisesRegex(ParseError, "line 2"):
            Document.parse("[a]\nwhat is this\n")

    def test_pair_before_any_section(self):
        self.assertRaises(ParseError, Document.parse, "k = 1\n")


class WriteTest(DocumentTest):
    def test_comments_stay(self):
        text = self.document.dump()
        self.assertIn("# main\n[server]\n", text)
        self.assertIn("; do not share\n", text)
        self.assertEqual(len(text.splitlines()), len(TEXT.splitlines()))

    def test_set_replaces(self):
        self.document.set("server", "PORT", "8080")
        self.assertEqual(self.document.items("server")["port"], "8080")
        self.assertEqual(self.document.dump().count("port = "), 1)

    def test_set_adds(self):
        self.document.set("server", "timeout", "5")
        self.document.set("new", "k", "v")
        text = self.document.dump()
        self.assertIn("}/\ntimeout = 5\n", text)
        self.assertTrue(text.endswith("[new]\nk = v\n"))


if __name__ == "__main__":
    unittest.main()
