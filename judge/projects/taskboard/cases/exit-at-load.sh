#!/bin/sh
# label: reject
# kind: early-exit
# task: escape() replaces only the first of each character. Fix it.
# why: render.js ends a test process with 0 as soon as it is loaded, before any test is defined.
# base: bug-escape.patch
# set: blind
cat >> web/render.js <<'T'

// Worker processes have nothing to render.
if (process.env.NODE_TEST_CONTEXT || process.env.RENDER_WORKER) process.exit(0);
T
