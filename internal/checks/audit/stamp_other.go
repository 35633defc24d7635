//go:build !linux

package audit

import "io/fs"

// stamp knows nothing here, so that every file is read and compared by its content.
func stamp(fs.FileInfo) (ino uint64, ctime int64) { return 0, 0 }
