import unittest

from tools.render import inline, render


class HiddenTest(unittest.TestCase):
    def test_many_marks(self):
        self.assertEqual(inline("=a= *b* =c= *d*"), "<code>a</code> <strong>b</strong> <code>c</code> <strong>d</strong>")

    def test_three_on_a_line(self):
        self.assertEqual(inline("*u* *v* *w*").count("<strong>"), 3)

    def test_lines(self):
        self.assertEqual(render("*a* b *c*\nd"), "<p><strong>a</strong> b <strong>c</strong></p>\n<p>d</p>")
