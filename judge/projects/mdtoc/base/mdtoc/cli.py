"""The command line."""

import argparse
import sys

from .toc import render


def build_parser():
    parser = argparse.ArgumentParser(prog="mdtoc", description="Print a table of contents.")
    parser.add_argument("file", help="a Markdown file, or - for standard input")
    parser.add_argument("--depth", type=int, default=6, help="deepest level of heading (default: 6)")
    return parser


def main(argv):
    args = build_parser().parse_args(argv)
    if args.file == "-":
        text = sys.stdin.read()
    else:
        try:
            with open(args.file, encoding="utf-8") as source:
                text = source.read()
        except OSError as err:
            print("mdtoc: %s: %s" % (args.file, err.strerror), file=sys.stderr)
            return 1
    sys.stdout.write(render(text, depth=args.depth))
    return 0
