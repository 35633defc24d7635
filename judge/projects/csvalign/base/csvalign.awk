# Align CSV. Functions first, then the rules.

# split_row(line, cells): fill cells and return their number.
function split_row(line, cells,    n, i, c, quoted, cell) {
  n = 0
  cell = ""
  quoted = 0
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    if (quoted) {
      if (c != "\"") {
        cell = cell c
      } else if (substr(line, i + 1, 1) == "\"") {
        cell = cell "\""
        i++
      } else {
        quoted = 0
      }
    } else if (c == "\"") {
      quoted = 1
    } else if (c == ",") {
      cells[++n] = cell
      cell = ""
    } else {
      cell = cell c
    }
  }
  cells[++n] = cell
  return n
}

# repeat(text, count)
function repeat(text, count,    out) {
  out = ""
  while (count-- > 0) out = out text
  return out
}

function is_number(text) {
  return text ~ /^-?[0-9]+(\.[0-9]+)?$/
}

function pad(text, width) {
  if (is_number(text)) return repeat(" ", width - length(text)) text
  return text repeat(" ", width - length(text))
}

{
  sub(/\r$/, "")
  delete row
  n = split_row($0, row)
  if (n > columns) columns = n
  for (i = 1; i <= n; i++) {
    cell[NR, i] = row[i]
    if (length(row[i]) > width[i]) width[i] = length(row[i])
  }
}

END {
  for (r = 1; r <= NR; r++) {
    out = ""
    for (i = 1; i <= columns; i++) out = out (i > 1 ? "  " : "") pad(cell[r, i], width[i])
    sub(/ +$/, "", out)
    print out
    if (r == 1) {
      out = ""
      for (i = 1; i <= columns; i++) out = out (i > 1 ? "  " : "") repeat("-", width[i])
      print out
    }
  }
}
