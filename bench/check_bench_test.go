package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestBenchCheck measures what `deed test` adds to a script that does nothing: the real binary in a warm home, with the
// extension found and hashed, the helpers in place, the script under its supervisor and its run directory read. The floor is
// the same script from a bare sh, run in turns with it. Nothing here fails for being slow.
func TestBenchCheck(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	bin, dir := build(t), t.TempDir()
	ext := filepath.Join(dir, ".deed", "extensions", "nothing")
	must(t, os.MkdirAll(ext, 0o700))
	must(t, os.WriteFile(filepath.Join(ext, "nothing.json"), []byte(`{"name": "nothing", "version": "1.0.0", "test": {"extension_script": "test.sh"}}`), 0o600))
	script := filepath.Join(ext, "test.sh")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\nexit 0\n"), 0o700))
	run := func(argv ...string) func() {
		return func() {
			c := exec.Command(argv[0], argv[1:]...)
			c.Dir, c.Env = dir, []string{"PATH=/usr/bin:/bin", "DEED_HOME=" + filepath.Join(dir, "home")}
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", argv, err, out)
			}
		}
	}
	run(bin, "test")() // makes the home
	var whole, floor, start []float64
	for range 41 {
		floor = append(floor, seconds(run("/bin/sh", "-c", script)))
		whole = append(whole, seconds(run(bin, "test")))
		start = append(start, seconds(run(bin, "version")))
	}
	line(t, "check.trivial", median(whole), median(floor), "s, deed test of a script that does nothing against a bare sh -c of it", "-")
	above := func(name string, of func([]float64) float64, unit string) {
		fmt.Printf("bench %s %.1f - - <=30 # ms that deed adds, %s\n", name, (of(whole)-of(floor))*1000, unit)
	}
	above("check.trivial/added", median, "the median")
	above("check.trivial/added-fastest", slices.Min[[]float64], "on a machine with nothing else to do")
	line(t, "check.trivial.version", median(start), median(floor), "s, the start of deed alone", "-")
}
