package bench

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/attempt/wordpress/wordpresstest"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The start of WordPress in namespaces of its own, by wall clock and by processor time, against a bare `php -v`.
func TestBenchWordPress(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	cache, err := wordpresstest.Cache()
	must(t, err)
	t.Cleanup(func() { _ = workspace.Remove(cache) })
	site, _ := wordpresstest.Prepare(t, cache, component.Request{}) // fills the cache
	run := componenttest.Contained(t, site.Mounts(), time.Minute)

	var bare, boot, bareCPU, bootCPU, prepare []float64
	for range 21 {
		cmd := exec.Command("php", "-v")
		bare = append(bare, seconds(func() { must(t, cmd.Run()) }))
		bareCPU = append(bareCPU, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		var res wordpress.Result
		boot = append(boot, seconds(func() {
			var err error
			res, err = site.PHP(wordpress.PHP{Code: used}).Do(t.Context(), run)
			must(t, err)
		}))
		var cpu float64
		must(t, json.Unmarshal(res.Value, &cpu))
		bootCPU = append(bootCPU, cpu)
		prepare = append(prepare, seconds(func() { wordpresstest.Prepare(t, cache, component.Request{}) }))
	}
	line(t, "wordpress.boot.wall", median(boot), median(bare), "s", "well under a second")
	line(t, "wordpress.boot.cpu", median(bootCPU), median(bareCPU), "s", "")
	line(t, "wordpress.prepare", median(prepare), median(bare), "s", "")
}

// used is PHP code that returns the processor time of its process. What bubblewrap itself uses is not in it: it ends
// before what it started.
const used = `$u = getrusage(); return $u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec'] + ( $u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec'] ) / 1e6;`
