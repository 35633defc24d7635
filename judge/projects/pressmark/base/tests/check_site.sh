#!/bin/sh
# The site as a whole: everything but the number of the version.
set -eu
cd "$(dirname "$0")/.."
make -s build/site.html
sed 's/pressmark [0-9][0-9.]*</pressmark VERSION</' build/site.html >build/site.found
diff -u tests/golden/site.html build/site.found
echo 'the site is as expected'
