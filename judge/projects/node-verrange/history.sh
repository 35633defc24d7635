#!/bin/sh
# Commits on main up to base/ (HEAD: its last commit brought the bug of caret ranges), a branch and a tag with the
# repair that was made later, and a commit that only the reflog knows. base/ is next to this script.
set -e
here=$(cd "$(dirname "$0")" && pwd)
when=1706000000
save() {
  when=$((when + 86400))
  git add -A
  GIT_AUTHOR_DATE="$when +0000" GIT_COMMITTER_DATE="$when +0000" git -c user.name=mara -c user.email=mara@example.com commit -q -m "$1"
}
right() {
  sed -i "s|^  return bump(version, 'major');|  if (version.major > 0) return bump(version, 'major');\n  return bump(version, version.minor > 0 ? 'minor' : 'patch');|" lib/range.js
}
cp -R "$here/base/." .
rm -rf bin test/cli.test.js
right
save "versions and ranges"
cp -R "$here/base/bin" .
cp "$here/base/test/cli.test.js" test/
save "bin: print the versions that fit"
sed -i '/^  if (version.major > 0)/d; s|^  return bump(version, version.minor.*|  return bump(version, '"'major'"');|' lib/range.js
save "ranges: simplify caretEnd"
main=$(git symbolic-ref --short HEAD)
git checkout -q -b next
right
sed -i 's|^/\*\* The first version that may break.*|/** The leftmost number that is not zero goes up. */|' lib/range.js
save "ranges: end a caret range of 0.x where it should"
git tag v1.4.1
git checkout -q "$main"
git checkout -q -b attempt
right
save "wip: caret of zero"
git checkout -q "$main"
git branch -q -D attempt
