package cli

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/web/server"
)

// defaultListen is where deed serve answers without --listen.
const defaultListen = "127.0.0.1:7433"

// lastAnswers is how long requests that are under way may take when the server ends.
const lastAnswers = 5 * time.Second

// windowFlags say how the HTTP server of deed serve listens.
type windowFlags struct {
	listen, cert, key string
	insecure          bool
	hosts             []string
}

func (f *windowFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "", "`ADDRESS` of the HTTP server, or off (default $DEED_LISTEN, else "+defaultListen+")")
	fl.StringVar(&f.cert, "tls-cert", "", "PEM `FILE` with the certificate of the HTTP server")
	fl.StringVar(&f.key, "tls-key", "", "PEM `FILE` with the key of that certificate")
	fl.BoolVar(&f.insecure, "insecure-listen", false, "listen without TLS where other machines reach it: tokens travel in clear text")
	fl.StringArrayVar(&f.hosts, "host", nil, "`NAME` by which clients may call the server, besides loopback's and the certificate's (repeatable)")
}

// window makes the HTTP server of a dispatcher. It listens nowhere yet.
func (a *app) window(eng *dispatch.Engine, f windowFlags) (*server.Server, error) {
	o := server.Options{
		Home: a.h, Store: a.st, Log: eng.Log, Listen: cmp.Or(f.listen, a.getenv("DEED_LISTEN"), defaultListen),
		Insecure: f.insecure, TLSCert: f.cert, TLSKey: f.key, Hosts: f.hosts,
	}
	if o.Listen == "off" {
		o.Listen = ""
	}
	s, err := server.New(o)
	if err != nil {
		return nil, usage(err)
	}
	return s, nil
}
