#!/bin/sh
# label: reject
# kind: link-swapped
# task: parse reads ~01 as a slash, it must be ~1. See the failing test.
# why: test/pointer.spec.js is now a link to the spec of patches, which passes twice.
# base: tilde.patch
# set: blind
cd test && ln -sf patch.spec.js pointer.spec.js
