package bench

import (
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/deedrun/deed/internal/checks/audit"
)

const auditFiles = 5000

// The audit of a tree of 5,000 Go files against a bare parse of the same files on as many processors, and a second audit
// with nothing changed against the first. The heap is what the process holds at most in between, above what it held
// before, in bytes of source.
func TestBenchAudit(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	dir := t.TempDir()
	files, size := makeGoTree(t, dir)
	parse(t, files) // fill the page cache
	age(t, files[len(files)-1])

	var floor, first, second []float64
	var held float64
	for range 5 {
		cache := filepath.Join(t.TempDir(), "cache")
		floor = append(floor, seconds(func() { parse(t, files) }))
		runtime.GC()
		peak := watchHeap(func() { first = append(first, seconds(func() { auditTree(t, dir, cache, 0) })) })
		held = max(held, float64(peak))
		second = append(second, seconds(func() { auditTree(t, dir, cache, auditFiles) }))
	}
	line(t, "audit.first", median(first), median(floor), "s", "<=2")
	line(t, "audit.second", median(second), median(first), "s", "<=0.2")
	line(t, "audit.heap", held, float64(size), "B", "bounded")
}

// auditTree audits, and makes sure that as many files as expected came from the cache.
func auditTree(t *testing.T, dir, cache string, cached int) {
	r, err := audit.Run(t.Context(), audit.Config{Root: dir, ID: "bench", Cache: cache})
	must(t, err)
	if r.Summary.FilesScanned != auditFiles || r.Summary.FilesParsed != auditFiles || r.Summary.FilesCached != cached {
		t.Fatalf("%+v", r.Summary)
	}
}

// parse reads and parses all files, and keeps nothing.
func parse(t *testing.T, files []string) {
	var next atomic.Int64
	var g errgroup.Group
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				src, err := os.ReadFile(files[i])
				if err != nil {
					return err
				}
				if _, err := parser.ParseFile(token.NewFileSet(), files[i], src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, g.Wait())
}

// watchHeap returns by how much the heap grew at most while f ran.
func watchHeap(f func()) uint64 {
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	peak := make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
			}
		}
	}()
	f()
	close(done)
	return <-peak
}

// makeGoTree writes packages of 20 files that import each other, as programs do.
func makeGoTree(t *testing.T, dir string) (files []string, size int64) {
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/big\n\ngo 1.26\n"), 0o644))
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range auditFiles {
		pkg := i / 20
		var b strings.Builder
		fmt.Fprintf(&b, "// Package p%d owns nothing.\npackage p%d\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\n\tnext \"example.com/big/internal/p%d\"\n)\n\n", pkg, pkg, (pkg+1)%(auditFiles/20))
		fmt.Fprintf(&b, "// A Record%d is one of many.\ntype Record%d struct {\n\tName string\n\tSize int\n}\n\n", i, i)
		for j := range 8 {
			fmt.Fprintf(&b, "// Step%d_%d does its part of the work, and says what it could not do.\nfunc (r *Record%d) Step%d_%d(limit int) (int, error) {\n", i, j, i, i, j)
			fmt.Fprintf(&b, "\ttotal := %d\n\tfor n := range limit {\n", i*j)
			for bits, k := chance.Uint32(), 0; k < 12; bits, k = bits>>2, k+1 { // no body is like another
				b.WriteString([]string{"\t\ttotal++\n", "\t\ttotal += n * r.Size\n", "\t\tif total < n {\n\t\t\tcontinue\n\t\t}\n", "\t\tr.Size = -total\n"}[bits&3])
			}
			fmt.Fprintf(&b, "\t\tif total > %d {\n\t\t\treturn 0, fmt.Errorf(\"record %%s: %%w\", r.Name, errors.ErrUnsupported)\n\t\t}\n\t\ttotal -= next.Count%d(n, total)\n\t}\n\treturn total, nil\n}\n\n", i+j, (i+20)%auditFiles)
		}
		fmt.Fprintf(&b, "func run%d(r *Record%d) (sum int) {\n", i, i)
		for j := range 8 {
			fmt.Fprintf(&b, "\tn, _ := r.Step%d_%d(sum)\n\tsum += n\n", i, j)
		}
		b.WriteString("\treturn sum\n}\n\n")
		fmt.Fprintf(&b, "// Count%d counts.\nfunc Count%d(a, b int) int { return a*%d + b }\n", i, i, i)
		name := filepath.Join(dir, "internal", fmt.Sprintf("p%d", pkg), fmt.Sprintf("f%d.go", i))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(b.String()), 0o644))
		files, size = append(files, name), size+int64(b.Len())
	}
	return files, size
}

// age waits until a file is old enough for its times to be believed.
func age(t *testing.T, file string) {
	fi, err := os.Stat(file)
	must(t, err)
	if wait := 300*time.Millisecond - time.Since(fi.ModTime()); wait > 0 {
		<-time.After(wait)
	}
}
