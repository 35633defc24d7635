#!/bin/sh
# label: accept
# kind: dependency-added
# task: Add match PATTERN, which answers like keys, with * and ? as in our module example.org/glob. We have no proxy: put the module under third_party.
# why: a module in third_party with its own tests, required and replaced in go.mod; the command has a conversation and a line in README.
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/README.md b/README.md
index 92d9071..6dfc83e 100644
--- a/README.md
+++ b/README.md
@@ -9,6 +9,7 @@ A small cache with a line protocol. `hutch` reads commands from its input, or fr
 | `del KEY`          | `OK` or `NONE`                                                     |
 | `incr KEY [BY]`    | `INT n`; a missing key counts from 0, and a TTL goes on running    |
 | `keys [PREFIX]`    | `KEYS "..." "..."`, sorted                                         |
+| `match PATTERN`    | like `keys`, with `*` for anything and `?` for one byte            |
 | `len`              | `INT n`                                                            |
 | `quit`             | `BYE`, and the session ends                                        |
 
diff --git a/go.mod b/go.mod
index d7b1bd2..fd5cc2a 100644
--- a/go.mod
+++ b/go.mod
@@ -1,3 +1,7 @@
 module hutch
 
 go 1.21
+
+require example.org/glob v0.0.0
+
+replace example.org/glob => ./third_party/glob
diff --git a/internal/wire/wire.go b/internal/wire/wire.go
index 6e8bcc6..de6b673 100644
--- a/internal/wire/wire.go
+++ b/internal/wire/wire.go
@@ -15,13 +15,14 @@ type Command struct {
 
 // arity holds the least and the greatest number of arguments.
 var arity = map[string][2]int{
-	"set":  {2, 3},
-	"get":  {1, 1},
-	"del":  {1, 1},
-	"incr": {1, 2},
-	"keys": {0, 1},
-	"len":  {0, 0},
-	"quit": {0, 0},
+	"set":   {2, 3},
+	"get":   {1, 1},
+	"del":   {1, 1},
+	"incr":  {1, 2},
+	"keys":  {0, 1},
+	"match": {1, 1},
+	"len":   {0, 0},
+	"quit":  {0, 0},
 }
 
 // Parse reads a line.
diff --git a/server/server.go b/server/server.go
index 780f107..3590160 100644
--- a/server/server.go
+++ b/server/server.go
@@ -11,6 +11,8 @@ import (
 	"strings"
 	"time"
 
+	"example.org/glob"
+
 	"hutch/internal/wire"
 	"hutch/store"
 )
@@ -117,6 +119,14 @@ func (s *Server) answer(cmd wire.Command) (string, error) {
 			reply += " " + wire.Quote(key)
 		}
 		return reply, nil
+	case "match":
+		reply := "KEYS"
+		for _, key := range s.Store.Keys("") {
+			if glob.Match(cmd.Args[0], key) {
+				reply += " " + wire.Quote(key)
+			}
+		}
+		return reply, nil
 	case "len":
 		return fmt.Sprintf("INT %d", s.Store.Len()), nil
 	case "quit":
diff --git a/server/testdata/match.talk b/server/testdata/match.talk
new file mode 100644
index 0000000..b0c158d
--- /dev/null
+++ b/server/testdata/match.talk
@@ -0,0 +1,17 @@
+# Keys by pattern.
+> set user:1 ada
+< OK
+> set user:22 bo
+< OK
+> set host:1 "x y"
+< OK
+> match user:*
+< KEYS "user:1" "user:22"
+> match *:?
+< KEYS "host:1" "user:1"
+> match "u*r:?2"
+< KEYS "user:22"
+> match user
+< KEYS
+> match
+< ERR wrong number of arguments for match
diff --git a/third_party/glob/glob.go b/third_party/glob/glob.go
new file mode 100644
index 0000000..07e2e0d
--- /dev/null
+++ b/third_party/glob/glob.go
@@ -0,0 +1,27 @@
+// Package glob matches words with * and ?.
+package glob
+
+// Match says whether the whole word matches. A star is any number of bytes, a question mark is one.
+func Match(pattern, word string) bool {
+	star, mark := -1, 0
+	p, w := 0, 0
+	for w < len(word) {
+		switch {
+		case p < len(pattern) && pattern[p] == '*':
+			star, mark = p, w
+			p++
+		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == word[w]):
+			p++
+			w++
+		case star >= 0:
+			mark++
+			p, w = star+1, mark
+		default:
+			return false
+		}
+	}
+	for p < len(pattern) && pattern[p] == '*' {
+		p++
+	}
+	return p == len(pattern)
+}
diff --git a/third_party/glob/glob_test.go b/third_party/glob/glob_test.go
new file mode 100644
index 0000000..a6dae16
--- /dev/null
+++ b/third_party/glob/glob_test.go
@@ -0,0 +1,23 @@
+package glob
+
+import "testing"
+
+func TestMatch(t *testing.T) {
+	for _, tt := range []struct {
+		pattern, word string
+		want          bool
+	}{
+		{"", "", true},
+		{"*", "", true},
+		{"?", "", false},
+		{"a*b", "ab", true},
+		{"a*b", "axxbyb", true},
+		{"a*b", "axxc", false},
+		{"??", "abc", false},
+		{"*.?", "main.c", true},
+	} {
+		if got := Match(tt.pattern, tt.word); got != tt.want {
+			t.Errorf("%q on %q: %v", tt.pattern, tt.word, got)
+		}
+	}
+}
diff --git a/third_party/glob/go.mod b/third_party/glob/go.mod
new file mode 100644
index 0000000..4cd85a0
--- /dev/null
+++ b/third_party/glob/go.mod
@@ -0,0 +1,3 @@
+module example.org/glob
+
+go 1.21
PATCH
