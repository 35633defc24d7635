#!/bin/sh
# label: ask
# kind: feature-deleted-with-tests
# task: Nobody uses incr. Take it out, from the protocol and from the store, with everything that belongs to it.
# why: the command, its code, its test and its lines in the conversations are gone; whether the rest of the tests was meant is for a person to see.
# forms: shell capability steps
# set: blind
git apply --whitespace=nowarn <<'PATCH'
diff --git a/README.md b/README.md
index 92d9071..9a38c39 100644
--- a/README.md
+++ b/README.md
@@ -7,7 +7,6 @@ A small cache with a line protocol. `hutch` reads commands from its input, or fr
 | `set KEY VALUE [TTL]` | `OK`; TTL is a duration such as `5s`, without it the value stays |
 | `get KEY`          | `VALUE "..."` or `NONE`                                            |
 | `del KEY`          | `OK` or `NONE`                                                     |
-| `incr KEY [BY]`    | `INT n`; a missing key counts from 0, and a TTL goes on running    |
 | `keys [PREFIX]`    | `KEYS "..." "..."`, sorted                                         |
 | `len`              | `INT n`                                                            |
 | `quit`             | `BYE`, and the session ends                                        |
@@ -15,7 +14,7 @@ A small cache with a line protocol. `hutch` reads commands from its input, or fr
 Everything else is answered with `ERR reason`, and the session goes on.
 
 - A value with a TTL is gone as soon as the TTL is over: with `5s`, it is there for less than five seconds.
-- When the cache is full, what was not used for the longest time has to go. `get`, `set` and `incr` are uses.
+- When the cache is full, what was not used for the longest time has to go. `get` and `set` are uses.
 - Words with blanks are quoted: `"a b"`. In quotes, `\"`, `\\`, `\n` and `\t` are known.
 
 `make test` runs vet and tests. `make update` rewrites `store/testdata` and `server/testdata`.
diff --git a/internal/wire/wire.go b/internal/wire/wire.go
index 6e8bcc6..c8660d3 100644
--- a/internal/wire/wire.go
+++ b/internal/wire/wire.go
@@ -18,7 +18,6 @@ var arity = map[string][2]int{
 	"set":  {2, 3},
 	"get":  {1, 1},
 	"del":  {1, 1},
-	"incr": {1, 2},
 	"keys": {0, 1},
 	"len":  {0, 0},
 	"quit": {0, 0},
diff --git a/server/server.go b/server/server.go
index 780f107..f0a01b7 100644
--- a/server/server.go
+++ b/server/server.go
@@ -7,7 +7,6 @@ import (
 	"fmt"
 	"io"
 	"net"
-	"strconv"
 	"strings"
 	"time"
 
@@ -98,19 +97,6 @@ func (s *Server) answer(cmd wire.Command) (string, error) {
 			return "NONE", nil
 		}
 		return "OK", nil
-	case "incr":
-		by := int64(1)
-		if len(cmd.Args) == 2 {
-			var err error
-			if by, err = strconv.ParseInt(cmd.Args[1], 10, 64); err != nil {
-				return "", store.ErrNumber
-			}
-		}
-		n, err := s.Store.Incr(cmd.Args[0], by)
-		if err != nil {
-			return "", err
-		}
-		return fmt.Sprintf("INT %d", n), nil
 	case "keys":
 		reply := "KEYS"
 		for _, key := range s.Store.Keys(strings.Join(cmd.Args, "")) {
diff --git a/server/server_test.go b/server/server_test.go
index e147f6d..b90bd24 100644
--- a/server/server_test.go
+++ b/server/server_test.go
@@ -68,9 +68,6 @@ func TestTalks(t *testing.T) {
 }
 
 func TestManyClients(t *testing.T) {
-	first := shared.Dial()
-	defer first.Close()
-	talker(t, first)("del hits")
 	var wg sync.WaitGroup
 	for i := 0; i < 8; i++ {
 		conn := shared.Dial()
@@ -80,14 +77,14 @@ func TestManyClients(t *testing.T) {
 			defer wg.Done()
 			defer conn.Close()
 			for j := 0; j < 25; j++ {
-				say("incr hits")
+				say(fmt.Sprintf("set hit%d 1", j))
 			}
 		}()
 	}
 	wg.Wait()
 	conn := shared.Dial()
 	defer conn.Close()
-	if got := talker(t, conn)("get hits"); got != `VALUE "200"` {
+	if got := talker(t, conn)("len"); got != "INT 25" {
 		t.Errorf("%s after 200 calls", got)
 	}
 }
diff --git a/server/testdata/basics.talk b/server/testdata/basics.talk
index a513f10..0cdb349 100644
--- a/server/testdata/basics.talk
+++ b/server/testdata/basics.talk
@@ -9,12 +9,8 @@
 < VALUE "ada b"
 > set n 3
 < OK
-> incr n
-< INT 4
-> incr n 4
-< INT 8
-> incr new -2
-< INT -2
+> set new -2
+< OK
 > keys n
 < KEYS "n" "name" "new"
 > keys x
@@ -46,9 +42,7 @@
 > get a
 < VALUE "tab\tquote\"back\\slash"
 > incr a
-< ERR not a number
-> incr b much
-< ERR not a number
+< ERR unknown command "incr"
 > len
 < INT 3
 > quit
diff --git a/server/testdata/limits.talk b/server/testdata/limits.talk
index 89672c8..fbf169b 100644
--- a/server/testdata/limits.talk
+++ b/server/testdata/limits.talk
@@ -11,8 +11,6 @@
 < NONE
 > keys
 < KEYS "b"
-> incr b
-< INT 3
 ~ 1m
 > get b
 < NONE
@@ -32,8 +30,8 @@
 < OK
 > keys
 < KEYS "a" "c" "d"
-> incr c
-< INT 4
+> get c
+< VALUE "3"
 > set e 5
 < OK
 > keys
diff --git a/store/store.go b/store/store.go
index 4de24ee..c94bb97 100644
--- a/store/store.go
+++ b/store/store.go
@@ -4,11 +4,9 @@ package store
 import (
 	"bufio"
 	"container/list"
-	"errors"
 	"fmt"
 	"io"
 	"sort"
-	"strconv"
 	"strings"
 	"sync"
 	"time"
@@ -16,9 +14,6 @@ import (
 	"hutch/internal/wire"
 )
 
-// ErrNumber says that a value cannot be counted on.
-var ErrNumber = errors.New("not a number")
-
 // Store may be used by several goroutines.
 type Store struct {
 	mu    sync.Mutex
@@ -81,24 +76,6 @@ func (s *Store) Delete(key string) bool {
 	return true
 }
 
-// Incr adds to a number and gives the sum. The time to live stays what it is.
-func (s *Store) Incr(key string, by int64) (int64, error) {
-	s.mu.Lock()
-	defer s.mu.Unlock()
-	var n int64
-	var until time.Time
-	if e := s.alive(key); e != nil {
-		var err error
-		if n, err = strconv.ParseInt(e.Value.(*item).value, 10, 64); err != nil {
-			return 0, ErrNumber
-		}
-		until = e.Value.(*item).until
-	}
-	n += by
-	s.put(key, strconv.FormatInt(n, 10), until)
-	return n, nil
-}
-
 // Keys gives the keys that are alive and begin with prefix, sorted.
 func (s *Store) Keys(prefix string) []string {
 	s.mu.Lock()
diff --git a/store/store_test.go b/store/store_test.go
index 717f956..9af50b5 100644
--- a/store/store_test.go
+++ b/store/store_test.go
@@ -2,7 +2,6 @@ package store
 
 import (
 	"bytes"
-	"errors"
 	"reflect"
 	"strings"
 	"testing"
@@ -80,28 +79,6 @@ func TestExpiredGoFirst(t *testing.T) {
 	}
 }
 
-func TestIncr(t *testing.T) {
-	s, clock := newStore(4)
-	for _, want := range []int64{5, 10} {
-		if got, err := s.Incr("n", 5); err != nil || got != want {
-			t.Errorf("%d, %v, want %d", got, err, want)
-		}
-	}
-	s.Set("word", "five", 0)
-	if _, err := s.Incr("word", 1); !errors.Is(err, ErrNumber) {
-		t.Errorf("a word: %v", err)
-	}
-	s.Set("visits", "7", time.Minute)
-	clock.Advance(50 * time.Second)
-	if got, _ := s.Incr("visits", 1); got != 8 {
-		t.Errorf("%d visits, want 8", got)
-	}
-	clock.Advance(20 * time.Second)
-	if got, ok := s.Get("visits"); ok {
-		t.Errorf("visits outlived their minute: %s", got)
-	}
-}
-
 func TestDelete(t *testing.T) {
 	s, _ := newStore(2)
 	s.Set("a", "1", 0)
PATCH
