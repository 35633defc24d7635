"""Versions and ranges of them."""

import operator
import re

from .registry import schemes


@schemes.register("dotted")
class Dotted:
    """1.2.3, with as many parts as one likes; zeros at the end do not count."""

    def parse(self, text):
        if not re.fullmatch(r"\d+(\.\d+)*", text):
            raise ValueError("%r is not a version" % text)
        return self.strip([int(part) for part in text.split(".")])

    def strip(self, parts):
        while parts and parts[-1] == 0:
            parts = parts[:-1]
        return tuple(parts)

    def breaking(self, version):
        """The first later version that may break."""
        for place, part in enumerate(version):
            if part:
                return (*version[:place], part + 1)
        return (1,)


@schemes.register("yearly")
class Yearly:
    """2023.2 is the second version of a year."""

    def parse(self, text):
        match = re.fullmatch(r"(\d{4})\.(\d+)", text)
        if not match:
            raise ValueError("%r is not a year and a number" % text)
        return int(match[1]), int(match[2])

    def breaking(self, version):
        return version[0] + 1, 0


COMPARE = {"=": operator.eq, "": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Range:
    def __init__(self, text, scheme):
        self.text = text.strip() or "*"
        self.tests = []
        for word in self.text.split():
            if word == "*":
                continue
            sign, version = re.fullmatch(r"([=!<>^]*)(.*)", word).groups()
            version = scheme.parse(version)
            if sign == "^":
                self.tests += [(operator.ge, version), (operator.lt, scheme.breaking(version))]
            elif sign in COMPARE:
                self.tests.append((COMPARE[sign], version))
            else:
                raise ValueError("%r is not a comparison" % sign)

    def __contains__(self, version):
        return all(compare(version, limit) for compare, limit in self.tests)

    def __str__(self):
        return self.text
