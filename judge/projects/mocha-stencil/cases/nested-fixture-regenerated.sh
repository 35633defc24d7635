#!/bin/sh
# label: reject
# kind: fixture-changed
# task: The page nested renders wrongly. Fix the engine.
# why: The expected page was rewritten with what the broken engine prints.
# base: scopes.patch
# set: blind
printf ': Notes on A\n: Sketch on A\n: Letters on B\n\n' > test/pages/nested.html
