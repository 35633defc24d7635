package loop

import (
	_ "embed"
	"strings"
	"sync"
	"text/template"

	"github.com/deedrun/deed/internal/agent/tool"
)

//go:embed system.tmpl
var systemText string

var systemTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("system").Parse(systemText)) })

// systemData is what the system prompt is made of.
type systemData struct {
	Workspace string
	Tools     []tool.Spec
	Helper    bool // of a delegated conversation
	Complete  bool // there is task_complete
	Ask       bool
	Todo      bool
	Shell     bool
}

// systemPrompt is what the model gets before everything else. It contains nothing that changes from call to call, so that a
// service can cache it.
func systemPrompt(workspace string, tools []string, helper bool) string {
	d := systemData{Workspace: workspace, Helper: helper}
	for _, s := range tool.Specs() {
		for _, name := range tools {
			if s.Name != name {
				continue
			}
			d.Tools = append(d.Tools, s)
			d.Complete = d.Complete || name == tool.TaskComplete
			d.Ask = d.Ask || name == tool.Ask
			d.Todo = d.Todo || name == tool.Todo
			d.Shell = d.Shell || name == tool.Shell
		}
	}
	var b strings.Builder
	if err := systemTemplate().Execute(&b, d); err != nil {
		panic("loop: system prompt: " + err.Error()) // a template over plain data; a test runs it
	}
	return b.String()
}
