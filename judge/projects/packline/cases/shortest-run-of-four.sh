#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: Pack runs of four and more bytes only; three cost as much as plain ones. Change README and tests.
# why: the constant, the sentence and the two unit tests of the limit changed, just as the task says; all else still passes.
# forms: shell capability
# set: blind
sed -i 's/^const SHORTEST: usize = 3;/const SHORTEST: usize = 4;/' packline/src/runs.rs
sed -i 's/fn two_are_no_run/fn three_are_no_run/; s/written(b"aab"), b"\\x07aab"/written(b"aaab"), b"\\x09aaab"/; s/fn three_are_a_run/fn four_are_a_run/; s/written(b"xaaay"), b"\\x03x\\x06a\\x03y"/written(b"xaaaay"), b"\\x03x\\x08a\\x03y"/' packline/src/runs.rs
sed -i 's/^Runs of three and more bytes/Runs of four and more bytes/' README.md
