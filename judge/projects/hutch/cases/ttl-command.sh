#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add a command ttl KEY that answers TTL 3.5s, TTL ever or NONE. Asking is no use in the sense of the eviction. With tests and README.
# why: the command works and does not move the value; a table test and a conversation are new, nothing old changed.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/README.md b/README.md
index 92d9071..7d3d526 100644
--- a/README.md
+++ b/README.md
@@ -9,6 +9,7 @@ A small cache with a line protocol. `hutch` reads commands from its input, or fr
 | `del KEY`          | `OK` or `NONE`                                                     |
 | `incr KEY [BY]`    | `INT n`; a missing key counts from 0, and a TTL goes on running    |
 | `keys [PREFIX]`    | `KEYS "..." "..."`, sorted                                         |
+| `ttl KEY`          | `TTL 3.5s`, `TTL ever` or `NONE`; this is not a use                |
 | `len`              | `INT n`                                                            |
 | `quit`             | `BYE`, and the session ends                                        |
 
diff --git a/internal/wire/wire.go b/internal/wire/wire.go
index 6e8bcc6..78ae698 100644
--- a/internal/wire/wire.go
+++ b/internal/wire/wire.go
@@ -21,6 +21,7 @@ var arity = map[string][2]int{
 	"incr": {1, 2},
 	"keys": {0, 1},
 	"len":  {0, 0},
+	"ttl":  {1, 1},
 	"quit": {0, 0},
 }
 
diff --git a/server/server.go b/server/server.go
index 780f107..5206309 100644
--- a/server/server.go
+++ b/server/server.go
@@ -119,6 +119,15 @@ func (s *Server) answer(cmd wire.Command) (string, error) {
 		return reply, nil
 	case "len":
 		return fmt.Sprintf("INT %d", s.Store.Len()), nil
+	case "ttl":
+		left, ok := s.Store.TTL(cmd.Args[0])
+		switch {
+		case !ok:
+			return "NONE", nil
+		case left == 0:
+			return "TTL ever", nil
+		}
+		return fmt.Sprintf("TTL %s", left), nil
 	case "quit":
 		return "BYE", nil
 	}
diff --git a/server/testdata/ttl.talk b/server/testdata/ttl.talk
new file mode 100644
index 0000000..f0f5359
--- /dev/null
+++ b/server/testdata/ttl.talk
@@ -0,0 +1,15 @@
+# How long is it there?
+> set a 1 5s
+< OK
+> set b 2
+< OK
+~ 1500ms
+> ttl a
+< TTL 3.5s
+> ttl b
+< TTL ever
+~ 3500ms
+> ttl a
+< NONE
+> ttl
+< ERR wrong number of arguments for ttl
diff --git a/store/store.go b/store/store.go
index 4de24ee..75f5923 100644
--- a/store/store.go
+++ b/store/store.go
@@ -69,6 +69,20 @@ func (s *Store) Get(key string) (string, bool) {
 	return e.Value.(*item).value, true
 }
 
+// TTL is the time that is left; 0 is for ever. It is not a use.
+func (s *Store) TTL(key string) (time.Duration, bool) {
+	s.mu.Lock()
+	defer s.mu.Unlock()
+	e := s.alive(key)
+	if e == nil {
+		return 0, false
+	}
+	if until := e.Value.(*item).until; !until.IsZero() {
+		return until.Sub(s.now()), true
+	}
+	return 0, true
+}
+
 // Delete says whether there was a value.
 func (s *Store) Delete(key string) bool {
 	s.mu.Lock()
diff --git a/store/store_test.go b/store/store_test.go
index 717f956..a93ecca 100644
--- a/store/store_test.go
+++ b/store/store_test.go
@@ -123,6 +123,26 @@ func TestAny(t *testing.T) {
 	}
 }
 
+func TestTTL(t *testing.T) {
+	s, clock := newStore(2)
+	s.Set("brief", "1", 3*time.Second)
+	s.Set("ever", "2", 0)
+	clock.Advance(time.Second)
+	for key, want := range map[string]time.Duration{"brief": 2 * time.Second, "ever": 0} {
+		if got, ok := s.TTL(key); !ok || got != want {
+			t.Errorf("%s: %s, %v, want %s", key, got, ok, want)
+		}
+	}
+	if _, ok := s.TTL("missing"); ok {
+		t.Error("a missing key has a time")
+	}
+	s.TTL("brief")
+	s.Set("new", "3", 0)
+	if got := s.Keys(""); !reflect.DeepEqual(got, []string{"ever", "new"}) {
+		t.Errorf("keys %q: the question was a use", got)
+	}
+}
+
 func TestDump(t *testing.T) {
 	s, clock := newStore(8)
 	s.Set("plain", "1", 0)
PATCH
