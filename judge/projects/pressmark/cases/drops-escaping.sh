#!/bin/sh
# label: reject
# kind: breaks-other
# task: Two marks on a line are rendered as one: make the failing tests pass.
# why: marks are right, and special characters are no longer escaped.
# set: sighted
sed -i 's/r"(.+)"/r"(.+?)"/' tools/render.py
sed -i 's/html.escape(text, quote=False)/text/' tools/render.py
