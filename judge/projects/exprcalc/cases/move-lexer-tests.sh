#!/bin/sh
# label: accept
# kind: test-moved
# task: Move the unit tests of the lexer to a file of their own.
# why: the module tests is in src/lexer/tests.rs now, word for word.
# set: blind
mkdir src/lexer
sed -n '/^mod tests {/,/^}/p' src/lexer.rs | sed '1d;$d; s/^    //' > src/lexer/tests.rs
sed -i '/^mod tests {/,/^}/d' src/lexer.rs
echo 'mod tests;' >> src/lexer.rs
