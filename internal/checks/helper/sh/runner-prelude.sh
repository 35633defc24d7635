# Prelude: `homeboy_runner_init [--bash MAJOR] [--steps] [--failure-trap] [--sidecar-writer] [--project-alias NAME]
# [--component-alias NAME]` makes a runner ready in one call: it resolves the context and sources the helpers that are
# asked for. A helper that is not there, or an unknown argument, is status 2.
# deed:include context.sh
# deed:include preflight.sh

# Where this file is: helpers without a variable are looked for beside it. Only bash says it.
homeboy__prelude=${BASH_SOURCE:-${HOMEBOY_RUNTIME_RUNNER_PRELUDE:-}}

# homeboy_source_runtime_helper VARIABLE FILE: sources the helper that VARIABLE names, else FILE beside this one.
homeboy_source_runtime_helper() {
  case ${1:-} in
    HOMEBOY_RUNTIME_*[!A-Z0-9_]* | HOMEBOY_RUNTIME_) homeboy__helper="" ;;
    HOMEBOY_RUNTIME_*) eval "homeboy__helper=\${$1:-}" ;;
    *) homeboy__helper="" ;;
  esac
  if [ -z "$homeboy__helper" ] && [ -n "$homeboy__prelude" ]; then
    homeboy__helper=$(dirname -- "$homeboy__prelude")/${2:-}
  fi
  if [ ! -f "$homeboy__helper" ]; then
    printf '[runner-prelude] no helper %s: %s is not set\n' "${2:-}" "${1:-}" >&2
    return 2
  fi
  # shellcheck source=/dev/null
  . "$homeboy__helper"
}

homeboy_runner_init() {
  homeboy__steps="" homeboy__trap="" homeboy__writer="" homeboy__palias="" homeboy__calias=""
  while [ $# -gt 0 ]; do
    case $1 in
      --steps) homeboy__steps=1 ;;
      --failure-trap) homeboy__trap=1 ;;
      --sidecar-writer) homeboy__writer=1 ;;
      --bash | --project-alias | --component-alias)
        if [ $# -lt 2 ]; then
          printf '[runner-prelude] %s needs a value\n' "$1" >&2
          return 2
        fi
        case $1 in
          --bash) homeboy_require_bash_version "$2" ;;
          --project-alias) homeboy__palias=$2 ;;
          --component-alias) homeboy__calias=$2 ;;
        esac
        shift
        ;;
      *)
        printf '[runner-prelude] unknown argument: "%s"\n' "$1" >&2
        return 2
        ;;
    esac
    shift
  done
  homeboy_resolve_context ${homeboy__palias:+--project-alias "$homeboy__palias"} \
    ${homeboy__calias:+--component-alias "$homeboy__calias"} || return 2
  if [ -n "$homeboy__steps" ]; then
    homeboy_source_runtime_helper HOMEBOY_RUNTIME_RUNNER_STEPS runner-steps.sh || return 2
  fi
  if [ -n "$homeboy__trap" ]; then
    homeboy_source_runtime_helper HOMEBOY_RUNTIME_FAILURE_TRAP failure-trap.sh || return 2
    homeboy_init_failure_trap
  fi
  if [ -n "$homeboy__writer" ]; then
    homeboy_source_runtime_helper HOMEBOY_RUNTIME_SIDECAR_WRITER sidecar-writer.sh || return 2
  fi
}
