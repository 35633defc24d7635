#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add --title TEXT that prints TEXT as a heading of level 2 and a blank line before the list.
# why: the option works, has a test and a line in the README, and nothing else changed.
# set: blind
python3 - <<'PY'
p = 'mdtoc/cli.py'
s = open(p).read()
s = s.replace('''    return parser
''', '''    parser.add_argument("--title", metavar="TEXT", help="print TEXT as a heading before the list")
    return parser
''')
s = s.replace('''    sys.stdout.write(render''', '''    if args.title:
        sys.stdout.write("## %s\\n\\n" % args.title)
    sys.stdout.write(render''')
open(p, 'w').write(s)
PY
cat >> tests/test_golden.py <<'PY'


def test_title():
    done = run("--title", "Contents", "-", stdin="# One\n")
    assert done.stdout == "## Contents\n\n- [One](#one)\n"
PY
printf '\n`--title Contents` prints a heading before the list.\n' >> README.md
