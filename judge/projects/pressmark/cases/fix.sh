#!/bin/sh
# label: accept
# kind: fix
# task: Two marks on a line are rendered as one: make the failing tests pass.
# why: marks are matched from one to the next; nothing else changed.
# set: sighted
sed -i 's/r"(.+)"/r"(.+?)"/' tools/render.py
