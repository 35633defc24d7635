package selfprovider

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deedrun/deed/provider"
)

// A playgroundResult is what playground.mjs prints: the result of each step, up to the first that failed.
type playgroundResult struct {
	Steps []struct {
		Phase     string          `json:"phase"` // how far it came: start, run or done
		PHP       string          `json:"php"`
		WordPress string          `json:"wordpress"`
		Result    json.RawMessage `json:"result"`
		Error     string          `json:"error"`
		ExitCode  int             `json:"exit_code"`
		Stdout    string          `json:"stdout"`
		Stderr    string          `json:"stderr"`
	} `json:"steps"`
}

// outcome makes the outcome of it, and keeps what was printed.
func (p playgroundResult) outcome(r *provider.Run) (provider.Outcome, error) {
	var out, errs []byte
	for _, s := range p.Steps {
		out, errs = append(out, s.Stdout...), append(errs, s.Stderr...)
	}
	last := p.Steps[len(p.Steps)-1]
	err := errors.Join(
		r.Artifact(kindStream, "stdout.txt", out), r.Artifact(kindStream, "stderr.txt", errs),
		r.Output("exit_code", last.ExitCode), r.Metadata("php_version", last.PHP), r.Metadata("wordpress_version", last.WordPress),
	)
	if err == nil && len(last.Result) > 0 {
		err = r.Output("result", last.Result)
	}
	if err != nil {
		return provider.Outcome{}, err
	}
	switch {
	case last.Error != "":
		return provider.Outcome{}, errors.New(last.Error)
	case last.Phase == "start":
		return provider.Outcome{}, &provider.Failure{Diagnostic: "playground.start", Err: fmt.Errorf("WordPress did not start: PHP ended with %d; stderr.txt says why", last.ExitCode)}
	case last.Phase != "done":
		return provider.Outcome{}, fmt.Errorf("the code did not come to its end: PHP ended with %d", last.ExitCode)
	}
	return provider.Succeeded("done in WordPress " + last.WordPress + " with PHP " + last.PHP), nil
}
