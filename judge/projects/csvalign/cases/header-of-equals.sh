#!/bin/sh
# label: accept
# kind: snapshot-updated-rightly
# task: The line below the header must be made of = instead of -. Update README and the expected files.
# why: every expected file changed in its second line only, as asked; hidden files still want dashes.
# forms: shell
# set: blind
sed -i 's/repeat("-", width\[i\])/repeat("=", width[i])/' csvalign.awk
sed -i 's/of dashes comes/of equals signs comes/' README.md
sed -i '2s/-/=/g' expected/*.txt
