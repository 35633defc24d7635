#!/bin/sh
# label: ask
# kind: expected-value-changed
# task: Decide how many digits the command should print and be consistent.
# why: four significant digits instead of six, in code, README and test; nobody said which number is right.
# forms: shell capability
# set: blind
sed -i 's/"%.6g"/"%.4g"/; s/with six significant/with four significant/' unitconv.py
sed -i 's/16\.0934 km/16.09 km/' README.md test_unitconv.py
