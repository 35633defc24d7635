package loop_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
)

// FuzzResume reads logs that no loop wrote. An agent that runs as deed's user can change the log of its conversation: what
// comes of it is a failure with a class, or a conversation.
func FuzzResume(f *testing.F) {
	const at = `"at":"2026-01-01T00:00:00Z"`
	begin := `{"seq":1,` + at + `,"kind":"begin","detail":{"id":"conv","goal":"g"}}` + "\n"
	answer := `{"seq":2,` + at + `,"kind":"answer","detail":{"blocks":[{"call":{"id":"a","name":"shell","input":{"command":"x"}}},{"text":"t"}],"stop":"tools","usage":{"inputTokens":9,"outputTokens":1}}}` + "\n"
	f.Add(begin)
	f.Add(begin + answer + `{"seq":3,` + at + `,"kind":"started","detail":{"call":"a"}}` + "\n" + `{"seq":4,` + at + `,"kind":"result","detail":{"call":"a","output":"o"}}` + "\n")
	f.Add(begin + answer + `{"seq":3,` + at + `,"kind":"started","detail":{"call":"a","subagent":"../../x"}}` + "\n")
	f.Add(begin + `{"seq":2,` + at + `,"kind":"compacted","detail":{"reason":"r","head":"h","keep":-5}}` + "\n")
	f.Add(begin + `{"seq":2,` + at + `,"kind":"input","detail":{"text":"t"}}` + "\n" + `{"seq":3,` + at + `,"kind":"too_long"}` + "\n")
	f.Fuzz(func(t *testing.T, log string) {
		b := newBench(t)
		b.cfg.Client = anyModel{}
		if err := os.WriteFile(filepath.Join(b.cfg.Dir, loop.LogFile), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := loop.Resume(b.cfg, "conv")
		if err != nil {
			if c := failure.ClassOf(err); c != failure.Config && c != failure.Infra {
				t.Errorf("class %s: %v", c, err)
			}
			return
		}
		defer c.Close()
		if y := c.Turn(t.Context(), "Go on.", b.env()); !y.Completed && y.Err == nil {
			t.Errorf("%+v", y)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(b.cfg.Dir), "x.jsonl")); err == nil {
			t.Error("it led out of the record")
		}
	})
}

// anyModel says that it is done, whatever it is asked.
type anyModel struct{ model.Client }

func (anyModel) Stream(_ context.Context, req model.Request, _ func(model.Delta)) (model.Response, error) {
	if len(req.Messages) > 0 && len(req.Messages[len(req.Messages)-1].Blocks) == 7 {
		return calls(tool.List, `{}`), nil
	}
	return says("done"), nil
}
