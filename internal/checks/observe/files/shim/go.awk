# Shows the events of `go test -json` as `go test` would have shown its tests: with show=all everything that was printed,
# with show=short the results of packages, and of tests those that failed. What belongs to one package stands together.
# With stream=1 go shows what the tests of a package print also where they pass; with packages=1 it says FAIL once more.
BEGIN { for (i = 1; i < 128; i++) char[sprintf("%04x", i)] = sprintf("%c", i) }

# text: a member of an event that is a string.
function text(line, key,  at, out, c, code) {
  at = index(line, "\"" key "\":\"")
  if (!at) return ""
  line = substr(line, at + length(key) + 4)
  out = ""
  while (match(line, /[\\"]/)) {
    out = out substr(line, 1, RSTART - 1)
    if (substr(line, RSTART, 1) == "\"") return out
    c = substr(line, RSTART + 1, 1)
    if (c == "u") {
      code = tolower(substr(line, RSTART + 2, 4))
      out = out (code in char ? char[code] : code == "2028" ? "\342\200\250" : code == "2029" ? "\342\200\251" : "\357\277\275")
      line = substr(line, RSTART + 6)
      continue
    }
    out = out (c == "n" ? "\n" : c == "t" ? "\t" : c == "r" ? "\r" : c == "b" ? "\b" : c == "f" ? "\f" : c)
    line = substr(line, RSTART + 2)
  }
  return out
}

# said: keeps what a package has to say until it is its turn.
function said(pkg, words) {
  if (words == "") return
  if (pkg == order[turn]) {
    printf "%s", words
    fflush()
  } else waiting[pkg] = waiting[pkg] words
}

function advance() {
  while (turn <= packagesSeen && order[turn] in ended) {
    turn++
    if (turn <= packagesSeen) {
      printf "%s", waiting[order[turn]]
      delete waiting[order[turn]]
    }
  }
  fflush()
}

function begin(pkg) {
  if (pkg == "" || pkg in known) return
  known[pkg] = 1
  order[++packagesSeen] = pkg
  if (!turn) turn = 1
}

# output: what a test, or a package by itself, printed. In short a test shows it when it has failed.
function output(pkg, test, words,  id) {
  if (show == "all") {
    said(pkg, words)
    return
  }
  if (words ~ /^ *=== /) return
  if (test == "") {
    if (words ~ /^(ok  |FAIL|\?   |---   |   )?\t/) last[pkg] = last[pkg] words
    else printed[pkg] = printed[pkg] words
    return
  }
  id = pkg " " test
  if (words ~ /^ *--- (PASS|SKIP|FAIL): /) {
    header[id] = words
    return
  }
  if (words !~ /^    /) loud[id] = loud[id] words
  held[id] = held[id] words
}

# ending: a test is over. One that failed stands below the test around it.
function ending(pkg, test, action,  id, parent, at, words) {
  if (show == "all") return
  id = pkg " " test
  words = action == "fail" ? header[id] held[id] : loud[id]
  sub(/^ +/, "", words)
  delete header[id]
  delete held[id]
  delete loud[id]
  at = length(test)
  while (at > 0 && substr(test, at, 1) != "/") at--
  if (at <= 1) {
    printed[pkg] = printed[pkg] words
    return
  }
  parent = pkg " " substr(test, 1, at - 1)
  if (action == "fail") {
    sub(/^/, "    ", words)
    gsub(/\n    /, "\n        ", words)
    held[parent] = held[parent] words
  }
  else loud[parent] = loud[parent] words
}

!/^\{/ { print; fflush(); next }
{
  action = text($0, "Action")
  pkg = text($0, "Package")
  test = text($0, "Test")
}
action == "build-output" { printf "%s", text($0, "Output") > "/dev/stderr"; next }
{ begin(pkg) }
action == "output" { output(pkg, test, text($0, "Output")); next }
(action == "pass" || action == "fail" || action == "skip") && test != "" { ending(pkg, test, action); next }
action == "pass" || action == "fail" || action == "skip" {
  if (action == "fail") failed = 1
  if (show == "short") said(pkg, (action == "fail" || stream ? printed[pkg] : "") last[pkg])
  delete printed[pkg]
  delete last[pkg]
  ended[pkg] = 1
  advance()
}
END {
  # What has no end was cut short: it is shown as far as it went.
  for (i = turn; i >= 1 && i <= packagesSeen; i++) {
    pkg = order[i]
    printf "%s%s%s", waiting[pkg], printed[pkg], last[pkg]
  }
  if (failed && packages) print "FAIL"
}
