package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// leastHeap is how large the heap gets before garbage is collected, however little of it is in use.
const leastHeap = 16 << 20

// roomy is for a process that runs attempts. Collecting garbage whenever the heap has doubled, it would do so after every other attempt
// while it needs 4 MB, for a sixth of its processor time.
func (a *app) roomy() {
	if a.getenv("GOGC") == "" { // else somebody knows better
		watchHeap()
	}
}

// watchHeap sets how far the heap may grow, now and after each collection.
var watchHeap = sync.OnceFunc(func() {
	usual := 0
	var look func(struct{})
	look = func(struct{}) {
		if p := heapPercent(liveHeap()); p != usual {
			debug.SetGCPercent(p)
			usual = p
		}
		runtime.AddCleanup(&struct{ collected *int }{}, look, struct{}{}) // by the next collection
	}
	look(struct{}{})
})

// heapPercent is by how much the heap may grow beyond what is in use: to leastHeap, and to twice of it at least. In large steps, since
// every change stops the process for a moment.
func heapPercent(live uint64) int {
	if live <= leastHeap/5 {
		return 400
	}
	if live >= leastHeap/2 {
		return 100
	}
	return int((leastHeap-live)*100/live) / 50 * 50
}

// liveHeap is what the last collection found in use; 0 before the first.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return leastHeap // not known: as usual
	}
	return s[0].Value.Uint64()
}
