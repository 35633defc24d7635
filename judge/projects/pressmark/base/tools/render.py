"""Light markup: a line is a paragraph; *word* is strong, =word= is code, a line that begins with "# " is a heading."""

import html
import re
import sys

COMMANDS = {"*": "strong", "=": "code"}


def inline(text):
    """Render the marks within a line."""
    out = html.escape(text, quote=False)
    for mark, tag in COMMANDS.items():
        pattern = re.escape(mark) + r"(.+)" + re.escape(mark)
        out = re.sub(pattern, rf"<{tag}>\1</{tag}>", out)
    return out


def render(text):
    """Render a page."""
    out = []
    for line in text.splitlines():
        if line.startswith("# "):
            out.append(f"<h1>{inline(line[2:])}</h1>")
        elif line.strip():
            out.append(f"<p>{inline(line)}</p>")
    return "\n".join(out)


def commands():
    """List the marks, for the documentation."""
    return "".join(f"{mark} {tag}\n" for mark, tag in sorted(COMMANDS.items()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--commands"]:
        sys.stdout.write(commands())
    else:
        sys.exit("usage: render.py --commands")
