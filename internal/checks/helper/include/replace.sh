# homeboy__replace FILE: replaces FILE with standard input in one step and makes the directories above it. Whoever reads
# FILE sees the old text or the new one.
homeboy__replace() (
  target=$1
  dir=$(dirname -- "$target") || exit 1
  if [ -d "$target" ]; then
    printf '%s\n' "[sidecar] $target is a directory: it has to be a file" >&2
    exit 1
  fi
  mkdir -p -- "$dir" || exit 1
  temporary=$(mktemp "$dir/.sidecar-XXXXXX") || exit 1
  if cat >"$temporary" && chmod 644 "$temporary" && mv -f -- "$temporary" "$target"; then
    exit 0
  fi
  rm -f -- "$temporary"
  exit 1
)
