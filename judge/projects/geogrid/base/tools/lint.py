"""Check the style of sources: no tabs, no trailing blanks, no long lines."""

import os
import sys

LONGEST = 130


def problems(path):
    with open(path, encoding="utf-8") as source:
        for number, line in enumerate(source, start=1):
            line = line.rstrip("\n")
            if "\t" in line:
                yield "%s:%d: tab" % (path, number)
            if line != line.rstrip():
                yield "%s:%d: trailing blanks" % (path, number)
            if len(line) > LONGEST:
                yield "%s:%d: longer than %d" % (path, number, LONGEST)


def main(roots):
    found = []
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in sorted(names):
                if name.endswith(".py"):
                    found += problems(os.path.join(folder, name))
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
