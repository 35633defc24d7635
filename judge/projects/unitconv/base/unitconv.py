"""Converts between units."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPERATURES = ("C", "F", "K")


class UnitError(ValueError):
    """The units do not exist or do not fit."""


def load(path=os.path.join(HERE, "units.json")):
    with open(path) as source:
        return json.load(source)


def kind_of(unit, table):
    """Return length, mass or temperature."""
    if unit in TEMPERATURES:
        return "temperature"
    for kind, units in table.items():
        if unit in units:
            return kind
    raise UnitError("unknown unit %s" % unit)


def to_kelvin(value, unit):
    if unit == "C":
        return value + 273.15
    if unit == "F":
        return (value - 32) * 5 / 9 + 273.15
    return value


def from_kelvin(value, unit):
    if unit == "C":
        return value - 273.15
    if unit == "F":
        return (value - 273.15) * 9 / 5 + 32
    return value


def convert(value, source, target, table=None):
    """Return value in the unit target."""
    table = load() if table is None else table
    kind = kind_of(source, table)
    if kind != kind_of(target, table):
        raise UnitError("cannot convert %s to %s" % (source, target))
    if kind == "temperature":
        kelvin = to_kelvin(value, source)
        if kelvin < -1e-9:
            raise UnitError("below absolute zero")
        return from_kelvin(kelvin, target)
    return value * table[kind][source] / table[kind][target]


def show(value):
    """Return value with six significant digits and no useless zeros."""
    return "%.6g" % round(value, 9)


def main(argv):
    if len(argv) != 3:
        print("usage: unitconv.py VALUE FROM TO", file=sys.stderr)
        return 2
    try:
        print(show(convert(float(argv[0]), argv[1], argv[2])), argv[2])
    except ValueError as err:
        print("unitconv: %s" % err, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
