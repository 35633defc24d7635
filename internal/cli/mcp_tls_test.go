package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	deedserver "github.com/deedrun/deed/internal/web/server"
)

// A bearer sends a token with each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// TestMCPOverTLS connects the official SDK's client to the real binary over TCP and TLS, with a token of each role and with tokens
// that are not accepted. Every write has a line of its own in the log.
func TestMCPOverTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"asks": `echo '{"status": "blocked", "machine_status": "blocked", "operator_summary": "red or blue?"}'`})
	pool := s.certificate()
	s.serve("--tls-cert", "cert.pem", "--tls-key", "key.pem")
	at, err := deedserver.Find(home.At(s.home))
	if err != nil || !strings.HasPrefix(at.URL, "https://") {
		t.Fatal(at, err)
	}
	st := s.open()
	connect := func(token string) (*mcp.ClientSession, error) {
		web := &http.Client{Timeout: time.Minute, Transport: bearer{token, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}}
		c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: at.URL + "/mcp", HTTPClient: web, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
		return c, err
	}
	clients := map[access.Role]*mcp.ClientSession{}
	for _, role := range []access.Role{access.Read, access.Operate, access.Admin} {
		if clients[role], err = connect(strings.TrimSpace(s.ok("token", "add", role.String(), "--role", role.String()))); err != nil {
			t.Fatal(err)
		}
		tools, err := clients[role].ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		writes := slices.ContainsFunc(tools.Tools, func(x *mcp.Tool) bool { return x.Name == "task_add" })
		if writes != (role > access.Read) {
			t.Errorf("%s has task_add: %v", role, writes)
		}
	}
	call := func(role access.Role, tool string, args map[string]any) (string, bool) {
		t.Helper()
		res, err := clients[role].CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			return err.Error(), false
		}
		text, _ := res.Content[0].(*mcp.TextContent)
		return text.Text, !res.IsError
	}
	goal := map[string]any{"goal": "choose a colour", "agent": "asks"}
	if said, ok := call(access.Read, "task_add", goal); ok {
		t.Errorf("a reader added a task: %s", said)
	}
	// Commands on the machine are an admin's.
	if said, ok := call(access.Operate, "task_add", map[string]any{"goal": "x", "checks": []string{"id"}}); ok || !strings.Contains(said, "checks") {
		t.Errorf("an operator brought a command: %s", said)
	}
	if said, ok := call(access.Operate, "task_add", goal); !ok {
		t.Fatal(said)
	}
	var action store.Action
	s.until("it asks", func() bool {
		list, err := st.Actions(t.Context(), store.ActionFilter{})
		if err == nil && len(list) == 1 {
			action = list[0]
		}
		return action.ID != ""
	})
	if said, ok := call(access.Admin, "action_answer", map[string]any{"action_id": action.ID, "text": "blue"}); !ok {
		t.Fatal(said)
	}
	if x, err := st.Action(t.Context(), action.ID); err != nil || x.AnsweredBy != "admin" {
		t.Errorf("answered by %q: %v", x.AnsweredBy, err)
	}
	wantLog(t, st, []string{"operate mcp task_add 422", "operate mcp task_add 200 " + action.TaskID, "admin mcp action_answer 200 " + action.ID})

	// A client that is not let in learns nothing and changes nothing.
	past := access.Keeper{Store: st, Clock: func() time.Time { return time.Now().Add(-2 * time.Hour) }}
	expired, _, err := past.IssueToken(t.Context(), "expired", access.Admin, time.Hour, "me")
	if err != nil {
		t.Fatal(err)
	}
	revoked := strings.TrimSpace(s.ok("token", "add", "revoked", "--role", "admin"))
	s.ok("token", "revoke", "revoked")
	for name, token := range map[string]string{"none": "", "rubbish": "deed_xyz", "expired": expired, "revoked": revoked, "a letter off": revoked[:len(revoked)-1] + "a"} {
		if c, err := connect(token); err == nil {
			t.Errorf("%s was let in: %v", name, c.InitializeResult())
		}
	}
	s.ok("token", "revoke", "operate") // of a client that is connected
	if said, ok := call(access.Operate, "task_list", map[string]any{}); ok {
		t.Errorf("a revoked token goes on: %s", said)
	}
	if n, err := st.Counts(t.Context()); err != nil || n[agentruntime.TaskPending]+n[agentruntime.TaskBlocked]+n[agentruntime.TaskRunning] != 1 {
		t.Errorf("%v %v", n, err)
	}
}

// wantLog wants these lines of models in the log of accesses, oldest first, each with where it came from.
func wantLog(t *testing.T, st *store.Store, want []string) {
	t.Helper()
	list, err := st.AccessLog(t.Context(), store.AccessFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range slices.Backward(list) {
		if strings.Contains(e.Action, "/mcp") && !e.Refused {
			t.Errorf("what may be a read is logged as a write: %+v", e)
		}
		if !strings.HasPrefix(e.Action, "mcp ") {
			continue
		}
		if e.How != string(access.ByToken) || !strings.HasPrefix(e.Remote, "127.0.0.1") {
			t.Errorf("%+v", e)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(e.Name, " ", e.Action, " ", e.Status, " ", e.Target)))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// certificate writes a certificate for this machine next to the settings.
func (s *site) certificate() *x509.CertPool {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		s.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	writeFile(s.t, filepath.Join(s.dir, "cert.pem"), string(text))
	writeFile(s.t, filepath.Join(s.dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}
