package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deedrun/deed/internal/isolate/egress"
)

const egressBytes = 512 << 20

// The throughput of a tunnel through forwarder and proxy, against two bare relays between the same kinds of sockets,
// measured in turns in the same run.
func TestBenchEgress(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	source := listen(t, func(c net.Conn) { pump(c, egressBytes) })
	sink := listen(t, func(c net.Conn) {
		_, _ = io.Copy(io.Discard, struct{ io.Reader }{c})
		_, _ = c.Write([]byte("."))
	})
	proxied := proxiedDialer(t, source, sink)
	down, up := bareDialer(t, source), bareDialer(t, sink)

	var ours, bare [2][]float64
	const megabytes = float64(egressBytes) / 1e6
	for range rounds {
		bare[0] = append(bare[0], megabytes/seconds(func() { download(t, down()) }))
		ours[0] = append(ours[0], megabytes/seconds(func() { download(t, proxied(source)) }))
		bare[1] = append(bare[1], megabytes/seconds(func() { upload(t, up()) }))
		ours[1] = append(ours[1], megabytes/seconds(func() { upload(t, proxied(sink)) }))
	}
	line(t, "egress.download", median(ours[0]), median(bare[0]), "MB/s", ">=0.7")
	line(t, "egress.upload", median(ours[1]), median(bare[1]), "MB/s", ">=0.7")
}

// proxiedDialer opens tunnels through a forwarder and a proxy.
func proxiedDialer(t *testing.T, targets ...string) func(target string) *net.TCPConn {
	rules, err := egress.ParseRules(targets)
	must(t, err)
	socket := filepath.Join(socketDir(t), "s")
	p, err := egress.Listen(socket, egress.Options{Rules: rules})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() { _ = p.Serve(ctx) })
	wg.Go(func() { _ = egress.Forward(ctx, socket, egress.Door{Listener: l}) })
	t.Cleanup(func() { cancel(); wg.Wait(); _ = p.Close() })
	return func(target string) *net.TCPConn {
		c := dialTCP(t, l.Addr().String())
		_, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
		must(t, err)
		_, err = io.ReadFull(c, make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n")))
		must(t, err)
		return c
	}
}

// bareDialer connects to target through TCP to unix and unix to TCP, with nothing but io.Copy in between.
func bareDialer(t *testing.T, target string) func() *net.TCPConn {
	socket := filepath.Join(socketDir(t), "s")
	second, err := net.Listen("unix", socket)
	must(t, err)
	first, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { bareRelay(second, "tcp", target) })
	wg.Go(func() { bareRelay(first, "unix", socket) })
	t.Cleanup(func() { first.Close(); second.Close(); wg.Wait() })
	return func() *net.TCPConn { return dialTCP(t, first.Addr().String()) }
}

func bareRelay(l net.Listener, network, address string) {
	type half interface {
		net.Conn
		CloseWrite() error
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial(network, address)
		if err != nil {
			in.Close()
			continue
		}
		wg.Go(func() {
			defer in.Close()
			defer out.Close()
			var one sync.WaitGroup
			one.Go(func() {
				_, _ = io.Copy(out, in)
				_ = out.(half).CloseWrite()
			})
			_, _ = io.Copy(in, out)
			_ = in.(half).CloseWrite()
			one.Wait()
		})
	}
}

func listen(t *testing.T, fn func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				fn(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

func pump(w io.Writer, n int) {
	buf := make([]byte, 256<<10)
	for ; n > 0; n -= len(buf) {
		if _, err := w.Write(buf); err != nil {
			return
		}
	}
}

func download(t *testing.T, c *net.TCPConn) {
	defer c.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
	must(t, err)
	if n != egressBytes {
		t.Fatalf("%d bytes arrived", n)
	}
}

func upload(t *testing.T, c *net.TCPConn) {
	defer c.Close()
	pump(c, egressBytes)
	must(t, c.CloseWrite())
	if b, err := io.ReadAll(c); err != nil || len(b) != 1 {
		t.Fatalf("%q, %v", b, err)
	}
}

func dialTCP(t *testing.T, address string) *net.TCPConn {
	c, err := net.Dial("tcp", address)
	must(t, err)
	return c.(*net.TCPConn)
}

// socketDir is short: the path of a socket has about a hundred bytes.
func socketDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "eg")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
