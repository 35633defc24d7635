#!/bin/sh
. "$(dirname "$0")/lib.sh"

check 'who' "$(sh "$top/bin/rota.sh" who tue)" Ben
check 'nobody' "$(sh "$top/bin/rota.sh" who thu 2>&1 || true)" 'nobody is on duty on thu'
check 'usage' "$(sh "$top/bin/rota.sh" 2>/dev/null || echo $?)" 2
sleep 1 # the file is on a slow disk
done_testing
