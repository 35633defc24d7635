#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add `geogrid -n LAT LON` that prints the four characters of the large square only, and use it in squares.count(lines, large=True).
# why: both languages have the option and tests for it.
# set: blind
python3 - <<'PY'
p = 'src/main.c'
s = open(p).read()
s = s.replace('''  if (argc != 3) {''', '''  int large = argc == 4 && strcmp(argv[1], "-n") == 0;
  argv += large;
  argc -= large;
  if (argc != 3) {''')
s = s.replace('usage: geogrid LAT LON |', 'usage: geogrid [-n] LAT LON |')
s = s.replace('''  puts(square);''', '''  if (large) square[4] = '\\0';
  puts(square);''')
open(p, 'w').write(s)
p = 'tools/squares.py'
s = open(p).read()
s = s.replace('def count(lines):\n    """Return a Counter of squares."""', 'def count(lines, large=False):\n    """Return a Counter of squares, of large ones if wanted."""')
s = s.replace('''        done = subprocess.run([GEOGRID] + fields[:2], ''', '''        command = [GEOGRID] + ["-n"] * large + fields[:2]
        done = subprocess.run(command, ''')
open(p, 'w').write(s)
p = 'tests/test_squares.py'
s = open(p).read()
s = s.replace('''    def test_bad_line''', '''    def test_large(self):
        lines = ["48.1 11.6", "48.9 11.9", "0 0"]
        self.assertEqual(squares.count(lines, large=True), {"JN58": 2, "JJ00": 1})

    def test_bad_line''')
open(p, 'w').write(s)
PY
sed -i 's/prints the Maidenhead square (six characters) of a position;/prints the Maidenhead square (six characters; with `-n` four) of a position;/' README.md
