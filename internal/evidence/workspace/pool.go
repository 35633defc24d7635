package workspace

import (
	"context"
	"runtime"
	"sync"
)

// A worker is what one goroutine of a pool owns.
type worker struct {
	buf     []byte
	whole   bool // buf begins with all that the file has that was copied last
	entries []Entry
}

const readBuffer = 256 << 10

// A pool runs jobs that make more jobs, the newest first: walking a tree depth first keeps the list short. It ends
// when there is nothing left, at the first error, or with its context.
type pool struct {
	ctx context.Context //nolint:containedctx // a pool lives within one call

	mu     sync.Mutex
	wake   sync.Cond
	jobs   []func(*worker) error // guarded by mu
	active int                   // guarded by mu
	err    error                 // guarded by mu
}

// runPool runs first and all that comes of it, on as many goroutines as there are processors, and returns their
// workers.
func runPool(ctx context.Context, first func(*pool, *worker) error) ([]*worker, error) {
	p := &pool{ctx: ctx}
	p.wake.L = &p.mu
	p.push(func(w *worker) error { return first(p, w) })
	workers := make([]*worker, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range workers {
		w := &worker{}
		workers[i] = w
		wg.Go(func() { p.work(w) })
	}
	wg.Wait()
	return workers, p.err
}

func (p *pool) push(jobs ...func(*worker) error) {
	p.mu.Lock()
	p.jobs = append(p.jobs, jobs...)
	p.mu.Unlock()
	if len(jobs) == 1 {
		p.wake.Signal()
	} else {
		p.wake.Broadcast()
	}
}

func (p *pool) work(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.jobs) == 0 && p.active > 0 && p.err == nil {
			p.wake.Wait()
		}
		if len(p.jobs) == 0 || p.err != nil {
			return
		}
		last := len(p.jobs) - 1
		job := p.jobs[last]
		p.jobs[last] = nil
		p.jobs = p.jobs[:last]
		p.active++
		p.mu.Unlock()
		err := ended(p.ctx)
		if err == nil {
			if w.buf == nil {
				w.buf = make([]byte, readBuffer)
			}
			err = job(w)
		}
		p.mu.Lock()
		p.active--
		if err != nil && p.err == nil {
			p.err = err
		}
		if p.err != nil || p.active == 0 && len(p.jobs) == 0 {
			p.wake.Broadcast()
		}
	}
}
