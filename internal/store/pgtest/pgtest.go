// Package pgtest starts a real PostgreSQL cluster for tests, and gives each test a fresh database. It owns the cluster's life and nothing
// else; only tests and the command pgtest/clustertest import it.
//
// make test starts one cluster for all test binaries, by pgtest/clustertest, and names its directory in DEED_TEST_POSTGRES. A test binary that
// finds none there starts its own.
//
// The cluster listens on a unix socket only, keeps fsync on, and ends with the process that started it, however that ends: a small
// shell holds the read end of a pipe, and when the pipe closes it stops the server and removes its directory.
//
// It vacuums only when a test asks: the server's own analyze holds a snapshot, behind which a test's vacuum marks less.
package pgtest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
)

// startLimit is how long a server may take to accept connections on a busy machine.
const startLimit = 2 * time.Minute

// DSN returns the connection string of a fresh, empty database. It goes with the cluster: dropping it earlier would make
// the server write everything out first. Without PostgreSQL the test is skipped, or fails when CI=true.
func DSN(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs PostgreSQL")
	}
	c, err := shared()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("PostgreSQL: %v", err)
		}
		t.Skipf("missing tool: postgresql: %v", err)
	}
	name := fmt.Sprintf("t%d_%d", os.Getpid(), c.next.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if _, err := c.admin.ExecContext(ctx, `CREATE DATABASE `+name); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	return c.dsn(name)
}

type cluster struct {
	sockets  string
	lifeline *os.File // never closed by hand: its end is the end of the process
	admin    *sql.DB
	next     atomic.Int64
}

func (c *cluster) dsn(database string) string {
	q := url.Values{"host": {c.sockets}, "user": {"deed"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Directory is the variable that names the directory of a cluster that is there for all tests.
const Directory = "DEED_TEST_POSTGRES"

var shared = sync.OnceValues(func() (*cluster, error) {
	if dir := os.Getenv(Directory); dir != "" {
		return connect(&cluster{sockets: dir})
	}
	return start()
})

// Share starts a cluster that lives as long as this process, and returns its directory, for Directory.
func Share() (string, error) {
	c, err := start()
	if err != nil {
		return "", err
	}
	return c.sockets, nil
}

func start() (*cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	cred, err := credential()
	if err != nil {
		return nil, err
	}
	// The directory is not below t.TempDir: the server runs as another user, and a socket's path must be short.
	dir, err := os.MkdirTemp("", "deed-pg-")
	if err != nil {
		return nil, err
	}
	if cred != nil {
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return nil, err
		}
	}
	attr := &syscall.SysProcAttr{Setpgid: true, Credential: cred}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "deed",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	c := &cluster{sockets: dir}
	if c.lifeline, err = serve(bin, dir, attr); err != nil {
		return nil, err
	}
	return connect(c)
}

// connect waits until the server answers.
func connect(c *cluster) (_ *cluster, err error) {
	if c.admin, err = sql.Open("pgx", c.dsn("postgres")); err != nil {
		return nil, err
	}
	c.admin.SetMaxOpenConns(2)
	again, deadline := time.NewTicker(20*time.Millisecond), time.After(startLimit)
	defer again.Stop()
	for {
		if err = c.admin.Ping(); err == nil {
			return c, nil
		}
		select {
		case <-again.C:
		case <-deadline:
			log, _ := os.ReadFile(filepath.Join(c.sockets, "log"))
			return nil, fmt.Errorf("the server does not answer: %w\n%s", err, log)
		}
	}
}

// serve starts the server under the shell that ends it, and returns the end of the pipe that keeps it alive.
func serve(bin, dir string, attr *syscall.SysProcAttr) (*os.File, error) {
	const script = `"$0" -D "$1/data" -k "$1" -c listen_addresses= -c max_connections=400 -c shared_buffers=64MB \
		-c max_wal_size=2GB -c fsync=on -c autovacuum=off </dev/null >"$1/log" 2>&1 & pid=$!
		cat >/dev/null; kill -QUIT $pid; wait $pid; rm -rf "$1"`
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	cmd := exec.Command("/bin/sh", "-c", script, filepath.Join(bin, "postgres"), dir)
	cmd.SysProcAttr, cmd.Dir, cmd.Stdin = attr, "/", r
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

// binaries finds the newest installation. Debian keeps the server's programs out of the PATH.
func binaries() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("not installed: no initdb in the PATH or below /usr/lib/postgresql (Debian: apt-get install postgresql)")
	}
	version := func(p string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p))))
		return n
	}
	sort.Slice(found, func(i, j int) bool { return version(found[i]) > version(found[j]) })
	return filepath.Dir(found[0]), nil
}

// credential returns the user that the server runs as when the test runs as root, because PostgreSQL refuses root.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("the test runs as root, and there is no user postgres to run the server: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
