// Command hiddencheck speaks with stores of other sizes and another clock than the tests of the tree do.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"hutch/server"
	"hutch/store"
)

var bad int

func expect(what, got, want string) {
	if got != want {
		bad++
		fmt.Printf("%s: %q, want %q\n", what, got, want)
	}
}

// talk says lines that are split by ; to a new store. A line +N moves the clock by N nanoseconds.
func talk(what string, max int, script, want string) {
	now := time.Unix(1000, 0)
	s := &server.Server{Store: store.NewWithClock(max, func() time.Time { return now })}
	var got []string
	for _, line := range strings.Split(script, ";") {
		var d time.Duration
		if n, _ := fmt.Sscanf(line, "+%d", &d); n == 1 {
			now = now.Add(d)
			continue
		}
		var out bytes.Buffer
		s.Session(strings.NewReader(line+"\n"), &out)
		got = append(got, strings.TrimSuffix(out.String(), "\n"))
	}
	expect(what, strings.Join(got, ";"), want)
}

func main() {
	for max := 4; max < 40; max += 7 {
		s := store.New(max)
		for i := 0; i < max; i++ {
			s.Set(fmt.Sprint(i), "x", 0)
		}
		for i := max - 1; i >= 0; i-- {
			s.Get(fmt.Sprint(i))
		}
		for i := 0; i < max-1; i++ {
			s.Set(fmt.Sprint("new", i), "x", 0)
		}
		if _, ok := s.Get("0"); !ok || s.Len() != max {
			bad++
			fmt.Printf("of %d values the one that was read last is gone, or %d are there\n", max, s.Len())
		}
	}
	talk("one place", 1, "set a 1;get a;set b 2;get a;get b", `OK;VALUE "1";OK;NONE;VALUE "2"`)
	talk("exactly over", 9, "set a 1 7ms;set b 2 1ns;+1;get b;+6999998;get a;+1;get a;len", `OK;OK;NONE;VALUE "1";NONE;INT 0`)
	talk("a sweep at the end", 9, "set a 1 3s;set b 1 4s;+3000000000;keys;len", `OK;OK;KEYS "b";INT 1`)
	talk("set renews", 9, "set a 1 1s;+999999999;set a 2 1s;+999999999;get a;+1;get a", `OK;OK;VALUE "2";NONE`)
	talk("set without a time", 9, "set a 1 1s;set a 2;+5000000000;get a", `OK;OK;VALUE "2"`)
	talk("errors", 9, `get;bogus;set a b c;set a "b;get "a"b;get a`,
		`ERR wrong number of arguments for get;ERR unknown command "bogus";ERR not a duration: "c";ERR quote is not closed;ERR no blank after a quote;NONE`)
	for _, raw := range []string{`\`, `\\`, `\n`, `a\"b`, "\t\n", `"\`} {
		s := store.New(3)
		s.Set(raw, raw, 0)
		var out bytes.Buffer
		s.Dump(&out)
		again := store.New(3)
		err := again.Load(bytes.NewReader(out.Bytes()))
		got, ok := again.Get(raw)
		expect("dump of "+raw, fmt.Sprint(got, ok, err), fmt.Sprint(raw, true, nil))
	}
	dir, err := os.MkdirTemp("", "hutch")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if out, err := exec.Command("go", "build", "-o", dir+"/hutch", "./cmd/hutch").CombinedOutput(); err != nil {
		bad++
		fmt.Printf("%s%v\n", out, err)
	} else {
		cmd := exec.Command(dir+"/hutch", "-max", "4", "-dump")
		cmd.Stdin = strings.NewReader("set a 1\nset b 2\nset c 3\nset d 4\nget b\nget a\nset e 5\nset f \"\\\\\"\n")
		out, err := cmd.Output()
		expect("command", fmt.Sprint(string(out), err),
			"OK\nOK\nOK\nOK\nVALUE \"2\"\nVALUE \"1\"\nOK\nOK\nset \"b\" \"2\"\nset \"a\" \"1\"\nset \"e\" \"5\"\nset \"f\" \"\\\\\"\n<nil>")
	}
	talk("incr goes on", 9, "set a 1 2s;+1;incr a;incr a 5;+1999999998;get a;+1;get a;incr a", `OK;INT 2;INT 7;VALUE "7";NONE;INT 1`)
	talk("incr for ever", 9, "incr a;+9000000000;incr a -3;get a", `INT 1;INT -2;VALUE "-2"`)
	talk("incr is a use", 4, "set a 1;set b 1;set c 1;set d 1;incr a;set e 1;keys", `OK;OK;OK;OK;INT 2;OK;KEYS "a" "c" "d" "e"`)
	os.RemoveAll(dir)
	if bad > 0 {
		os.Exit(1)
	}
}
