#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: Back-to-back bookings are reported as conflicts. Fix that; the failing test of line numbers belongs to somebody else.
# why: the asked fix is right; TestReadNamesTheLine failed before and still does.
# base: old-failure.patch
# set: blind
sed -i 's/return s.Start <= t.End && t.Start <= s.End/return s.Start < t.End \&\& t.Start < s.End/' span/span.go
