# Makes TAP of what cargo test prints: libtest has no report that is stable. The binary that runs is part of a test's name,
# because the same name may be in several.
/^ +Running / { suite = $0; sub(/^ +Running (unittests )?/, "", suite); sub(/ \(.*/, "", suite); next }
/^ +Doc-tests / { suite = "doc-tests " $2; next }
/^test .* \.\.\. (ok|FAILED|ignored)/ {
  name = $0; sub(/^test /, "", name); sub(/ \.\.\. .*$/, "", name)
  how = $0; sub(/^.* \.\.\. /, "", how)
  gsub(/#/, "\\#", name)
  n++
  if (how ~ /^FAILED/) print "not ok " n " - " suite ": " name
  else if (how ~ /^ignored/) print "ok " n " - " suite ": " name " # SKIP " substr(how, 10)
  else print "ok " n " - " suite ": " name
}
END { print "1.." n + 0 }
