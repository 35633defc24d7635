# What people see.

# age_text SECONDS: 59s, 1m, 23h, 2d
age_text() {
  if [ "$1" -ge 86400 ]; then
    echo "$(($1 / 86400))d"
  elif [ "$1" -ge 3600 ]; then
    echo "$(($1 / 3600))h"
  elif [ "$1" -ge 60 ]; then
    echo "$(($1 / 60))m"
  else
    echo "${1}s"
  fi
}

report_list() { # STATE
  local id file at
  case $1 in
    new | work | done | failed) ;;
    *) die "no such state: $1" ;;
  esac
  at=$(now)
  for id in $(queue_order "$1"); do
    file=$SPOOLQ_DIR/$1/$id
    printf '%s %4s %4s  %s\n' "$id" "$(job_get "$file" prio)" \
      "$(age_text $((at - $(job_get "$file" added))))" "$(job_get "$file" cmd)"
  done
}

report_stats() {
  local state line=
  for state in new work done failed; do
    line="$line$state $(find "$SPOOLQ_DIR/$state" -type f | wc -l | tr -d ' ') "
  done
  echo "${line% }"
}
