# What the runners of a Go project have in common. It is sourced after kit_start.

# go_packages: the patterns of all packages here: of the module, and of every member of a go.work.
go_packages() {
  go list -m -f '{{.Dir}}' 2>/dev/null | members >"$KIT_TMP/members"
  if [ -s "$KIT_TMP/members" ]; then cat "$KIT_TMP/members"; else echo './...'; fi
}

# members: of the directories on standard input those that are here, as patterns.
members() {
  while IFS= read -r dir; do
    case $dir in
      "$KIT_ROOT") echo './...' ;;
      "$KIT_ROOT"/*) printf './%s/...\n' "${dir#"$KIT_ROOT"/}" ;;
    esac
  done
}

# go_undelivered FILE: whether go says in it that modules cannot be downloaded; then that is told.
go_undelivered() {
  line=$(kit_lines dependency "$1" | sed -n 1p)
  [ -n "$line" ] || return 1
  kit_missing dependency "$(printf '%s' "$line" | sed 's/^[[:space:]]*//; s/: / /g')" 'download the modules with a network: go mod download'
}
