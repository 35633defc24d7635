"""Compares text with files."""

import difflib


class Golden:
    def __init__(self, folder, rewrite=False):
        self.folder = folder
        self.rewrite = rewrite

    def tables(self):
        return sorted(self.folder.glob("*.tab"))

    def check(self, name, text):
        path = self.folder / name
        if self.rewrite:
            path.write_text(text, encoding="utf-8")
            return
        wanted = path.read_text(encoding="utf-8")
        diff = list(difflib.unified_diff(wanted.splitlines(), text.splitlines(), name, "now", lineterm=""))
        assert not diff, "\n".join(diff)
