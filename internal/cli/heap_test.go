package cli

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

func TestHeapPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 3 << 20: 400, 4 << 20: 300, 6 << 20: 150, 8 << 20: 100, 1 << 30: 100} {
		if got := heapPercent(live); got != want {
			t.Errorf("%d bytes: %d%%, want %d%%", live, got, want)
		}
		if goal := live + live*uint64(heapPercent(live))/100; live > leastHeap/5 && goal < leastHeap*3/4 {
			t.Errorf("%d bytes: collected at %d", live, goal)
		}
	}
}

// A heap that has grown is collected when it has doubled, as usual, also if it was small when the process began.
func TestHeapIsWatched(t *testing.T) {
	t.Parallel()
	watchHeap()
	held := make([]byte, 2*leastHeap)
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	late := time.After(time.Minute)
	for {
		runtime.GC()
		if metrics.Read(now); now[0].Value.Uint64() == 100 {
			break
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("it may still grow by %d%%", now[0].Value.Uint64())
		}
	}
	runtime.KeepAlive(held)
}
