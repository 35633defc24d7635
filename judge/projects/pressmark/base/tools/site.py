"""All pages in one file."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from tools.render import render  # noqa: E402


def site(version, pages):
    body = "\n<hr>\n".join(render(pathlib.Path(p).read_text(encoding="utf-8")) for p in pages)
    return f"{body}\n<footer>pressmark {version}</footer>\n"


if __name__ == "__main__":
    sys.stdout.write(site(sys.argv[1], sys.argv[2:]))
