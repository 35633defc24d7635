"""Count the squares of a list of positions (LAT LON TEXT)."""

import os
import subprocess
import sys
from collections import Counter

GEOGRID = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "geogrid")


def count(lines):
    """Return a Counter of squares."""
    seen = Counter()
    for number, line in enumerate(lines, start=1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        done = subprocess.run([GEOGRID] + fields[:2], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="ascii")
        if done.returncode != 0:
            raise ValueError("line %d: %s" % (number, line.strip()))
        seen[done.stdout.strip()] += 1
    return seen


if __name__ == "__main__":
    for square, times in count(sys.stdin).most_common():
        print(times, square)
