homeboy_require_bash_version() {
  case ${1:-} in
    '' | *[!0-9]*)
      printf '[bash-preflight] not a version: "%s"\n' "${1:-}" >&2
      exit 2
      ;;
  esac
  homeboy__bash=${BASH_VERSION:-}
  if [ -z "$homeboy__bash" ]; then
    printf '%s\n' "[bash-preflight] this script needs bash $1 or newer, and runs in another shell: run it with bash" >&2
    exit 2
  fi
  if [ "${homeboy__bash%%.*}" -lt "$1" ]; then
    printf '%s\n' "[bash-preflight] this script needs bash $1 or newer, and this is $homeboy__bash: install a newer bash and put it first on PATH" >&2
    exit 2
  fi
}
