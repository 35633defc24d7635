package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of the server.
const (
	maxRequest  = 64 << 20 // bytes of a request
	maxRecords  = 2000     // requests that are remembered
	maxRecorded = 64 << 20 // bytes of all remembered bodies
	maxCounters = 10_000   // faults of scenarios and tags that are counted
)

// A Server is the scripted model. It is an http.Handler, and can serve by itself: see Start.
type Server struct {
	script Script
	ctx    context.Context //nolint:containedctx // the server's own life: it ends requests that hang
	stop   context.CancelFunc

	mu       sync.Mutex
	served   map[string]int // faults, by scenario, tag and place
	records  []Record
	recorded int
	seq      int

	http *http.Server
	done chan struct{}
	base string
}

// A Record is a request as it came, without what authenticates it.
type Record struct {
	Seq      int
	API      string // responses, chat, messages, ollama, or the path of anything else
	Scenario string // with its tag
	Turn     int    // of the user, for requests to a model
	Position int    // within the turn
	Method   string
	Path     string
	Header   http.Header
	Body     []byte // empty when there was no room left
}

// New makes a server of a valid script.
func New(script Script) *Server {
	s := &Server{script: script, served: map[string]int{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Start serves on a loopback address, such as 127.0.0.1:0, until Close. It returns the base URL.
func (s *Server) Start(addr string) (string, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() {
		return "", fmt.Errorf("address %q: the scripted model serves on loopback only: give it as 127.0.0.1:PORT", addr)
	}
	l, err := (&net.ListenConfig{}).Listen(s.ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("serve the scripted model: %w", err)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	s.done = make(chan struct{})
	s.base = "http://" + l.Addr().String()
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l)
	}()
	return s.base, nil
}

// URL is the base URL of a scenario, below which the interfaces are. It is for a server that was started.
func (s *Server) URL(scenario string) string { return s.base + "/s/" + scenario }

// Scenarios returns the names of all scenarios, sorted.
func (s *Server) Scenarios() []string { return slices.Sorted(maps.Keys(s.script.Scenarios)) }

// Close ends all requests, hung ones too, and waits for them.
func (s *Server) Close() error {
	s.stop()
	if s.http == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.done
	return err
}

// Requests returns what came so far, oldest first.
func (s *Server) Requests() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// remember keeps a request, within bounds.
func (s *Server) remember(r *http.Request, body []byte, rec Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	rec.Seq, rec.Method, rec.Path, rec.Header = s.seq, r.Method, r.URL.Path, r.Header.Clone()
	for name := range rec.Header {
		low := strings.ToLower(name)
		if strings.Contains(low, "auth") || strings.Contains(low, "key") || strings.Contains(low, "cookie") || strings.Contains(low, "token") {
			delete(rec.Header, name)
		}
	}
	if len(s.records) == maxRecords {
		s.recorded -= len(s.records[0].Body)
		s.records = slices.Delete(s.records, 0, 1)
	}
	if s.recorded+len(body) <= maxRecorded {
		rec.Body = body
		s.recorded += len(body)
	}
	s.records = append(s.records, rec)
}

// An api is one interface: how its requests are read and its answers and errors written.
type api struct {
	name   string
	prefix string // of the ids of calls
	read   func(body []byte, a *ask) error
	write  func(w *writer, a *ask, ans answer)
	fail   func(status int, code, message string) any // the body of an error
	stream string                                     // the media type of a stream
	start  func(w *writer, a *ask, ans answer)        // the beginning of a stream, for answers that do not end
}

// route finds the interface that a path belongs to.
func route(p string) (api, bool) {
	for _, r := range []struct {
		suffix string
		api    api
	}{
		{"/responses", responsesAPI},
		{"/chat/completions", chatAPI},
		{"/messages", messagesAPI},
		{"/api/chat", ollamaChatAPI},
		{"/api/generate", ollamaGenerateAPI},
	} {
		if strings.HasSuffix(p, r.suffix) {
			return r.api, true
		}
	}
	return api{}, false
}

func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxRequest))
	if err != nil {
		http.Error(rw, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	name, rest := scenarioOf(r.URL.Path)
	served, ok := route(rest)
	if !ok || r.Method != http.MethodPost {
		s.remember(r, body, Record{API: rest, Scenario: name})
		s.other(rw, r, rest, body)
		return
	}
	a := &ask{api: served.name}
	if err := served.read(body, a); err != nil {
		s.remember(r, body, Record{API: served.name, Scenario: name})
		respond(rw, http.StatusBadRequest, served.fail(http.StatusBadRequest, "", "the request cannot be read: "+err.Error()))
		return
	}
	if a.turn == 0 {
		a.turn = 1
	}
	if name == "" {
		name = s.scenarioOfModel(a.model)
	}
	s.remember(r, body, Record{API: served.name, Scenario: name, Turn: a.turn, Position: a.position()})
	bare, _, _ := strings.Cut(name, "~")
	sc, ok := s.script.Scenarios[bare]
	if !ok {
		message := fmt.Sprintf("there is no scenario %q: choose one of %v by the URL /s/NAME or by a model name with scn-NAME", bare, s.Scenarios())
		respond(rw, http.StatusNotFound, served.fail(http.StatusNotFound, "model_not_found", message))
		return
	}
	s.serve(&writer{rw: rw, ctx: r.Context(), server: s, api: served}, name, sc, a)
}

// scenarioOf splits /s/NAME/rest.
func scenarioOf(p string) (name, rest string) {
	if after, ok := strings.CutPrefix(p, "/s/"); ok {
		name, rest, _ = strings.Cut(after, "/")
		return name, "/" + rest
	}
	return "", p
}

var modelScenario = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`scn-([a-z0-9_.~-]*[a-z0-9])`) })

func (s *Server) scenarioOfModel(model string) string {
	if m := modelScenario().FindStringSubmatch(model); m != nil {
		return m[1]
	}
	if names := s.Scenarios(); len(names) == 1 {
		return names[0]
	}
	return "default"
}

// serve answers with the step whose turn it is.
func (s *Server) serve(w *writer, name string, sc Scenario, a *ask) {
	if len(a.tools) == 0 && sc.usesTools() {
		w.api.write(w, a, answer{text: orDefault(sc.Aside, "ok"), stop: stopEnd, usage: s.usage(sc, Step{})})
		return
	}
	step, err := s.next(name, sc, a)
	if err != nil {
		respond(w.rw, http.StatusInternalServerError, w.api.fail(http.StatusInternalServerError, "", err.Error()))
		return
	}
	if step.DelayMS > 0 && !w.wait(time.Duration(step.DelayMS)*time.Millisecond) {
		panic(http.ErrAbortHandler)
	}
	if step.isFault() {
		w.fault(step, a, s.usage(sc, step))
		return
	}
	w.api.write(w, a, s.answer(sc, step, a, w.api.prefix))
}

// steps returns the list that serves the turn, and its name.
func (sc Scenario) steps(a *ask) ([]Step, string) {
	for i, b := range sc.On {
		if strings.Contains(a.said, b.Contains) {
			return b.Steps, fmt.Sprintf("on %d", i)
		}
	}
	if len(sc.Turns) == 0 {
		return sc.Steps, fmt.Sprintf("turn %d", a.turn)
	}
	return sc.Turns[min(a.turn, len(sc.Turns))-1], fmt.Sprintf("turn %d", a.turn)
}

// next finds the step, and counts faults that are served a number of times.
func (s *Server) next(name string, sc Scenario, a *ask) (Step, error) {
	steps, list := sc.steps(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	var last Step
	answers := 0
	for i, step := range steps {
		if !step.isFault() {
			if answers == a.position() {
				return step, nil
			}
			answers++
			last = step
			continue
		}
		if answers != a.position() {
			continue
		}
		if step.Times == 0 {
			return step, nil
		}
		key := fmt.Sprintf("%s %s %d", name, list, i)
		if s.served[key] < step.Times {
			if len(s.served) >= maxCounters && s.served[key] == 0 {
				return Step{}, errors.New("too many tags are in use")
			}
			s.served[key]++
			return step, nil
		}
	}
	if answers == 0 {
		return Step{Text: "The script has nothing more to say."}, nil
	}
	return last, nil
}

func (s *Server) usage(sc Scenario, step Step) Usage {
	for _, u := range []*Usage{step.Usage, sc.Usage, s.script.Usage} {
		if u != nil {
			return *u
		}
	}
	return DefaultUsage
}
