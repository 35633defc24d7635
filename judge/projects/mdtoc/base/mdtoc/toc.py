"""Rendering of the list."""

import re

from .headings import headings

BULLET = "-"


def anchor(title, seen):
    """Return the anchor of title; seen counts the anchors so far."""
    base = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    count = seen.get(base, 0)
    seen[base] = count + 1
    return base if count == 0 else "%s-%d" % (base, count)


def render(text, depth=6):
    """Return the table of contents of text."""
    seen = {}
    lines = []
    for level, title in headings(text):
        link = anchor(title, seen)
        if level <= depth:
            lines.append("%s%s [%s](#%s)\n" % ("  " * (level - 1), BULLET, title, link))
    return "".join(lines)
