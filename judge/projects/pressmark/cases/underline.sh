#!/bin/sh
# label: accept
# kind: generated-files
# task: Fix two marks on a line, and add _word_ for underlined words; regenerate docs/commands.txt, and add a test.
# why: the mark works, the generated list has it, the expected list in the test has it too because it was asked for.
# forms: shell capability steps
# set: sighted
sed -i 's/r"(.+)"/r"(.+?)"/' tools/render.py
sed -i 's/"=": "code"}/"=": "code", "_": "u"}/' tools/render.py
make -s build/commands.txt
cp build/commands.txt docs/commands.txt
sed -i 's/"\* strong\\n= code\\n"/"* strong\\n= code\\n_ u\\n"/' tests/test_render.py
cat >tests/test_underline.py <<'EOF'
import unittest

from tools.render import inline


class UnderlineTest(unittest.TestCase):
    def test_underline(self):
        self.assertEqual(inline("_a_ b _c_"), "<u>a</u> b <u>c</u>")
EOF
