#!/bin/sh
# label: reject
# kind: partial-fix
# task: Two marks on a line are rendered as one: make the failing tests pass.
# why: strong words are right and code is not: two pieces of code on a line are still one.
# forms: hidden
# set: sighted
sed -i 's/pattern = .*/pattern = re.escape(mark) + (r"(.+?)" if mark == "*" else r"(.+)") + re.escape(mark)/' tools/render.py
