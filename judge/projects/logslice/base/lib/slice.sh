# shellcheck shell=bash
# Functions of logslice.

# is_time TEXT: is it HH:MM?
is_time() {
  [[ $1 =~ ^([01][0-9]|2[0-3]):[0-5][0-9]$ ]]
}

# level_rank LEVEL: print its rank.
level_rank() {
  case $1 in
    DEBUG) echo 0 ;;
    INFO) echo 1 ;;
    WARN) echo 2 ;;
    ERROR) echo 3 ;;
    *) return 1 ;;
  esac
}

# slice FROM TO RANK FILE...: print the lines of the range.
slice() {
  local from=$1 to=$2 rank=$3
  shift 3
  awk -v from="$from" -v to="$to" -v least="$rank" '
    BEGIN { rank["DEBUG"] = 0; rank["INFO"] = 1; rank["WARN"] = 2; rank["ERROR"] = 3 }
    FNR == 1 { keep = 0 }
    /^[0-9][0-9]:[0-9][0-9]/ {
      minute = substr($1, 1, 5)
      keep = minute >= from && minute <= to && rank[$2] >= least
    }
    keep
  ' "$@"
}
