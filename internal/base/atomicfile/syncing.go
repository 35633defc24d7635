package atomicfile

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"
)

// syncBatch is how many files are open at once. The kernel begins to write their data before the first fsync waits.
const syncBatch = 128

// syncWorkers is how many fsyncs are in flight at once. They wait for the disk, not for a processor: a journalling file system answers
// many of them with one commit.
const syncWorkers = 8

// SyncPaths makes the named files and directories durable, many at a time.
func SyncPaths(ctx context.Context, paths []string) error {
	for batch := range slices.Chunk(paths, syncBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		files, err := openAll(batch)
		if err != nil {
			return err
		}
		if err := syncAll(ctx, files); err != nil {
			return err
		}
	}
	return nil
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

// syncAll waits for the files with a few goroutines, and closes them.
func syncAll(ctx context.Context, files []*os.File) error {
	defer closeAll(files)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(syncWorkers)
	for _, f := range files {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return Explain("sync "+f.Name(), f.Sync())
		})
	}
	return g.Wait()
}
