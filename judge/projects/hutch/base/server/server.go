// Package server answers the commands of clients.
package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"hutch/internal/wire"
	"hutch/store"
)

// Server serves one store.
type Server struct {
	Store *store.Store
	Idle  time.Duration // a client that says nothing for so long is sent away; 0: never
}

// Serve answers everybody until the listener is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			s.Session(&patient{conn, s.Idle}, conn)
		}()
	}
}

// patient reads with a limit of time.
type patient struct {
	net.Conn
	idle time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	if p.idle > 0 {
		if err := p.SetReadDeadline(time.Now().Add(p.idle)); err != nil {
			return 0, err
		}
	}
	return p.Conn.Read(b)
}

// Session answers line by line until the end or quit.
func (s *Server) Session(r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		cmd, err := wire.Parse(lines.Text())
		reply := ""
		if err == nil {
			reply, err = s.answer(cmd)
		}
		if err != nil {
			reply = "ERR " + err.Error()
		}
		if _, err := fmt.Fprintln(w, reply); err != nil {
			return err
		}
		if cmd.Name == "quit" {
			return nil
		}
	}
	return lines.Err()
}

func (s *Server) answer(cmd wire.Command) (string, error) {
	switch cmd.Name {
	case "set":
		var ttl time.Duration
		if len(cmd.Args) == 3 {
			var err error
			if ttl, err = time.ParseDuration(cmd.Args[2]); err != nil || ttl <= 0 {
				return "", fmt.Errorf("not a duration: %s", wire.Quote(cmd.Args[2]))
			}
		}
		s.Store.Set(cmd.Args[0], cmd.Args[1], ttl)
		return "OK", nil
	case "get":
		value, ok := s.Store.Get(cmd.Args[0])
		if !ok {
			return "NONE", nil
		}
		return "VALUE " + wire.Quote(value), nil
	case "del":
		if !s.Store.Delete(cmd.Args[0]) {
			return "NONE", nil
		}
		return "OK", nil
	case "incr":
		by := int64(1)
		if len(cmd.Args) == 2 {
			var err error
			if by, err = strconv.ParseInt(cmd.Args[1], 10, 64); err != nil {
				return "", store.ErrNumber
			}
		}
		n, err := s.Store.Incr(cmd.Args[0], by)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("INT %d", n), nil
	case "keys":
		reply := "KEYS"
		for _, key := range s.Store.Keys(strings.Join(cmd.Args, "")) {
			reply += " " + wire.Quote(key)
		}
		return reply, nil
	case "len":
		return fmt.Sprintf("INT %d", s.Store.Len()), nil
	case "quit":
		return "BYE", nil
	}
	return "", fmt.Errorf("%s is not served", cmd.Name)
}
