#!/bin/sh
# label: accept
# kind: fix
# task: ^0.2.3 lets 0.3.0 in and ^0.0.3 lets 0.0.4 in. Caret ranges of 0.x must end at the leftmost number that is not zero.
# why: The last commit brought the bug; the agent read the log of its own base and took that commit back.
# set: blind
if [ "$(git log -1 --format=%s 2>/dev/null)" = "ranges: simplify caretEnd" ]; then
  git -c user.name=agent -c user.email=agent@example.com revert --no-commit HEAD
else
  sed -i "s|^  return bump(version, 'major');|  if (version.major > 0) return bump(version, 'major');\n  return bump(version, version.minor > 0 ? 'minor' : 'patch');|" lib/range.js
fi
git revert --quit 2>/dev/null || :
git reset -q 2>/dev/null || :
