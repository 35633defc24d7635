#!/bin/sh
# rota.sh next DAY | rota.sh who DAY | rota.sh list
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/lib/week.sh"
. "$here/lib/duty.sh"

case ${1:-} in
  next) next_day "${2:?rota.sh next DAY}" ;;
  who) who_is_on "${2:?rota.sh who DAY}" ;;
  list) list_duties ;;
  *) echo 'usage: rota.sh next DAY | who DAY | list' >&2; exit 2 ;;
esac
