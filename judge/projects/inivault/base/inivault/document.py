"""The file as a list of lines."""

import re

SECTION = re.compile(r"^\[([^\]]+)\]\s*$")
PAIR = re.compile(r"^([^=:#;]+?)\s*[=:]\s*(.*?)\s*$")


class ParseError(ValueError):
    """A line cannot be read; the message names it."""


class Document:
    def __init__(self, lines=()):
        self.lines = list(lines)  # (kind, section, key, text)

    @classmethod
    def parse(cls, text):
        section = None
        lines = []
        for number, raw in enumerate(text.splitlines(), start=1):
            stripped = raw.strip()
            if not stripped or stripped[0] in "#;":
                lines.append(("comment", section, None, raw))
                continue
            match = SECTION.match(stripped)
            if match:
                section = match.group(1)
                lines.append(("section", section, None, raw))
                continue
            match = PAIR.match(stripped)
            if match is None or section is None:
                raise ParseError("line %d: %r" % (number, raw))
            lines.append(("pair", section, match.group(1).lower(), match.group(2)))
        return cls(lines)

    def sections(self):
        return [line[1] for line in self.lines if line[0] == "section"]

    def get(self, section, key, default=None):
        """Return the last value of the key."""
        found = default
        for kind, where, name, text in self.lines:
            if kind == "pair" and where == section and name == key.lower():
                found = text
        return found

    def items(self, section):
        """Return a dict of the keys of section, in the order of the file."""
        return {name: self.get(section, name) for kind, where, name, _ in self.lines if kind == "pair" and where == section}

    def set(self, section, key, value):
        """Replace the last value of key, or add one at the end of the section."""
        last = None
        for at, (kind, where, name, _) in enumerate(self.lines):
            if where == section:
                if kind == "pair" and name == key.lower():
                    self.lines[at] = ("pair", section, name, value)
                    return
                if kind != "comment":
                    last = at
        if last is None:
            self.lines.append(("section", section, None, "[%s]" % section))
            last = len(self.lines) - 1
        self.lines.insert(last + 1, ("pair", section, key.lower(), value))

    def dump(self):
        out = []
        for kind, _, name, text in self.lines:
            out.append("%s = %s" % (name, text) if kind == "pair" else text)
        return "\n".join(out) + "\n"
