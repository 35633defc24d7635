# Lint finding: `homeboy_emit_lint_finding --id ID [--root DIR] [--file F] [--line N] [--column N] [--severity S]
# [--source S] [--code C] [--category C] [--message M] [--fixable true|false]` prints one finding as JSON on one line. Its
# fingerprint is sha1(ID), its excerpt the first 240 characters of the line. No ID, or an unknown argument, is status 2.
# deed:include json.sh
# deed:include digest.sh

# homeboy__source_line ROOT FILE LINE: the line, after an x; nothing when there is no such line.
homeboy__source_line() (
  case $3 in '' | 0* | *[!0-9]*) exit 1 ;; esac
  case $2 in /*) file=$2 ;; *) file=${1:-.}/$2 ;; esac
  [ -f "$file" ] && [ -r "$file" ] || exit 1
  # A line may be a whole minified program: its beginning is enough for 240 characters of 4 bytes.
  tr -d '\000' <"$file" | LC_ALL=C awk -v n="$3" 'NR == n { printf "x%s", substr($0, 1, 1200); exit }'
)

homeboy_emit_lint_finding() (
  root="" id="" file="" line="" column="" severity="" source="" code="" category="" message="" fixable=false
  while [ $# -gt 0 ]; do
    if [ $# -lt 2 ]; then
      printf '[emit-lint-finding] %s needs a value\n' "$1" >&2
      exit 2
    fi
    case $1 in
      --root) root=$2 ;;
      --id) id=$2 ;;
      --file) file=$2 ;;
      --line) line=$2 ;;
      --column) column=$2 ;;
      --severity) severity=$2 ;;
      --source) source=$2 ;;
      --code) code=$2 ;;
      --category) category=$2 ;;
      --message) message=$2 ;;
      --fixable) fixable=$2 ;;
      *)
        printf '[emit-lint-finding] unknown argument: "%s"\n' "$1" >&2
        exit 2
        ;;
    esac
    shift 2
  done
  if [ -z "$id" ]; then
    printf '%s\n' '[emit-lint-finding] --id is required' >&2
    exit 2
  fi
  fingerprint=$(printf '%s' "$id" | homeboy__digest 1) || exit 1
  excerpt=$(homeboy__source_line "$root" "$file" "$line") || excerpt=""
  excerpt_type=x
  [ -n "$excerpt" ] || excerpt_type=z
  homeboy__json_object s:id "$id" s:file "$file" n:line "$line" n:column "$column" s:severity "$severity" \
    s:source "$source" s:code "$code" s:category "$category" s:message "$message" b:fixable "$fixable" \
    s:fingerprint "$fingerprint" "$excerpt_type:excerpt" "${excerpt#x}"
)
