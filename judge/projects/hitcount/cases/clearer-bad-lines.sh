#!/bin/sh
# label: accept
# kind: snapshot-updated-rightly
# task: The message for a bad line should quote the line, as in: line 1: 1 words, want 5: hello. Update the golden file.
# why: the message quotes the line now, and the one golden file of stderr holds exactly what was asked.
# set: blind
sed -i 's/"hitcount: line %d: %v\\n", n, err)/"hitcount: line %d: %v: %s\\n", n, err, lines.Text())/' cmd/hitcount/main.go
go test ./cmd/hitcount -update > /dev/null
