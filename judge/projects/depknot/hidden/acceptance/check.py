"""Runs the command on catalogues that are not in the tree."""

import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[1]
ENV = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))}
ENV["PYTHONDONTWRITEBYTECODE"] = "1"

CASES = [
    ("^ of zeros", "app 1: a ^0.7, b ^0.0.2, c ^0.0.0, d ^3.1.4\na 0.7.1:\na 0.8:\nb 0.0.2:\nb 0.0.3:\nb 0.1:\nc 0:\nc 0.9:\nc 1:\nd 3.9:\nd 3.1.3:\nd 4:\n", ["app"],
     0, "a 0.7.1\nb 0.0.2\nc 0.9\nd 3.9\napp 1\n# 5 packages\n"),
    ("late needs", "app 1: one *, two *\none 4:\none 3:\ntwo 9: one <4\ntwo 8:\n", ["app"], 0, "one 4\ntwo 8\napp 1\n# 3 packages\n"),
    ("late needs go back", "k 1: m *, n *\nm 5:\nm 4:\nn 2: m !=5\nn 1: m <3\n", ["k"], 0, "m 4\nn 2\nk 1\n# 3 packages\n"),
    ("late needs of a wish", "p 1:\np 2:\nq 1: p <2\nq 2: p <1\n", ["p", "q >=1"], 0, "p 1\nq 1\n# 2 packages\n"),
    ("given up", "x 2: y ^1, z ^2\nx 1: y *\ny 2:\ny 1: z ^1\nz 2:\nz 1:\n", ["x"], 0, "y 2\nx 1\n# 2 packages\n"),
    ("years", "scheme yearly\nf 2020.12: g ^2019.3\ng 2019.10:\ng 2020.1:\n", ["f"], 0, "g 2019.10\nf 2020.12\n# 2 packages\n"),
    ("cycle of three", "u 1: w *\nw 1: v *\nv 1: u *\nt 1: u *\n", ["t"], 1, "depknot: u -> w -> v -> u\n"),
    ("cycle of one", "self 1: self *\n", ["self"], 1, "depknot: self -> self\n"),
    ("no version", "u 1: w >1\nw 1:\n", ["u"], 1, "depknot: no versions fit together for u *\n"),
    ("no scheme", "scheme odd\n", ["u"], 1, "depknot: no scheme odd (there are: "),
]
bad = 0
with tempfile.TemporaryDirectory(prefix="shop-") as folder:
    path = pathlib.Path(folder) / "list.cat"
    for name, text, wanted, code, want in CASES:
        path.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([sys.executable, "-m", "depknot", str(path), *wanted], cwd=TOP, env=ENV, capture_output=True, encoding="utf-8", timeout=5)
            got = done.stderr if code else done.stdout
            status = done.returncode
        except subprocess.TimeoutExpired:
            got, status = "nothing in five seconds", -1
        if status != code or (not got.startswith(want) if want.endswith(": ") else got != want):
            bad += 1
            print("%s: exit %d, %r, want exit %d, %r" % (name, status, got, code, want))
sys.exit(1 if bad else 0)
