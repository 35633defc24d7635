#!/bin/sh
# label: accept
# kind: feature-deleted-with-tests
# task: Nobody uses -json. Remove it, with its tests and golden files.
# why: flag, printer, the two tests and their golden files are gone, as was asked; all else is as it was.
# forms: shell capability
# set: blind
sed -i '/asJSON := /d; /^\tif \*asJSON {/,/^\t}/d; s/^\tprint := report.Table$//; s/print(stdout, sum/report.Table(stdout, sum/' cmd/hitcount/main.go
sed -i '/^\/\/ JSON prints/,/^}/d; /"encoding\/json"/d; s/ *`json:"[a-z]*"`//' report/report.go
sed -i '/by-hour-json/d; /^func TestEmptyLog/,/^}/d' cmd/hitcount/main_test.go
git rm -q cmd/hitcount/testdata/by-hour-json.golden cmd/hitcount/testdata/empty-json.golden
sed -i 's/ \[-json\]//' README.md
gofmt -w cmd report 2>/dev/null || true
