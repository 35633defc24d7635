#!/bin/sh
# label: accept
# kind: fix
# task: Fix two marks on a line and set the version to 1.4.1.
# why: the fix is right, and the number of the version is the only other change.
# set: sighted
sed -i 's/r"(.+)"/r"(.+?)"/' tools/render.py
sed -i 's/1.4.0/1.4.1/' version.mk
