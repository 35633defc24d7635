# homeboy__json_compact: standard input as JSON without the white space between its tokens. What is no JSON is status 1.
homeboy__json_compact() {
  LC_ALL=C awk '
    function die(why) { print "[sidecar-writer] not JSON: " why > "/dev/stderr"; bad = 1; exit 1 }
    # What may come next: v a value, e a value or the end of an array, k a key, f a key or the end of an object,
    # c a colon, m a comma or an end, d nothing.
    function value_done() { want = depth ? "m" : "d" }
    function open(c) { stack[++depth] = c; want = (c == "[") ? "e" : "f" }
    function word(s,  rest) {
      if (match(s, /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/)) ;
      else if (match(s, /^(true|false|null)/)) ;
      else die("unknown word")
      rest = substr(s, RLENGTH + 1, 1)
      if (rest ~ /[A-Za-z0-9_.+-]/) die("unknown word")
      return RLENGTH
    }
    # quoted(s, i): the length of the string that begins at i.
    function quoted(s, i,  j, c, n) {
      n = length(s)
      for (j = i + 1; j <= n; j++) {
        c = substr(s, j, 1)
        if (c == "\"") return j - i + 1
        if (c < " " && c != "") die("a control character in a string")
        if (c == "\\") {
          c = substr(s, ++j, 1)
          if (c == "u") {
            if (substr(s, j + 1, 4) !~ /^[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]$/) die("a broken escape")
            j += 4
          } else if (c == "" || index("\"\\/bfnrt", c) == 0) die("a broken escape")
        }
      }
      die("a string without an end")
    }
    BEGIN { want = "v" }
    {
      n = length($0)
      for (i = 1; i <= n; i++) {
        c = substr($0, i, 1)
        if (c == " " || c == "\t" || c == "\r") continue
        if (c == "[" || c == "{") {
          if (want != "v" && want != "e") die("unexpected " c)
          open(c); printf "%s", c
        } else if (c == "]") {
          if (!depth || stack[depth] != "[" || (want != "e" && want != "m")) die("unexpected ]")
          depth--; value_done(); printf "]"
        } else if (c == "}") {
          if (!depth || stack[depth] != "{" || (want != "f" && want != "m")) die("unexpected }")
          depth--; value_done(); printf "}"
        } else if (c == ",") {
          if (want != "m") die("unexpected ,")
          want = (stack[depth] == "[") ? "v" : "k"; printf ","
        } else if (c == ":") {
          if (want != "c") die("unexpected :")
          want = "v"; printf ":"
        } else if (c == "\"") {
          len = quoted($0, i)
          printf "%s", substr($0, i, len)
          i += len - 1
          if (want == "k" || want == "f") want = "c"
          else if (want == "v" || want == "e") value_done()
          else die("unexpected string")
        } else {
          if (want != "v" && want != "e") die("unexpected " c)
          len = word(substr($0, i, 400))
          printf "%s", substr($0, i, len)
          i += len - 1
          value_done()
        }
      }
    }
    END {
      if (bad) exit 1
      if (want != "d") die("it ends too early")
    }'
}
