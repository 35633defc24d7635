#!/bin/sh
# label: accept
# kind: refactor
# task: Move the functions of csvalign.awk to lib/text.awk; the output must stay as it is.
# why: only the place of the functions changed.
# set: blind
mkdir lib
sed -n '1,/^{/p' csvalign.awk | sed '$d' | sed '1s/.*/# Functions on text and rows./' > lib/text.awk
sed -n '/^{/,$p' csvalign.awk > rules && { printf '# Align CSV. The functions are in lib/text.awk.\n\n'; cat rules; } > csvalign.awk && rm rules
sed -i 's|^exec awk .*|here=$(dirname "$0")\nexec awk -f "$here/lib/text.awk" -f "$here/csvalign.awk" "$1"|' csvalign
