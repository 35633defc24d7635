// Package provider owns the side of the provider command contract that a package author would otherwise write by hand: it
// reads one request, checks it, runs a function on it, and writes exactly one outcome. What the function does, how a host
// chooses the provider and what a host makes of the outcome are not its concern. It starts no process.
//
//	//go:embed hello.json
//	var manifest []byte
//
//	func main() {
//		provider.Main(provider.Provider{ID: "hello.run", Manifest: manifest}, func(ctx context.Context, q provider.Request, r *provider.Run) (provider.Outcome, error) {
//			return provider.Succeeded("Hello, " + q.Instructions), nil
//		})
//	}
//
// # What it promises for the function
//
//	a request that is not one                 provider_error, invalid_input, a diagnostic request_validation with every fault
//	the function returns an error             failed, execution_failed; or what a *Failure in it says
//	the time limit of the request passed      the context ends; timeout, timeout
//	SIGTERM or an interrupt                   the context ends; cancelled
//	the function panics                       provider_error, provider, a diagnostic provider_panic; the stack is on stderr
//	the function does not return then         the same outcome without it, after a moment
//	an outcome that breaks the contract       provider_error, provider, a diagnostic outcome_invalid with every fault
//
// Each of them is one document on standard output and exit code 0. The exit code is 1 when there is no outcome: the
// declaration of the provider itself is broken, or standard output cannot be written. A status that the manifest does not
// declare becomes one that it does. Standard output belongs to this package; talk goes through Run.Progress and Run.Stderr.
//
// Values of secrets that the manifest or the request name are replaced in the outcome, on standard error and in artifacts, in
// plain text and as JSON, URL and base64 spell them. The host replaces them once more.
package provider
