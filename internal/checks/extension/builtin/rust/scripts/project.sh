# What the runners of a Rust project have in common. It is sourced after kit_start.

# cargo_members ARGUMENT...: --workspace where Cargo.toml is that of a workspace: cargo itself then takes the package at the root only, if there
# is one. Members that the workspace leaves out by default-members stay out, and so does all when an argument names packages.
cargo_members() {
  grep -q '^[[:space:]]*\[workspace\]' Cargo.toml || return 0
  ! grep -q '^[[:space:]]*default-members[[:space:]]*=' Cargo.toml || return 0
  for a in "$@"; do
    case $a in
      --) break ;;
      -p | -p?* | --package | --package=* | --workspace | --all | --manifest-path | --manifest-path=*) return 0 ;;
    esac
  done
  echo --workspace
}

# cargo_undelivered FILE: says when cargo says in it that dependencies cannot be downloaded.
cargo_undelivered() {
  kit_lines dependency "$1" >/dev/null || return 0
  kit_missing dependency "$(sed -n 's/^error: //p' "$1" | sed -e 's/: / /g' -e 1q)" 'download the dependencies with a network: cargo fetch'
}
