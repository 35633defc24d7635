#!/bin/sh
# label: accept
# kind: dependency-added
# task: money should not bring test helpers to those who import it. Make assert a module of this workspace.
# why: assert.go and its test moved word for word to a third module; go.work and the two go.mod name it, imports follow.
# set: blind
git mv money/assert assert
printf 'module example.test/assert\n\ngo 1.22\n' > assert/go.mod
sed -i 's/^use (/&\n\t.\/assert/' go.work
sed -i 's/both modules use/all modules use/' assert/assert.go
printf '\nrequire example.test/assert v0.0.0\n\nreplace example.test/assert => ../assert\n' >> money/go.mod
sed -i 's/^require example.test\/money v0.0.0/require (\n\texample.test\/assert v0.0.0\n\texample.test\/money v0.0.0\n)/; s/^replace example.test\/money => ..\/money/replace (\n\texample.test\/assert => ..\/assert\n\texample.test\/money => ..\/money\n)/' invoice/go.mod
sed -i 's#example.test/money/assert#example.test/assert#' money/money_test.go invoice/invoice_test.go
sed -i 's#; `money/assert` is what the tests of both modules use##; s#^Two modules#Three modules#; s#^Test both with.*#- `assert`: what the tests of the others use\n\nTest with `go test ./assert/... ./money/... ./invoice/...`. VAT is rounded half to even, once for each rate.#' README.md
gofmt -w money invoice 2>/dev/null || true
