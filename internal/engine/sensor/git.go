package sensor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/base/proc"
)

// maxRefs bounds what one repository can make a sensor remember.
const maxRefs = 10_000

// git looks at the tips of the refs. All changes between two looks are one event, which names the newest commit. A rewritten
// history is a new tip like any other.
func (t *taker) git(ctx context.Context) error {
	was := map[string]string{}
	first, err := t.cursor(&was)
	if err != nil {
		return err
	}
	now, err := t.tips(ctx)
	if err != nil {
		return err
	}
	if first && !t.s.FromStart {
		_, err := t.take(ctx, nil, now)
		return err
	}
	then := maps.Clone(was)
	var reads []Read
	for _, ref := range slices.Sorted(maps.Keys(now)) {
		if was[ref] == now[ref] {
			continue
		}
		if len(reads) >= maxEvents(t.s) {
			t.rep.More = true
			break
		}
		then[ref] = now[ref]
		reads = append(reads, t.event(ref+"@"+now[ref], t.s.Repository, map[string]any{
			"repository": t.s.Repository, "ref": ref, "commit": now[ref], "previous_commit": was[ref],
		}))
	}
	for ref := range then {
		if now[ref] == "" { // it was deleted; the same tip is new when it comes back, and was seen before
			delete(then, ref)
		}
	}
	if maps.Equal(then, was) && !first {
		_, err := t.take(ctx, reads, nil)
		return err
	}
	_, err = t.take(ctx, reads, then)
	return err
}

// tips asks the repository for its refs. Of the operator's git settings it reads only those in HOME, and git never prompts for a
// password.
func (t *taker) tips(ctx context.Context) (map[string]string, error) {
	refs := t.s.Refs
	if len(refs) == 0 {
		refs = []string{"HEAD"}
	}
	res, err := proc.Tool(ctx, proc.ToolSpec{
		Argv: append([]string{"git", "ls-remote", "--", t.s.Repository}, refs...), Dir: os.TempDir(), MaxOutput: maxOutput,
		Env: []string{
			"PATH=" + proc.Getenv(t.Environ, "PATH"), "HOME=" + proc.Getenv(t.Environ, "HOME"), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file:http:https:ssh:git", "GIT_OPTIONAL_LOCKS=0", "GIT_SSH_COMMAND=ssh -oBatchMode=yes",
			"SSH_AUTH_SOCK=" + proc.Getenv(t.Environ, "SSH_AUTH_SOCK"),
		},
	})
	if err == nil {
		err = res.Check()
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(res.Stdout)); lines.Scan(); {
		commit, ref, ok := strings.Cut(lines.Text(), "\t")
		if ok && !strings.HasSuffix(ref, "^{}") {
			out[ref] = commit
		}
	}
	if len(out) > maxRefs {
		return nil, errors.New("more than 10000 refs (name fewer under `refs`)")
	}
	return out, nil
}
