# homeboy__digest 1|256: the SHA of standard input in hexadecimal, by whatever is there to compute it.
homeboy__digest() (
  if command -v "sha$1sum" >/dev/null 2>&1; then
    sum=$("sha$1sum")
  elif command -v shasum >/dev/null 2>&1; then
    sum=$(shasum -a "$1")
  elif command -v openssl >/dev/null 2>&1; then
    sum=$(openssl dgst -r "-sha$1")
  else
    printf '%s\n' "no tool for SHA-$1: install coreutils, perl or openssl" >&2
    exit 1
  fi
  printf '%s' "${sum%% *}"
)
