package telemetry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

// What is in deploy/ asks for measures and labels that deed has.
func TestDeployAsksForWhatIsThere(t *testing.T) {
	t.Parallel()
	p := begin(t, Settings{Scraped: true})
	one := func(part string) func(context.Context) (map[string]int64, error) {
		return func(context.Context) (map[string]int64, error) { return map[string]int64{part: 1}, nil }
	}
	for _, g := range []Gauge{
		{Name: "deed.queue", Label: "deed.queue.state", Read: one("ready")}, {Name: "deed.actions.open", Read: one("")}, {Name: "deed.outbox", Label: "deed.outbox.state", Read: one("dead")},
	} {
		if err := p.tel.Watch(g); err != nil {
			t.Fatal(err)
		}
	}
	p.conversation()
	w := httptest.NewRecorder()
	p.tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	served := w.Body.String()
	word := regexp.MustCompile(`\b(deed|gen_ai)_\w+`)
	for _, file := range []string{"../../../deploy/grafana-dashboard.json", "../../../deploy/alerts.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked := word.FindAllString(string(text), -1)
		if len(asked) < 5 {
			t.Errorf("%s asks for %d names", file, len(asked))
		}
		for _, name := range asked {
			if !strings.Contains(served, name) {
				t.Errorf("%s asks for %s, which is not served", file, name)
			}
		}
	}
	if t.Failed() {
		t.Log(served)
	}
}
