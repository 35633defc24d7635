from inivault import Document, masked

from .support import DocumentTest


class MaskTest(DocumentTest):
    def test_secrets_are_hidden(self):
        self.assertEqual(masked(self.document, "login"), {"user": "ann", "api_token": "***", "password": "***"})

    def test_empty_secret_is_shown_empty(self):
        self.assertEqual(masked(Document.parse("[a]\nsecret =\n"), "a"), {"secret": ""})
