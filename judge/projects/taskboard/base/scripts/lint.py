"""Lint: Python compiles, no file has tabs or prints by accident."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
bad = []
for path in sorted(ROOT.glob("board/*.py")) + sorted(ROOT.glob("web/*.js")):
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT)
    if "\t" in text:
        bad.append("%s: tabs" % name)
    for word in ("print(", "console.log(", "debugger"):
        if word in text:
            bad.append("%s: %s is for scripts only" % (name, word))
    if path.suffix == ".py":
        try:
            compile(text, str(name), "exec")
        except SyntaxError as err:
            bad.append("%s:%s: %s" % (name, err.lineno, err.msg))
print("\n".join(bad) or "lint: ok")
sys.exit(bool(bad))
