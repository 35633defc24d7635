package atomicfile

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"
)

// syncBatch is how many files are open at once. Their data is on its way to the disk before the first fsync waits.
const syncBatch = 128

// syncWorkers is how many fsyncs are in flight at once where the kernel does not take them all in one call. They wait for the disk, not
// for a processor: a journalling file system answers many of them with one commit.
const syncWorkers = 8

// A Syncing is files and directories that are on their way to the disk. Whoever began it has to Wait.
type Syncing struct {
	done chan struct{} // nil: wait does the waiting
	wait func() error
}

// BeginSync begins to make the named files and directories durable. They must not change until Wait returns.
func BeginSync(ctx context.Context, paths []string) *Syncing {
	if len(paths) <= syncBatch {
		return beginBatch(ctx, paths)
	}
	return beside(func() error { return SyncPaths(ctx, paths) })
}

// Wait returns when everything is durable, or says why it is not.
func (s *Syncing) Wait() error {
	if s.done != nil {
		<-s.done
	}
	return s.wait()
}

// SyncPaths makes the named files and directories durable, many at a time.
func SyncPaths(ctx context.Context, paths []string) error {
	for batch := range slices.Chunk(paths, syncBatch) {
		if err := beginBatch(ctx, batch).Wait(); err != nil {
			return err
		}
	}
	return nil
}

// beside is a Syncing that a goroutine does.
func beside(sync func() error) *Syncing {
	s := &Syncing{done: make(chan struct{})}
	var err error
	s.wait = func() error { return err }
	go func() {
		defer close(s.done)
		err = sync()
	}()
	return s
}

func failed(err error) *Syncing { return &Syncing{wait: func() error { return err }} }

func beginBatch(ctx context.Context, paths []string) *Syncing {
	if err := ctx.Err(); err != nil {
		return failed(err)
	}
	files, err := openAll(paths)
	if err != nil {
		return failed(err)
	}
	if r, ok := beginRing(files); ok {
		return &Syncing{wait: func() error { defer closeAll(files); return r.wait() }}
	}
	return beside(func() error { defer closeAll(files); return syncAll(ctx, files) })
}

// openAll opens files to be synced, and has the kernel begin to write them.
func openAll(paths []string) ([]*os.File, error) {
	files := make([]*os.File, 0, len(paths))
	for _, p := range paths {
		f, err := open(p)
		if err != nil {
			closeAll(files)
			return nil, Explain("sync "+p, err)
		}
		files = append(files, f)
		beginWrite(f)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // opened for reading: there is nothing to lose
	}
}

// syncAll waits for the files with a few goroutines.
func syncAll(ctx context.Context, files []*os.File) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(syncWorkers)
	for _, f := range files {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return syncFile(f)
		})
	}
	return g.Wait()
}

func syncFile(f *os.File) error { return Explain("sync "+f.Name(), f.Sync()) }
