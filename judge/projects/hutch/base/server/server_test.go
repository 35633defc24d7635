package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hutch/internal/testkit"
	"hutch/store"
)

// shared is the listener of a server that runs while the tests do.
var shared *testkit.Listener

func TestMain(m *testing.M) {
	shared = testkit.NewListener()
	ended := make(chan error, 1)
	server := &Server{Store: store.New(100)}
	go func() { ended <- server.Serve(shared) }()
	code := m.Run()
	shared.Close()
	if err := <-ended; err != nil {
		fmt.Println("serve:", err)
		code = 1
	}
	os.Exit(code)
}

// talker says a line and waits for the answer.
func talker(t *testing.T, conn net.Conn) func(string) string {
	answers := bufio.NewReader(conn)
	return func(line string) string {
		if _, err := fmt.Fprintln(conn, line); err != nil {
			t.Fatal(err)
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("no answer to %s: %v", line, err)
		}
		return strings.TrimSuffix(answer, "\n")
	}
}

func TestTalks(t *testing.T) {
	scripts, _ := filepath.Glob("testdata/*.talk")
	if len(scripts) < 2 {
		t.Fatalf("only %d conversations", len(scripts))
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".talk"), func(t *testing.T) {
			clock := testkit.NewClock()
			listener := testkit.NewListener()
			defer listener.Close()
			go (&Server{Store: store.NewWithClock(3, clock.Now)}).Serve(listener)
			conn := listener.Dial()
			defer conn.Close()
			testkit.Talk(t, script, clock, talker(t, conn))
		})
	}
}

func TestManyClients(t *testing.T) {
	first := shared.Dial()
	defer first.Close()
	talker(t, first)("del hits")
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		conn := shared.Dial()
		say := talker(t, conn)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer conn.Close()
			for j := 0; j < 25; j++ {
				say("incr hits")
			}
		}()
	}
	wg.Wait()
	conn := shared.Dial()
	defer conn.Close()
	if got := talker(t, conn)("get hits"); got != `VALUE "200"` {
		t.Errorf("%s after 200 calls", got)
	}
}

func TestIdleClientsAreSentAway(t *testing.T) {
	listener := testkit.NewListener()
	defer listener.Close()
	go (&Server{Store: store.New(1), Idle: 300 * time.Millisecond}).Serve(listener)
	conn := listener.Dial()
	defer conn.Close()
	if got := talker(t, conn)("len"); !strings.HasPrefix(got, "INT ") {
		t.Errorf("len: %s", got)
	}
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("an idle client sees %v", err)
	}
}
