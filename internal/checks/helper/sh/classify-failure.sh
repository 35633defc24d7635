# Failure classifier: `homeboy_classify_failure --exit N [--capability test|lint|build] [--name NAME] [--stdout FILE]
# [--stderr FILE] [--log FILE] [--total N] [--failed N] [--findings N]` says how a run ended, by the first of eight modes
# that fits: bootstrap, assertions, fatal_on_stdout, fatal_before_runner, unclassified, no_output, no_test_files,
# zero_tests_executed; else clean. It sets
#
#   FAILURE_MODE         the mode                       FAILED_STEP          a label, empty when clean
#   FAILURE_CATEGORY     findings or infrastructure     FAILURE_SUMMARY      one sentence
#   FAILURE_STAGE        of a bootstrap                 FAILURE_OUTPUT       the lines that say most
#   FAILURE_EXIT         0, 1, or 2 and above           FAILURE_REPLAY_MODE  none where the tool's report says it all
#
# and returns 0. NAME is what ran, as people know it. LOG holds lines like STAGE_FAIL:stage:message and NO_TEST_FILES.
# The host asks the same questions of the same table.

homeboy__markers() {
  cat <<'MARKERS'
# deed:include markers.txt
MARKERS
}

# homeboy__stream FILE: the last megabyte of FILE, with a newline at its end.
homeboy__stream() {
  if [ -n "$1" ] && [ -f "$1" ]; then
    tail -c 1048576 "$1" | tr -d '\000'
  fi
  printf '\n'
}

homeboy__classify() {
  {
    homeboy__markers | sed 's/^/M/'
    homeboy__stream "$homeboy__log" | sed 's/^/L/'
    { homeboy__stream "$homeboy__stdout"; homeboy__stream "$homeboy__stderr"; } | sed 's/^/O/'
  } | LC_ALL=C homeboy__exit=$homeboy__exit homeboy__capability=$homeboy__capability homeboy__name=$homeboy__name \
    homeboy__total=$homeboy__total homeboy__failed=$homeboy__failed homeboy__findings=$homeboy__findings awk '
    function first(kind,  i) {
      for (i = 1; i <= outs; i++) if (out[i] ~ re[kind]) return out[i]
      return ""
    }
    function trimmed(s) { sub(/^[ \t]+/, "", s); sub(/[ \t\r]+$/, "", s); return s }
    function tell(mode, category, step, stage, summary,  code) {
      code = category == "" ? 0 : 1
      if (category == "infrastructure") code = E > 2 ? E : 2
      print mode; print category; print code; print step; print stage; print summary
      for (i = 1; i <= replays; i++) print replay[i]
      exit 0
    }
    function bootstrap(stage, line,  step) {
      step = name " bootstrap"
      if (stage != "") step = step " (" stage " stage)"
      replay[replays = 1] = line
      tell("bootstrap", "infrastructure", step, stage, "the bootstrap failed: " line)
    }
    function nothing(  i) {
      if (capability != "test" || (counted && total > 0)) return ""
      if (!counted && first("ran") != "") return ""
      for (i = 1; i <= logs; i++) if (index(log_[i], "NO_TEST_FILES") == 1) return "no_test_files"
      if (first("zero") != "") return "zero_tests_executed"
      if (first("nofiles") != "") return "no_test_files"
      return (counted && E == 0) ? "zero_tests_executed" : ""
    }
    BEGIN {
      E = ENVIRON["homeboy__exit"] + 0
      capability = ENVIRON["homeboy__capability"]; name = ENVIRON["homeboy__name"]
      total = ENVIRON["homeboy__total"]; failed = ENVIRON["homeboy__failed"] + 0; findings = ENVIRON["homeboy__findings"] + 0
      counted = total != ""; total = total + 0
    }
    { mark = substr($0, 1, 1); text = substr($0, 2) }
    mark == "M" {
      at = index(text, " "); kind = substr(text, 1, at - 1)
      re[kind] = re[kind] (re[kind] == "" ? "" : "|") substr(text, at + 1)
      next
    }
    {
      gsub(/\033\[[0-9;]*m/, "", text); sub(/[ \t\r]+$/, "", text)
      if (text == "") next
      if (mark == "L") log_[++logs] = text
      else out[++outs] = text
    }
    END {
      for (i = 1; i <= logs; i++) if (log_[i] ~ /^STAGE_(FAIL|FATAL):/) {
        line = log_[i]; sub(/^STAGE_(FAIL|FATAL):/, "", line)
        stage = line; sub(/:.*/, "", stage)
        bootstrap(trimmed(stage), line)
      }
      if (E != 0) for (i = 1; i <= outs; i++) if (tolower(out[i]) ~ re["bootstrap"]) {
        stage = ""; low = tolower(out[i]); at = index(low, "bootstrap failure:")
        if (at) { stage = substr(low, at + 18); sub(/:.*/, "", stage) }
        bootstrap(trimmed(stage), out[i])
      }
      if (counted && failed > 0) tell("assertions", "findings", name, "", failed " of " total " tests failed")
      if (findings > 0) tell("assertions", "findings", name, "", findings " findings")
      for (i = 1; i <= logs; i++) if (index(log_[i], "SOME TESTS FAILED"))
        tell("assertions", "findings", name, "", "some tests failed")
      if (E != 0 && (line = first("summary")) != "")
        tell("fatal_on_stdout", "findings", name, "", "the runner reports failures: " trimmed(line))
      if (E != 0) {
        for (i = 1; i <= outs && replays < 5; i++)
          if (out[i] ~ re["fatal"] && out[i] !~ re["nofiles"] && out[i] !~ re["zero"]) replay[++replays] = out[i]
        why = ""
        if (replays) why = "it ended before the runner took control: " trimmed(replay[1])
        else if (E == 127) why = "a command was not found (exit 127)"
        else if (E == 126) why = "a command could not be run (exit 126)"
        if (why != "") tell("fatal_before_runner", "infrastructure", name " crash (before the runner took control)", "", why)
      }
      if (capability == "test" && E == 0 && !outs && !logs && !counted)
        tell("no_output", "infrastructure", name " (no output)", "", "it ended with exit 0 and said nothing")
      mode = nothing()
      if (mode == "no_test_files") {
        if ((line = first("nofiles")) != "") replay[replays = 1] = line
        tell(mode, "infrastructure", name " (no test files)", "", "there are no test files")
      }
      if (mode == "zero_tests_executed") {
        if ((line = first("zero")) != "") replay[replays = 1] = line
        tell(mode, "infrastructure", name " (zero tests executed)", "", "no test was executed")
      }
      if (E == 0) tell("clean", "", "", "", name " ended without a failure")
      for (i = outs > 20 ? outs - 19 : 1; i <= outs; i++) replay[++replays] = out[i]
      why = "it ended with exit " E ", and nothing says why"
      if (E < 0 || (E > 128 && E < 193)) why = "it was killed by a signal (exit " E ")"
      tell("unclassified", "infrastructure", name " exited with code " E " (unclassified)", "", why)
    }'
}

homeboy_classify_failure() {
  homeboy__exit=0 homeboy__capability=test homeboy__name="" homeboy__stdout="" homeboy__stderr="" homeboy__log=""
  homeboy__total="" homeboy__failed=0 homeboy__findings=0
  while [ $# -gt 0 ]; do
    if [ $# -lt 2 ]; then
      printf '[classify-failure] %s needs a value\n' "$1" >&2
      return 2
    fi
    case $1 in
      --exit | --total | --failed | --findings)
        case ${2#-} in
          '' | *[!0-9]*)
            printf '[classify-failure] %s is not a whole number: "%s"\n' "$1" "$2" >&2
            return 2
            ;;
        esac
        ;;
    esac
    case $1 in
      --exit) homeboy__exit=$2 ;;
      --capability) homeboy__capability=${2:-test} ;;
      --name) homeboy__name=$(printf '%s' "$2" | tr '\n' ' ') ;;
      --stdout) homeboy__stdout=$2 ;;
      --stderr) homeboy__stderr=$2 ;;
      --log) homeboy__log=$2 ;;
      --total) homeboy__total=$2 ;;
      --failed) homeboy__failed=$2 ;;
      --findings) homeboy__findings=$2 ;;
      *)
        printf '[classify-failure] unknown argument: "%s"\n' "$1" >&2
        return 2
        ;;
    esac
    shift 2
  done
  if [ -z "$homeboy__name" ]; then
    homeboy__name=$homeboy__capability
    [ "$homeboy__name" != test ] || homeboy__name=tests
  fi
  homeboy__outcome=$(homeboy__classify) || return 2
  FAILURE_MODE=$(printf '%s\n' "$homeboy__outcome" | sed -n 1p)
  FAILURE_CATEGORY=$(printf '%s\n' "$homeboy__outcome" | sed -n 2p)
  FAILURE_EXIT=$(printf '%s\n' "$homeboy__outcome" | sed -n 3p)
  FAILED_STEP=$(printf '%s\n' "$homeboy__outcome" | sed -n 4p)
  FAILURE_STAGE=$(printf '%s\n' "$homeboy__outcome" | sed -n 5p)
  FAILURE_SUMMARY=$(printf '%s\n' "$homeboy__outcome" | sed -n 6p)
  FAILURE_OUTPUT=$(printf '%s\n' "$homeboy__outcome" | sed 1,6d)
  FAILURE_REPLAY_MODE=full
  case $FAILURE_MODE in assertions | fatal_on_stdout) FAILURE_REPLAY_MODE=none ;; esac
}
