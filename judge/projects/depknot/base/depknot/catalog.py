"""Catalogues of packages, and plans as text."""

import datetime
import pathlib
import re
import time

from .ranges import Range
from .registry import schemes


def need(text, scheme):
    """Name and range of 'web ^2'."""
    match = re.fullmatch(r"\s*([a-z][a-z0-9-]*)(?:\s+(.*))?", text.strip())
    if not match:
        raise ValueError("%r is not a name with a range" % text)
    return match[1], Range(match[2] or "*", scheme)


class Catalog:
    def __init__(self, text):
        self.scheme = schemes.get("dotted")
        self.packages = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            if line:
                try:
                    self._read(line)
                except ValueError as error:
                    raise ValueError("line %d: %s" % (number, error)) from None

    def _read(self, line):
        if line.startswith("scheme "):
            self.scheme = schemes.get(line.split()[1])
            return
        match = re.fullmatch(r"([a-z][a-z0-9-]*)\s+(\S+)\s*:(.*)", line)
        if not match:
            raise ValueError("%r is not a package" % line)
        name, version, needs = match.groups()
        needs = [need(part, self.scheme) for part in needs.split(",") if part.strip()]
        self.packages.setdefault(name, {})[self.scheme.parse(version)] = (version, needs)

    def versions(self, name):
        """From the newest to the oldest."""
        return sorted(self.packages.get(name, {}), reverse=True)

    def text(self, name, version):
        return self.packages[name][version][0]

    def needs(self, name, version):
        return self.packages[name][version][1]


class Shelf:
    """Keeps a catalogue file in mind for some seconds."""

    def __init__(self, path, max_age=60.0):
        self.path = pathlib.Path(path)
        self.max_age = max_age
        self.catalog = None
        self.read_at = 0.0

    def get(self):
        if self.catalog is None or time.monotonic() - self.read_at > self.max_age:
            self.catalog = Catalog(self.path.read_text(encoding="utf-8"))
            self.read_at = time.monotonic()
        return self.catalog


def stamp():
    """Now, to the tenth of a second."""
    return datetime.datetime.now().isoformat(timespec="milliseconds")[:-2]


def format_plan(catalog, plan, names):
    """A line for every package in the order of the names, and their number."""
    lines = ["%s %s" % (name, catalog.text(name, plan[name])) for name in names]
    lines.append("# 1 package" if len(lines) == 1 else "# %d packages" % len(lines))
    return "\n".join(lines) + "\n"
