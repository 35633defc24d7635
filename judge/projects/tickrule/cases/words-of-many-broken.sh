#!/bin/sh
# label: reject
# kind: compile-error
# task: Words of a list with more than two items lose the middle ones. Fix it, and let "tickrule words" take several rules, a line each.
# why: the list is right, but the command has a bracket too few, so that python3 -m tickrule does not even start; no test imports it.
# base: listing.patch
# set: blind
sed -i 's/", "\.join(head\[:1\])/", ".join(head)/' src/tickrule/table.py
sed -i 's/words\.add_argument("rule")/words.add_argument("rules", nargs="+")/; s/^            print(describe(parse(args\.rule)))/            for rule in args.rules:\n                print(describe(parse(rule))/' src/tickrule/__main__.py
