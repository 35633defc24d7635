import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"


def run(*args, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "mdtoc", *map(str, args)], cwd=ROOT, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


@pytest.mark.parametrize("source", sorted(GOLDEN.glob("*.md")), ids=lambda path: path.stem)
def test_golden(source):
    done = run(source)
    assert done.returncode == 0, done.stderr
    assert done.stdout == source.with_suffix(".toc").read_text(encoding="utf-8")


def test_depth():
    done = run("--depth", "1", "-", stdin="# One\n## Two\n# Three\n")
    assert done.stdout == "- [One](#one)\n- [Three](#three)\n"


def test_missing_file():
    done = run("no-such-file.md")
    assert done.returncode == 1
    assert "no-such-file.md" in done.stderr
