#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: Store.Delete shall be called Remove, in the tests too. Other programs still call Delete: keep it, marked as deprecated.
# why: the function, its callers and its test have the new name, and a deprecated Delete calls it, so that old callers go on.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/server/server.go b/server/server.go
index 780f107..eeb00e9 100644
--- a/server/server.go
+++ b/server/server.go
@@ -94,7 +94,7 @@ func (s *Server) answer(cmd wire.Command) (string, error) {
 		}
 		return "VALUE " + wire.Quote(value), nil
 	case "del":
-		if !s.Store.Delete(cmd.Args[0]) {
+		if !s.Store.Remove(cmd.Args[0]) {
 			return "NONE", nil
 		}
 		return "OK", nil
diff --git a/store/store.go b/store/store.go
index 4de24ee..a3067ef 100644
--- a/store/store.go
+++ b/store/store.go
@@ -69,8 +69,15 @@ func (s *Store) Get(key string) (string, bool) {
 	return e.Value.(*item).value, true
 }
 
-// Delete says whether there was a value.
+// Delete is Remove.
+//
+// Deprecated: call Remove.
 func (s *Store) Delete(key string) bool {
+	return s.Remove(key)
+}
+
+// Remove says whether there was a value.
+func (s *Store) Remove(key string) bool {
 	s.mu.Lock()
 	defer s.mu.Unlock()
 	e := s.alive(key)
diff --git a/store/store_test.go b/store/store_test.go
index 717f956..30b192d 100644
--- a/store/store_test.go
+++ b/store/store_test.go
@@ -102,11 +102,15 @@ func TestIncr(t *testing.T) {
 	}
 }
 
-func TestDelete(t *testing.T) {
+func TestRemove(t *testing.T) {
 	s, _ := newStore(2)
 	s.Set("a", "1", 0)
-	if !s.Delete("a") || s.Delete("a") || s.Len() != 0 {
-		t.Error("a can be deleted once")
+	if !s.Remove("a") || s.Remove("a") || s.Len() != 0 {
+		t.Error("a can be removed once")
+	}
+	s.Set("b", "2", 0)
+	if !s.Delete("b") || s.Len() != 0 {
+		t.Error("the old name does not remove b")
 	}
 }
 
PATCH
