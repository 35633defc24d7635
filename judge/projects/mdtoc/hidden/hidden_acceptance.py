"""Runs the program on inputs that are not in the tree."""

import subprocess
import sys
import tempfile

CASES = [
    ("# X\n## Y\n## Y\n## Y\n", ["x", "y", "y-1", "y-2"]),
    ("# A\n~~~\n# no\n```\n# no\n~~~\n# B\n", ["a", "b"]),
    ("# A\n````\n# no\n````\n## C: d, e!\n", ["a", "c-d-e"]),
    ("# Ünder\n#### Deep\n", ["ünder", "deep"]),
]
bad = 0
for text, want in CASES:
    with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        out = subprocess.run([sys.executable, "-m", "mdtoc", f.name], stdout=subprocess.PIPE, encoding="utf-8")
    got = [line.rsplit("(#", 1)[1].rstrip(")") for line in out.stdout.splitlines()]
    if out.returncode != 0 or got != want:
        bad += 1
        print("want %r got %r (exit %d)" % (want, got, out.returncode))
sys.exit(1 if bad else 0)
