"""Replacing of ${section:key}."""

import re

REFERENCE = re.compile(r"\$\{([^:}]+):([^}]+)\}")


class ExpandError(ValueError):
    """A reference leads nowhere, or round in a circle."""


def expand(document, section, key, _path=()):
    """Return the value of the key with all references replaced."""
    here = (section, key.lower())
    if here in _path:
        raise ExpandError("loop at %s:%s" % here)
    value = document.get(section, key)
    if value is None:
        raise ExpandError("no value for %s:%s" % here)

    def replace(match):
        return expand(document, match.group(1), match.group(2), _path + (here,))

    return REFERENCE.sub(replace, value)
