// Package selfprovider owns the provider commands that are part of deed: `deed provider NAME`, which the packages that deed
// ships name as their command. Each is a thin adapter between a request of the contract and one of deed's drivers, a command,
// or WordPress in PHP compiled to WebAssembly. It isolates nothing and gates nothing: both are the host's part.
package selfprovider

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedrun/deed/internal/agent/runtimepkg/shipped"
	"github.com/deedrun/deed/provider"
)

// Contained is the variable by which a host says that it contains the command: an agent's own guards, which could not be built
// inside, are off then.
const Contained = "DEED_CONTAINED"

// Serve serves one request by the provider of a shipped package, and returns the exit code. The error says that there is no
// such provider.
func Serve(ctx context.Context, id string, std provider.Stdio) (int, error) {
	manifest, ok := shipped.Manifest(id)
	if !ok {
		return 0, fmt.Errorf("deed is no provider %q (it is: %s)", id, strings.Join(shipped.IDs(), ", "))
	}
	h := localShell
	if a, ok := agents[id]; ok {
		h = a.serve
	}
	if id == playgroundID {
		h = playground
	}
	return provider.Serve(ctx, provider.Provider{Manifest: manifest}, h, std), nil
}
