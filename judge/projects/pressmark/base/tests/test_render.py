import unittest

from tools.render import commands, inline, render


class InlineTest(unittest.TestCase):
    def test_strong(self):
        self.assertEqual(inline("a *b* c"), "a <strong>b</strong> c")

    def test_two_on_a_line(self):
        self.assertEqual(inline("*a* and *b*"), "<strong>a</strong> and <strong>b</strong>")

    def test_code(self):
        self.assertEqual(inline("=x="), "<code>x</code>")

    def test_escaping(self):
        self.assertEqual(inline("a < b & c"), "a &lt; b &amp; c")


class RenderTest(unittest.TestCase):
    def test_page(self):
        self.assertEqual(render("# A\n\nb\n"), "<h1>A</h1>\n<p>b</p>")

    def test_commands(self):
        self.assertEqual(commands(), "* strong\n= code\n")
