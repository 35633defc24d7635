package outcome

import (
	"context"

	"github.com/deedrun/deed/contract/homeboy"
)

// Gather looks at every artifact that the answer or the request names, and keeps the bytes of those that are files
// below a place of the provider as blobs/SHA256 in the directory into, which it makes. A fault of an artifact is told
// in the outcome and makes that artifact one to look at only; an artifact that is required and not there makes a
// success a failure. The error is only of this machine: a full disk, an end of ctx.
// Call it when the provider's processes are gone, once.
func (a *Answer) Gather(ctx context.Context, p homeboy.ExecutorProvider, q homeboy.Request, at Places, into string) error {
	return nil
}
