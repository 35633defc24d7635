"""What several tests need."""

import unittest

from inivault import Document

TEXT = """# main
[server]
Host = example
port: 80
url = http://${server:host}:${server:port}/

[login]
; do not share
user = ann
api_token = abc
Password=hunter2
"""


class DocumentTest(unittest.TestCase):
    def setUp(self):
        self.document = Document.parse(TEXT)
