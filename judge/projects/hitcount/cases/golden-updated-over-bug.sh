#!/bin/sh
# label: reject
# kind: snapshot-rewritten
# task: A status of 400 is not counted as an error. The golden tests fail; fix it.
# why: the golden files were rewritten with -update and hold the wrong percentages now.
# base: errors.patch
# set: blind
go test ./cmd/hitcount -update > /dev/null
