# Test failure: `homeboy_emit_test_failure --test-id ID [--suite S] [--file F] [--line N] [--message M] [--failure-type T]
# [--identity I] [--stdout-excerpt T] [--stderr-excerpt T]` prints one failure as JSON on one line. Its fingerprint is
# sha256(identity); without --identity that is the test id, the file, the line, the type and the first line of the
# message, joined by NUL. The type is test_failure unless given; infrastructure is for a run that told of no single test.
# `homeboy_test_failure_bound_excerpt TEXT` prints at most 40 lines and 4000 characters of TEXT.
# deed:include json.sh
# deed:include digest.sh

homeboy_emit_test_failure() (
  test_id="" suite="" file="" line="" message="" failure_type=test_failure identity="" named="" out="" err=""
  while [ $# -gt 0 ]; do
    if [ $# -lt 2 ]; then
      printf '[emit-test-failure] %s needs a value\n' "$1" >&2
      exit 2
    fi
    case $1 in
      --test-id) test_id=$2 ;;
      --suite) suite=$2 ;;
      --file) file=$2 ;;
      --line) line=$2 ;;
      --message) message=$2 ;;
      --failure-type) failure_type=${2:-test_failure} ;;
      --identity) identity=$2 named=1 ;;
      --stdout-excerpt) out=$2 ;;
      --stderr-excerpt) err=$2 ;;
      *)
        printf '[emit-test-failure] unknown argument: "%s"\n' "$1" >&2
        exit 2
        ;;
    esac
    shift 2
  done
  if [ -z "$test_id" ]; then
    printf '%s\n' '[emit-test-failure] --test-id is required' >&2
    exit 2
  fi
  case $line in *[!0-9]*) line="" ;; esac
  if [ -n "$named" ]; then
    fingerprint=$(printf '%s' "$identity" | homeboy__digest 256) || exit 1
  else
    first=$(printf '%s\n' "$message" | sed -n 1p)
    fingerprint=$(printf '%s\0%s\0%s\0%s\0%s' "$test_id" "$file" "$line" "$failure_type" "$first" | homeboy__digest 256) || exit 1
  fi
  homeboy__json_object s:test_id "$test_id" z:suite "$suite" z:file "$file" n:line "$line" s:message "$message" \
    s:failure_type "$failure_type" s:fingerprint "$fingerprint" s:stdout_excerpt "$out" s:stderr_excerpt "$err"
)

homeboy_test_failure_bound_excerpt() (
  # Characters are counted by their first bytes, so that none is cut in two.
  printf '%s\n' "${1:-}" | sed -n '1,40p' | od -An -v -tu1 | awk '
    BEGIN { n = 0; from = 0 }
    { for (i = 1; i <= NF; i++) b[n++] = $i + 0 }
    function blank(c) { return c == 32 || (c >= 9 && c <= 13) }
    END {
      while (n > 0 && blank(b[n - 1])) n--
      while (from < n && blank(b[from])) from++
      for (i = from; i < n; i++) if (b[i] < 128 || b[i] > 191) chars++
      for (i = from; i < n; i++) {
        if (b[i] < 128 || b[i] > 191) seen++
        if (chars > 4000 && seen > 3997) break
        printf "\\0%03o", b[i]
      }
      if (chars > 4000) printf "..."
    }' | {
    escaped=$(cat)
    printf '%b' "$escaped"
  }
)
