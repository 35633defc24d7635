"""Finding of headings, outside of fenced code."""

import re

HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")


def headings(text):
    """Yield (level, title) for every heading."""
    fence = None
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark:
            if fence is None:
                fence = mark.group(1)[:3]
            elif mark.group(1).startswith(fence):
                fence = None
            continue
        if fence is not None:
            continue
        match = HEADING.match(line)
        if match:
            yield len(match.group(1)), match.group(2)
