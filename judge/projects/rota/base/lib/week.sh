# The days of the week.

next_day() {
  case $1 in
    mon) echo tue ;;
    tue) echo wed ;;
    wed) echo thu ;;
    thu) echo fri ;;
    fri) echo sat ;;
    sat) echo mon ;;
    sun) echo mon ;;
    *) echo "no such day: $1" >&2; return 1 ;;
  esac
}
