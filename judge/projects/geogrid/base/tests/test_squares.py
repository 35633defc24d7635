import io
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import squares  # noqa: E402


class SquaresTest(unittest.TestCase):
    def test_count(self):
        text = "48.14666 11.60833 Munich\n48.15 11.61\n\n# a comment\n0 0 Null Island\n"
        self.assertEqual(squares.count(io.StringIO(text)), {"JN58td": 2, "JJ00aa": 1})

    def test_bad_line(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            squares.count(io.StringIO("0 0\n91 0\n"))


if __name__ == "__main__":
    unittest.main()
