package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("BUNDLE_TEST_WRITE") != "":
		if err := writeAndDie(os.Getenv("BUNDLE_TEST_WRITE"), os.Getenv("BUNDLE_TEST_KEYS"), os.Getenv("BUNDLE_TEST_DIE_AT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv("BUNDLE_TEST_DISK") != "":
		fmt.Print(writeOnBadDisk(os.Getenv("BUNDLE_TEST_DISK"), os.Getenv("BUNDLE_TEST_MOUNT")))
	case os.Getenv("BUNDLE_TEST_KEY") != "":
		k, err := bundle.LoadOrCreateKey(os.Getenv("BUNDLE_TEST_KEY"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(k.Public().ID)
	default:
		os.Exit(m.Run())
	}
}

func writeAndDie(dir, keys, step string) error {
	bundle.OnStep(func(s string) {
		if s == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing after the kill may run
		}
	})
	k, err := bundle.LoadOrCreateKey(keys)
	if err != nil {
		return err
	}
	w, err := bundle.Create(dir, bundle.Options{Key: k})
	if err != nil {
		return err
	}
	if err := fill(w, patch); err != nil {
		return err
	}
	_, err = w.Seal(context.Background(), input())
	return err
}

func helper(env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

func TestKilledWriterLeavesNoBundleOrAWholeOne(t *testing.T) {
	t.Parallel()
	for _, step := range bundle.Steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			final := filepath.Join(parent, "bundles", "a")
			cmd := helper("BUNDLE_TEST_WRITE="+final, "BUNDLE_TEST_KEYS="+filepath.Join(parent, "keys"), "BUNDLE_TEST_DIE_AT="+step)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the writer ended with %v: %s", err, out)
			}
			if step == "published" {
				bundletest.Check(t, final)
				if v := verify(t, final, bundle.VerifyOptions{}); !v.Valid {
					t.Errorf("violations: %+v", v.Violations)
				}
			} else if _, err := os.Lstat(final); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a part of a bundle is visible: %v", err)
			}
			want := 1
			if step == "published" {
				want = 0
			}
			if n, err := bundle.RemoveStale(filepath.Dir(final)); n != want || err != nil {
				t.Errorf("removed %d, %v", n, err)
			}
			// The next owner of the attempt starts afresh.
			if step != "published" {
				if out, err := helper("BUNDLE_TEST_WRITE="+final, "BUNDLE_TEST_KEYS="+filepath.Join(parent, "keys")).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				bundletest.Check(t, final)
			}
		})
	}
}

func TestRemoveStaleSparesALiveWriter(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	w, err := bundle.Create(filepath.Join(parent, "a"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dead, err := bundle.Create(filepath.Join(parent, "b"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(parent, ".b.123.tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if n, err := bundle.RemoveStale(parent); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	s, err := w.Seal(context.Background(), input())
	if err != nil {
		t.Fatal(err)
	}
	bundletest.Check(t, s.Dir)
	for _, name := range []string{".one.1.tmp", ".one-more.1.tmp", ".one.more.1.tmp", ".two.1.tmp"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copying, release, err := bundle.Temp(filepath.Join(parent, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := bundle.RemoveStaleOf(filepath.Join(parent, "one")); n != 1 || err != nil {
		t.Errorf("RemoveStaleOf one = %d, %v, want its own only", n, err)
	}
	if _, err := os.Stat(copying); err != nil {
		t.Errorf("a copy that is being made: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if n, err := bundle.RemoveStaleOf(filepath.Join(parent, "one")); n != 1 || err != nil {
		t.Errorf("RemoveStaleOf one = %d, %v after its writer let go", n, err)
	}
	if n, err := bundle.RemoveStale(filepath.Join(parent, "none")); n != 0 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
}

// TestSyncComesBeforeRename reads the system calls of a real writer: every file and directory is synced, then the directory is
// renamed, then its parent is synced. Files are handed to the kernel by a ring, which is closed when it has answered for all of them, or
// synced one by one where it refuses rings.
func TestSyncComesBeforeRename(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: needs strace")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("missing tool: strace: apt-get install strace")
	}
	for name, options := range map[string][]string{"rings": nil, "goroutines": {"-e", "inject=io_uring_setup:error=ENOSYS"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			syncsBeforeRename(t, append([]string{strace, "-f", "-y", "-qq", "-e", "trace=fsync,fdatasync,renameat2,renameat,rename,sync_file_range,io_uring_setup,io_uring_enter,close"}, options...))
		})
	}
}

func syncsBeforeRename(t *testing.T, strace []string) {
	parent := t.TempDir()
	final := filepath.Join(parent, "bundles", "a")
	trace := filepath.Join(parent, "trace")
	cmd := helper("BUNDLE_TEST_WRITE="+final, "BUNDLE_TEST_KEYS="+filepath.Join(parent, "keys"))
	cmd.Path, cmd.Args = strace[0], slices.Concat(strace, []string{"-o", trace}, cmd.Args)
	if out, err := cmd.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("ptrace")) {
			t.Skipf("missing tool: ptrace: allow tracing: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	log, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	synced := map[string]bool{}
	renamed, after := false, false
	path := regexp.MustCompile(`sync\(\d+<([^>]*)>`)
	temp := regexp.MustCompile(`/\.a\.[^/]*\.tmp`)
	opened := regexp.MustCompile(`sync_file_range\(\d+<([^>]*)>`)
	entered := regexp.MustCompile(`io_uring_enter\((\d+)<[^>]*>, ([1-9]\d*),`)
	closed := regexp.MustCompile(`close\((\d+)<[^>]*io_uring`)
	var next []string              // opened to be synced
	rings := map[string][]string{} // handed over
	for line := range strings.Lines(string(log)) {
		if m := opened.FindStringSubmatch(line); m != nil {
			next = append(next, temp.ReplaceAllString(m[1], "/a"))
		}
		if m := entered.FindStringSubmatch(line); m != nil {
			if m[2] != fmt.Sprint(len(next)) {
				t.Errorf("%d files were opened to be synced, and %s handed over", len(next), m[2])
			}
			rings[m[1]], next = next, nil
		}
		if m := closed.FindStringSubmatch(line); m != nil {
			for _, p := range rings[m[1]] {
				synced[p] = true
			}
		}
		if m := path.FindStringSubmatch(line); m != nil {
			if renamed {
				after = after || m[1] == filepath.Dir(final)
			} else {
				synced[temp.ReplaceAllString(m[1], "/a")] = true
			}
		}
		if strings.Contains(line, "rename") && temp.MatchString(line) {
			renamed = true
			for _, p := range listing(t, final) {
				for p = filepath.Join(final, p); len(p) >= len(final); p = filepath.Dir(p) {
					if !synced[p] {
						t.Errorf("%s was not synced before the rename", p)
					}
				}
			}
		}
	}
	if !renamed || !after {
		t.Errorf("renamed: %v, parent synced after it: %v", renamed, after)
	}
}
