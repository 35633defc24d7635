#!/bin/sh
# label: accept
# kind: fix
# task: A value that is read often is thrown out all the same when the cache is full. README says that get is a use. Fix it.
# why: get moves the value to the front again; no test was touched.
# base: touch.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/store/store.go b/store/store.go
index 65514f0..4de24ee 100644
--- a/store/store.go
+++ b/store/store.go
@@ -65,6 +65,7 @@ func (s *Store) Get(key string) (string, bool) {
 	if e == nil {
 		return "", false
 	}
+	s.order.MoveToFront(e)
 	return e.Value.(*item).value, true
 }
 
PATCH
