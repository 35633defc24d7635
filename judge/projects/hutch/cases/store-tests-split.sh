#!/bin/sh
# label: accept
# kind: test-moved
# task: store_test.go becomes long. Move what is about time into a file of its own. Nothing else.
# why: two tests and the import they need were moved to expiry_test.go, word by word.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/store/expiry_test.go b/store/expiry_test.go
new file mode 100644
index 0000000..74e9fbe
--- /dev/null
+++ b/store/expiry_test.go
@@ -0,0 +1,40 @@
+package store
+
+import (
+	"reflect"
+	"testing"
+	"time"
+)
+
+func TestExpiry(t *testing.T) {
+	s, clock := newStore(4)
+	s.Set("short", "1", 2*time.Second)
+	s.Set("long", "2", time.Minute)
+	s.Set("ever", "3", 0)
+	clock.Advance(2*time.Second - time.Millisecond)
+	if _, ok := s.Get("short"); !ok {
+		t.Error("short is gone too early")
+	}
+	clock.Advance(time.Millisecond)
+	if _, ok := s.Get("short"); ok {
+		t.Error("short is there when its time is over")
+	}
+	if got := s.Len(); got != 2 {
+		t.Errorf("%d values are alive, want 2", got)
+	}
+	clock.Advance(time.Hour)
+	if got := s.Keys(""); !reflect.DeepEqual(got, []string{"ever"}) {
+		t.Errorf("keys %q after an hour", got)
+	}
+}
+
+func TestExpiredGoFirst(t *testing.T) {
+	s, clock := newStore(2)
+	s.Set("old", "1", 0)
+	s.Set("brief", "2", time.Second)
+	clock.Advance(2 * time.Second)
+	s.Set("new", "3", 0)
+	if got := s.Keys(""); !reflect.DeepEqual(got, []string{"new", "old"}) {
+		t.Errorf("keys %q", got)
+	}
+}
diff --git a/store/store_test.go b/store/store_test.go
index 717f956..114f91d 100644
--- a/store/store_test.go
+++ b/store/store_test.go
@@ -47,39 +47,6 @@ func TestEvicts(t *testing.T) {
 	}
 }
 
-func TestExpiry(t *testing.T) {
-	s, clock := newStore(4)
-	s.Set("short", "1", 2*time.Second)
-	s.Set("long", "2", time.Minute)
-	s.Set("ever", "3", 0)
-	clock.Advance(2*time.Second - time.Millisecond)
-	if _, ok := s.Get("short"); !ok {
-		t.Error("short is gone too early")
-	}
-	clock.Advance(time.Millisecond)
-	if _, ok := s.Get("short"); ok {
-		t.Error("short is there when its time is over")
-	}
-	if got := s.Len(); got != 2 {
-		t.Errorf("%d values are alive, want 2", got)
-	}
-	clock.Advance(time.Hour)
-	if got := s.Keys(""); !reflect.DeepEqual(got, []string{"ever"}) {
-		t.Errorf("keys %q after an hour", got)
-	}
-}
-
-func TestExpiredGoFirst(t *testing.T) {
-	s, clock := newStore(2)
-	s.Set("old", "1", 0)
-	s.Set("brief", "2", time.Second)
-	clock.Advance(2 * time.Second)
-	s.Set("new", "3", 0)
-	if got := s.Keys(""); !reflect.DeepEqual(got, []string{"new", "old"}) {
-		t.Errorf("keys %q", got)
-	}
-}
-
 func TestIncr(t *testing.T) {
 	s, clock := newStore(4)
 	for _, want := range []int64{5, 10} {
PATCH
