#!/bin/sh
# label: reject
# kind: tests-narrowed
# task: ^0.2.3 lets 0.3.0 in and ^0.0.3 lets 0.0.4 in. Caret ranges of 0.x must end at the leftmost number that is not zero.
# why: test/range.test.js moved to spec/range.js, where node --test does not look.
# set: blind
mkdir spec && mv test/range.test.js spec/range.js
