// Command hutch is a cache that is spoken to in lines.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"

	"hutch/server"
	"hutch/store"
)

func main() {
	max := flag.Int("max", 1000, "the `number` of values to keep")
	listen := flag.String("listen", "", "serve clients on this TCP `address`")
	idle := flag.Duration("idle", 0, "send clients away that say nothing for this `time`")
	dump := flag.Bool("dump", false, "print the store at the end of the input")
	flag.Parse()
	if err := run(&server.Server{Store: store.New(*max), Idle: *idle}, *listen, *dump); err != nil {
		fmt.Fprintln(os.Stderr, "hutch:", err)
		os.Exit(1)
	}
}

func run(s *server.Server, listen string, dump bool) error {
	if listen != "" {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return err
		}
		return s.Serve(l)
	}
	if err := s.Session(os.Stdin, os.Stdout); err != nil {
		return err
	}
	if dump {
		return s.Store.Dump(os.Stdout)
	}
	return nil
}
