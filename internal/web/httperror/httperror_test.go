package httperror

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/fault"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	var faults fault.List
	faults.Add("$.a.b", fault.Blank, "is blank", "say something")
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"a problem":        {fmt.Errorf("below: %w", New(409, "conflict", "it has changed")), 409, "conflict"},
		"faults":           {fmt.Errorf("read: %w", faults.Err()), 422, "invalid"},
		"too large":        {fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 7}), 413, "body_too_large"},
		"anything else":    {errors.New("secret of the machine"), 500, "internal"},
		"markup in detail": {New(400, "bad", "<script>x</script>"), 400, "bad"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/x", nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		w.Header().Set("Content-Encoding", "gzip")
		Write(w, r, c.err)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != c.status || p.Status != c.status || p.Code != c.code || p.Title == "" || p.Instance != "/api/v1/x" {
			t.Errorf("%s: %d %+v %v", name, w.Code, p, err)
		}
		if w.Header().Get("Content-Type") != ContentType || w.Header().Get("Content-Encoding") != "" || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %v %s", name, w.Header(), w.Body)
		}
		if c.code == "invalid" && (len(p.Faults) != 1 || p.Faults[0].Path != "$.a.b") {
			t.Errorf("%s: %+v", name, p.Faults)
		}
		r.URL.Path = "/tasks"
		w = httptest.NewRecorder()
		Write(w, r, c.err)
		if body := w.Body.String(); w.Code != c.status || !strings.HasPrefix(body, "<!doctype html>") || strings.Contains(body, "<script") || strings.Contains(body, "secret") {
			t.Errorf("%s as a page: %d %s", name, w.Code, body)
		}
	}
}
