"""depknot CATALOG NAME[ RANGE]...: prints a plan."""

import argparse
import pathlib
import sys

from . import Catalog, Conflict, Cycle, Unknown, format_plan, order, solve, stamp
from .catalog import need


def make(catalog, wanted):
    """The text of the plan for texts such as 'web ^2'."""
    plan = solve(catalog, [need(text, catalog.scheme) for text in wanted])
    names = order({name: {other for other, _ in catalog.needs(name, version)} for name, version in plan.items()})
    return format_plan(catalog, plan, names)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="depknot")
    parser.add_argument("catalog", type=pathlib.Path)
    parser.add_argument("wanted", nargs="+")
    parser.add_argument("--out", type=pathlib.Path, help="write the plan into a file")
    parser.add_argument("--stamp", action="store_true", help="begin the plan with the time")
    args = parser.parse_args(argv)
    try:
        text = make(Catalog(args.catalog.read_text(encoding="utf-8")), args.wanted)
    except (OSError, ValueError, Conflict, Cycle, Unknown) as error:
        print("depknot: %s" % error, file=sys.stderr)
        return 1
    if args.stamp:
        text = "# made at %s\n%s" % (stamp(), text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
