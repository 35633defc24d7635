package page

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// A screen is what one view shows.
type screen struct {
	template string
	title    string
	nav      string // the view in the navigation that it belongs to
	task     string // only what happens to this task matters; "": everything
	still    bool   // nothing in it changes by itself
	fragment bool   // a part that the script puts into a page
	query    string
	body     any
	redirect string // go there instead
}

// A frame is what every page has around its body.
type frame struct {
	Title, View, Query string
	Theme              string // light, dark, or as the system is
	Live               string // the stream to follow
	Nav                []navItem
	Paused             *store.Pause
	Said               string // what was just done
	Who, Role, Version string
	CSRF               string
	Operate            bool
	Body               any
}

type navItem struct {
	View, Name, Href, Title string
	Count                   int64
}

// layouts are the templates that every view has.
var layouts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(functions()).ParseFS(files, "templates/layout.html", "templates/taskhead.html", "templates/diffrows.html"))
})

// views are the parsed templates by name; each is parsed when it is first shown.
var views sync.Map

func templateOf(name string) *template.Template {
	once, _ := views.LoadOrStore(name, sync.OnceValue(func() *template.Template {
		t := template.Must(layouts().Clone())
		return template.Must(t.ParseFS(files, "templates/"+name+".html"))
	}))
	return once.(func() *template.Template)() //nolint:forcetypeassert // only this function stores
}

// show makes a handler of a view.
func (s *Site) show(of func(*http.Request) (screen, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sc, err := of(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if sc.redirect != "" {
			http.Redirect(w, r, sc.redirect, http.StatusSeeOther)
			return
		}
		s.render(w, r, http.StatusOK, sc)
	})
}

// do makes a handler of a write: it returns where to look afterwards.
func (s *Site) do(of func(*http.Request) (string, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := of(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
	})
}

func (s *Site) render(w http.ResponseWriter, r *http.Request, status int, sc screen) {
	f, err := s.frame(r, sc)
	if err != nil {
		s.Log.Warn("page", "path", r.URL.Path, "error", err)
		httperror.Write(w, r, err)
		return
	}
	root := "page"
	if sc.fragment {
		root = "body"
	}
	var b bytes.Buffer
	if err := templateOf(sc.template).ExecuteTemplate(&b, root, f); err != nil {
		s.Log.Error("page", "path", r.URL.Path, "error", err)
		httperror.Write(w, r, err)
		return
	}
	send(w, r, status, scrub(b.Bytes()))
}

// send writes a document, compressed where the client takes that.
func send(w http.ResponseWriter, r *http.Request, status int, doc []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-store")
	// With no referrer at all a browser says that a form comes from nowhere, and the server refuses it. Others still learn nothing.
	h.Set("Referrer-Policy", "same-origin")
	if !zips(r) {
		w.WriteHeader(status)
		_, _ = w.Write(doc) // the client may have gone
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is a constant
	_, _ = z.Write(doc)
	_ = z.Close()
}

func (s *Site) frame(r *http.Request, sc screen) (frame, error) {
	who := access.From(r.Context())
	f := frame{
		Title: sc.title, View: sc.nav, Query: sc.query, Who: who.Name, Role: who.Role.String(), Version: s.Version, CSRF: access.CSRF(r.Context()),
		Operate: who.May(access.Operate), Body: sc.body, Said: said(r.URL.Query().Get("did")),
	}
	if sc.fragment {
		return f, nil
	}
	if c, err := r.Cookie("deed_theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		f.Theme = c.Value
	}
	if s.Events != "" && !sc.still {
		f.Live = s.Events
		if sc.task != "" {
			f.Live += "?task=" + url.QueryEscape(sc.task)
		}
	}
	b, err := s.Store.Backlog(r.Context())
	if err != nil {
		return f, err
	}
	p, paused, err := s.Store.Paused(r.Context())
	if err != nil {
		return f, err
	}
	if paused {
		f.Paused = &p
	}
	stuck := b.Outbox[store.OutboxHeld] + b.Outbox[store.OutboxFailed]
	f.Nav = []navItem{
		{"home", "Home", "/", "", 0},
		{"tasks", "Tasks", "/tasks", "", 0},
		{"actions", "Waiting", "/actions", "wait for you", b.OpenActions},
		{"workflows", "Workflows", "/workflows", "", 0},
		{"schedules", "Schedules", "/schedules", "", 0},
		{"sensors", "Sensors", "/sensors", "", 0},
		{"outbox", "Outbox", "/outbox", "held or given up", stuck},
		{"fleet", "Fleet", "/fleet", "", 0},
		{"usage", "Usage", "/usage", "", 0},
	}
	return f, nil
}

// fail shows an error as a page that says what to do.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, title, remedy := kindOfError(err)
	why := err.Error()
	if status == http.StatusInternalServerError {
		s.Log.Error("page", "method", r.Method, "path", r.URL.Path, "error", err)
		if !access.From(r.Context()).May(access.Operate) {
			why = "" // it may name what a reader has no business with
		}
	}
	s.render(w, r, status, screen{template: "error", title: title, still: true, body: struct{ Why, Remedy, Back string }{why, remedy, backOf(r)}})
}

// A misuse is a request that makes no sense; its text says what would.
type misuse string

func (m misuse) Error() string { return string(m) }

func kindOfError(err error) (status int, title, remedy string) {
	var (
		wrong    misuse
		state    *store.StatusError
		taken    *store.DuplicateError
		refusal  *apply.Refusal
		p        *httperror.Problem
		tooLarge *http.MaxBytesError
		damage   *store.DamagedError
	)
	switch {
	case errors.As(err, &p):
		return p.Status, p.Title, ""
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound, "Not found", "It may have been removed by a rule of retention, or the link belongs to another home. The search finds tasks by any beginning of their id."
	case errors.Is(err, store.ErrAmbiguous):
		return http.StatusNotFound, "More than one", "Several have an id that begins so. Give more of it."
	case errors.As(err, &wrong), errors.Is(err, answer.ErrAnswer), errors.Is(err, view.ErrCursor):
		return http.StatusUnprocessableEntity, "That does not fit", "Nothing was changed."
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "Too large", "Nothing was changed."
	case errors.Is(err, store.ErrMayNotAnswer):
		return http.StatusForbidden, "Not yours to answer", "Nothing was changed."
	case errors.As(err, &state), errors.As(err, &taken), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrStale), errors.Is(err, apply.ErrResolved):
		return http.StatusConflict, "Too late", "It has changed meanwhile. Nothing was done."
	case errors.As(err, &refusal):
		return http.StatusConflict, "Not applied", "Nothing was changed."
	case errors.As(err, &damage):
		return http.StatusInternalServerError, "Damaged", "Another program or a hand has spoiled this row of the database. Lists show what can be read of it; trying again will not help."
	}
	return http.StatusInternalServerError, "That did not work", "deed could not answer. Its log says more; trying again is safe."
}

// backOf is the page that a request came from: the one that it named, or the one that its path stands under.
func backOf(r *http.Request) string {
	if r.Method == http.MethodPost {
		if b := backTo(r, ""); b != "" {
			return b
		}
	}
	if i := strings.LastIndex(strings.TrimSuffix(r.URL.Path, "/"), "/"); i > 0 {
		return r.URL.Path[:i]
	}
	return "/"
}

// backTo is the page of this site that a form wants to go back to, or another.
func backTo(r *http.Request, other string) string {
	b := r.PostFormValue("back")
	if !strings.HasPrefix(b, "/") || strings.HasPrefix(b, "//") || strings.ContainsAny(b, "\\\r\n?#") {
		return other
	}
	return b
}

// The message about what was just done, chosen by a keyword in the address: no foreign text can get there.
func said(word string) string {
	return map[string]string{
		"cancel": "It is cancelled, or will be as soon as its agent has stopped.", "retry": "It is due now, with another attempt.",
		"resume": "It is due now, and goes on where it stopped.", "approve": "Approved.", "deny": "Denied.", "text": "Answered.", "word": "Answered.",
		"budget": "The budget is set.", "apply": "The change is applied.", "rehearse": "It would apply; nothing was changed.", "enable": "Switched on.",
		"disable": "Switched off.", "drop": "Given up.", "again": "It is delivered as soon as the dispatcher looks.", "pause": "Dispatch is paused.", "unpause": "Dispatch goes on.",
	}[word]
}

func did(path, word string) string { return fmt.Sprintf("%s?did=%s", path, word) }
