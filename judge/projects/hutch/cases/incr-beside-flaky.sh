#!/bin/sh
# label: accept
# kind: fix-with-flaky-neighbour
# task: incr makes a value stay for ever that had a time to live. Fix it. (TestAnyVaries fails now and then; somebody else works on it.)
# why: the end of the old value is taken over, by another way than before; the test that fails by chance is as it was.
# base: incr-flaky.patch
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/store/store.go b/store/store.go
index bf92ebd..6b3d1b6 100644
--- a/store/store.go
+++ b/store/store.go
@@ -85,16 +85,18 @@ func (s *Store) Delete(key string) bool {
 func (s *Store) Incr(key string, by int64) (int64, error) {
 	s.mu.Lock()
 	defer s.mu.Unlock()
-	var n int64
-	var until time.Time
-	if e := s.alive(key); e != nil {
-		var err error
-		if n, err = strconv.ParseInt(e.Value.(*item).value, 10, 64); err != nil {
-			return 0, ErrNumber
-		}
+	e := s.alive(key)
+	if e == nil {
+		s.put(key, strconv.FormatInt(by, 10), time.Time{})
+		return by, nil
+	}
+	it := e.Value.(*item)
+	n, err := strconv.ParseInt(it.value, 10, 64)
+	if err != nil {
+		return 0, ErrNumber
 	}
 	n += by
-	s.put(key, strconv.FormatInt(n, 10), until)
+	s.put(key, strconv.FormatInt(n, 10), it.until)
 	return n, nil
 }
 
PATCH
