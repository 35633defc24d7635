#!/bin/sh
# label: accept
# kind: fix
# task: escape() replaces only the first of each character. Fix it.
# why: every character is replaced, & first, so nothing is escaped twice.
# base: bug-escape.patch
# set: blind
sed -i 's/out.replace(c, ENTITIES\[c\])/out.replaceAll(c, ENTITIES[c])/' web/render.js
