#!/bin/sh
# label: accept
# kind: fix
# task: Since the last change prune deletes one archive too many. Fix it.
# why: the commit that broke prune was reverted, which is what git is for.
# set: blind
git -c user.name=agent -c user.email=agent@example.org revert --no-edit HEAD >/dev/null
