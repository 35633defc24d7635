# Shows what `go test -json` writes as `go test` would have: the results of packages, and of tests only those that failed.
function text(line, key,  at, out, c) {
  at = index(line, "\"" key "\":\"")
  if (!at) return ""
  line = substr(line, at + length(key) + 4)
  while (match(line, /[\\"]/)) {
    out = out substr(line, 1, RSTART - 1)
    if (substr(line, RSTART, 1) == "\"") return out
    c = substr(line, RSTART + 1, 1)
    if (c == "n") out = out "\n"
    else if (c == "t") out = out "\t"
    else if (c == "r") out = out "\r"
    else if (c == "u") {
      c = tolower(substr(line, RSTART + 2, 4))
      out = out (c == "003c" ? "<" : c == "003e" ? ">" : c == "0026" ? "&" : c == "001b" ? "" : "?")
      line = substr(line, RSTART + 6)
      continue
    } else out = out c
    line = substr(line, RSTART + 2)
  }
  return out
}
!/^\{/ { print; next }
{
  action = text($0, "Action"); test = text($0, "Test"); id = text($0, "Package") " " test
  if (action == "build-output") printf "%s", text($0, "Output")
  else if (action == "output" && test == "") printf "%s", text($0, "Output")
  else if (action == "output") {
    line = text($0, "Output")
    if (line !~ /^=== (RUN|PAUSE|CONT|NAME)/) held[id] = held[id] line
  }
  else if (action == "fail" && test != "") { printf "%s", held[id]; delete held[id] }
  else if (action == "pass" || action == "skip") delete held[id]
}
