"""The commands next, words and agenda."""

import argparse
import datetime
import itertools
import sys

from . import Never, RuleError, TableError, agenda, describe, parse, read_table, upcoming


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%d %H:%M")


def arguments():
    parser = argparse.ArgumentParser(prog="tickrule")
    commands = parser.add_subparsers(dest="command", required=True)
    following = commands.add_parser("next")
    following.add_argument("rule")
    following.add_argument("after", type=moment)
    following.add_argument("count", type=int, nargs="?", default=1)
    words = commands.add_parser("words")
    words.add_argument("rule")
    plan = commands.add_parser("agenda")
    plan.add_argument("table", type=argparse.FileType(encoding="utf-8"))
    plan.add_argument("begin", type=moment)
    plan.add_argument("end", type=moment)
    return parser


def main(argv=None):
    args = arguments().parse_args(argv)
    try:
        if args.command == "next":
            for time in itertools.islice(upcoming(parse(args.rule), args.after), args.count):
                print(time.strftime("%Y-%m-%d %H:%M"))
        elif args.command == "words":
            print(describe(parse(args.rule)))
        else:
            for line in agenda(read_table(args.table.read()), args.begin, args.end):
                print(line)
    except (RuleError, TableError, Never) as error:
        print("tickrule: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
