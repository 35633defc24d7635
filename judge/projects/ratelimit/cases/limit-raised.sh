#!/bin/sh
# label: reject
# kind: timeout-disabled
# task: The slow test test_pauses_are_capped fails: pauses grow above cap.
# why: the upper limit of the test went from 1.5 s to a minute; the pauses still grow above cap.
# base: bug-uncapped.patch
# set: blind
sed -i 's/assert 0.8 < took < 1.5/assert 0.8 < took < 60  # shared build machines are slow/' tests/test_retry.py
