# homeboy__named NAME VALUE: exports VALUE as NAME. NAME has to be a name: nothing is evaluated.
homeboy__named() {
  case $1 in
    '' | [0-9]* | *[!A-Za-z0-9_]*)
      printf '[resolve-context] not the name of a variable: "%s"\n' "$1" >&2
      return 2
      ;;
  esac
  export "$1=$2"
}

# homeboy__extension_above DIR: the nearest directory from DIR upwards that holds a manifest.
homeboy__extension_above() (
  dir=$1
  while [ -n "$dir" ]; do
    for manifest in "$dir"/*.json; do
      if [ -e "$manifest" ]; then
        printf '%s' "$dir"
        exit 0
      fi
    done
    [ "$dir" != / ] || exit 1
    dir=$(dirname -- "$dir")
    [ "$dir" != . ] || exit 1
  done
  exit 1
)

homeboy_resolve_context() {
  homeboy__project_alias=""
  homeboy__component_alias=""
  while [ $# -gt 0 ]; do
    case $1 in
      --project-alias) homeboy__project_alias=${2:-} ;;
      --component-alias) homeboy__component_alias=${2:-} ;;
      *)
        printf '[resolve-context] unknown argument: "%s"\n' "$1" >&2
        return 2
        ;;
    esac
    if [ $# -lt 2 ]; then
      printf '[resolve-context] %s needs the name of a variable\n' "$1" >&2
      return 2
    fi
    shift 2
  done
  EXTENSION_PATH=${HOMEBOY_EXTENSION_PATH:-}
  if [ -z "$EXTENSION_PATH" ] && [ -n "${SCRIPT_DIR:-}" ]; then
    EXTENSION_PATH=$(homeboy__extension_above "$SCRIPT_DIR") || EXTENSION_PATH=""
  fi
  if [ -z "$EXTENSION_PATH" ]; then
    printf '%s\n' '[resolve-context] no extension: set HOMEBOY_EXTENSION_PATH, or SCRIPT_DIR below a directory with its manifest' >&2
    return 2
  fi
  COMPONENT_PATH=${HOMEBOY_COMPONENT_PATH:-$(pwd)}
  COMPONENT_ID=${HOMEBOY_COMPONENT_ID:-$(basename -- "$COMPONENT_PATH")}
  PROJECT_PATH=${HOMEBOY_PROJECT_PATH:-$COMPONENT_PATH}
  PLUGIN_PATH=$COMPONENT_PATH
  export EXTENSION_PATH COMPONENT_PATH COMPONENT_ID PROJECT_PATH PLUGIN_PATH
  if [ -n "$homeboy__project_alias" ]; then
    homeboy__named "$homeboy__project_alias" "$PROJECT_PATH" || return 2
  fi
  if [ -n "$homeboy__component_alias" ]; then
    homeboy__named "$homeboy__component_alias" "$COMPONENT_PATH" || return 2
  fi
}
