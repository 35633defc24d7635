# Step filter: `should_run_step NAME` says whether the step NAME is to be run.
#
# HOMEBOY_STEP  comma-separated: only these run.    HOMEBOY_SKIP  comma-separated: these do not run, whatever
# HOMEBOY_STEP says. Names match whole, in their case and literally; blanks around them and empty items do not count.
# A blank name always runs. Each answer is added to DEED_STEPS_FILE, so that the host can say that a filter met no step.

# homeboy__trim TEXT: TEXT without the white space around it.
homeboy__trim() {
  homeboy__text=$1
  homeboy__text=${homeboy__text#"${homeboy__text%%[![:space:]]*}"}
  printf '%s' "${homeboy__text%"${homeboy__text##*[![:space:]]}"}"
}

# homeboy__listed NAME LIST: 0 when LIST has NAME, 1 when it has other names, 2 when it has none at all.
homeboy__listed() (
  set -f
  set +e
  IFS=,
  answer=2
  for item in $2; do
    item=$(homeboy__trim "$item")
    [ -n "$item" ] || continue
    [ "$item" != "$1" ] || exit 0
    answer=1
  done
  exit "$answer"
)

homeboy__answer_step() {
  if [ -n "${DEED_STEPS_FILE:-}" ]; then
    { printf '%s %s\n' "$1" "$(printf '%s' "$2" | tr '\n' ' ')" >>"$DEED_STEPS_FILE"; } 2>/dev/null || :
  fi
}

should_run_step() {
  homeboy__step=$(homeboy__trim "${1:-}")
  [ -n "$homeboy__step" ] || return 0
  if [ -n "${HOMEBOY_STEP:-}" ]; then
    homeboy__found=0
    homeboy__listed "$homeboy__step" "$HOMEBOY_STEP" || homeboy__found=$?
    if [ "$homeboy__found" -eq 1 ]; then
      homeboy__answer_step skipped "$homeboy__step"
      return 1
    fi
  fi
  if [ -n "${HOMEBOY_SKIP:-}" ] && homeboy__listed "$homeboy__step" "$HOMEBOY_SKIP"; then
    homeboy__answer_step skipped "$homeboy__step"
    return 1
  fi
  homeboy__answer_step ran "$homeboy__step"
  return 0
}
