package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/codebox/boundary"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/isolate/egress"
)

// noted returns the details of the events of one kind.
func noted[T any](t *testing.T, res Result, kind string) []T {
	t.Helper()
	var out []T
	for line := range strings.Lines(read(t, res, evidence.PathEvents)) {
		var e journal.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind != kind {
			continue
		}
		var detail T
		if err := json.Unmarshal(e.Detail, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	return out
}

// serve answers "hello" and runs fn for each request.
func serve(t *testing.T, fn http.HandlerFunc) (address string) {
	t.Helper()
	srv := httptest.NewServer(fn)
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

// bareRepo makes a repository that a plain file server can hand out.
func bareRepo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := `git init -q w && cd w && echo from-git >f && git add f &&
git -c user.name=n -c user.email=e@example.com commit -qm c && cd .. && git clone -q --bare w r.git && git -C r.git update-server-info`
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// oneName resolves every name to one address.
type oneName struct{ addr netip.Addr }

func (n oneName) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{n.addr}, nil
}

// Ordinary programs reach what is allowed through the variables that they know, and nothing else. What is not allowed
// is refused and reported. A check has no network, whatever the agent has.
func TestTheWayOut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	for _, tool := range []string{"curl", "python3", "node", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("missing tool: %s: apt-get install %s", tool, strings.Replace(tool, "node", "nodejs", 1))
		}
	}
	b := setup(t)
	repo := http.FileServer(http.Dir(bareRepo(t)))
	var forwarders struct {
		sync.Mutex
		attempt string // whose they are
		pids    []int
	}
	allowed := serve(t, func(w http.ResponseWriter, r *http.Request) {
		forwarders.Lock()
		forwarders.pids = append(forwarders.pids, forwardersOf(t, forwarders.attempt)...)
		forwarders.Unlock()
		if strings.HasPrefix(r.URL.Path, "/r.git") {
			repo.ServeHTTP(w, r)
			return
		}
		hello(w, r)
	})
	denied := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the host that is not allowed was reached") })
	b.resolver = oneName{netip.MustParseAddr("127.0.0.1")}
	_, port, _ := strings.Cut(allowed, ":")
	name := "intern.example.com:" + port

	c := b.claim(`
exec 2>&1
curl -sS http://`+allowed+`/ && echo " curl"
curl -sS -p -x "$HTTP_PROXY" --noproxy '' http://`+allowed+`/ && echo " tunnel"
python3 -c 'import urllib.request as u; print(u.urlopen("http://`+allowed+`/").read().decode(), "python")'
node -e 'const p = new URL(process.env.HTTP_PROXY); require("http").get({host: p.hostname, port: p.port, path: "http://`+allowed+`/", headers: {host: "`+allowed+`"}},
  r => r.on("data", d => console.log(d.toString(), "node")))'
git clone -q http://`+allowed+`/r.git clone && cat clone/f && rm -rf clone
curl -sS -x "$HTTP_PROXY" --noproxy '' -o /dev/null -w 'denied %{http_code}\n' http://`+denied+`/
curl -sS -o /dev/null -w 'name %{http_code}\n' http://`+name+`/
curl -sS --noproxy '*' http://`+allowed+`/ && echo " direct"
curl -sS -x "$HTTP_PROXY" --noproxy '' http://`+allowed+`/ && echo " proxied"
echo "not for $NO_PROXY"
curl -sS --noproxy '*' -m 5 http://`+denied+`/ || echo "no direct way"
curl -sS -m 5 --noproxy '*' http://192.0.2.1/ || echo "no route"
`+done, contained(t, func(d *deed.TaskSpec) {
		d.Sandbox = &deed.Sandbox{Network: []string{allowed, name}}
		d.Checks = []deed.Check{{Shell: `test -z "$HTTP_PROXY$http_proxy$ALL_PROXY" && test ! -e /run/deed/egress.sock && ! curl -sS -m 5 http://` + allowed + `/ && ! curl -sS -m 5 -x http://127.0.0.1:3128 http://` + allowed + `/`}}
	}))
	forwarders.Lock()
	forwarders.attempt = c.Ref.AttemptID
	forwarders.Unlock()
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	out := read(t, res, "files/attempt/stdout.log")
	if res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s: %s\n%s", res.Settlement.Class, res.Settlement.LastError, out)
	}
	for _, want := range []string{
		"hello curl\n", "hello tunnel\n", "hello python\n", "hello node\n", "from-git\n", "denied 403\n", "name 403\n", "hello direct\n", "hello proxied\n", "not for localhost,127.0.0.1,::1\n", "no direct way\n", "no route\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}

	rules := map[string]int{}
	for _, c := range noted[egress.Connection](t, res, "egress") {
		rules[c.Rule]++
		if c.Allowed != (c.Rule == allowed) || !c.Allowed && (c.Host == "" || c.Port == 0 || c.Reason == "" || c.Remedy == "") {
			t.Errorf("logged is %+v", c)
		}
	}
	if len(rules) != 3 || rules[allowed] < 5 {
		t.Errorf("logged are %v", rules)
	}
	env, err := boundary.Envelope(boundary.Run{Account: res.Account})
	if err != nil {
		t.Fatal(err)
	}
	var classes []string
	for _, d := range env.Diagnostics {
		classes = append(classes, d.Class)
		if d.Remedy == "" || d.Message == "" {
			t.Errorf("%+v", d)
		}
	}
	if slices.Sort(classes); !slices.Equal(classes, []string{"deed.egress.address", "deed.egress.not-allowed"}) {
		t.Errorf("diagnostics are %v", classes)
	}

	if len(forwarders.pids) == 0 {
		t.Error("no forwarder was seen")
	}
	for _, pid := range forwarders.pids {
		if isForwarder(pid) {
			t.Errorf("the forwarder %d outlived the run", pid)
		}
	}
}

// forwardersOf finds the forwarders below the processes that carry the mark of an attempt.
func forwardersOf(t *testing.T, attempt string) (list []int) {
	t.Helper()
	marked, err := proc.FindByEnv("DEED_ATTEMPT_ID", attempt)
	if err != nil {
		t.Error(err)
	}
	for _, pid := range marked {
		list = append(list, slices.DeleteFunc(proc.Descendants(pid, 1000), func(pid int) bool { return !isForwarder(pid) })...)
	}
	return list
}

func isForwarder(pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && strings.Contains(string(line), "__forward")
}

// The path of a socket is short, and that of a home need not be. An agent that asks without end does not fill the
// evidence.
func TestTheWayOutOfADeepHome(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("missing tool: python3: apt-get install python3")
	}
	b := setupAt(t, filepath.Join(t.TempDir(), strings.Repeat("deep/", 30), strings.Repeat("x", 100), "home"))
	allowed := serve(t, hello)
	const asked, hosts = 1000, 500
	c := b.claim(`exec /usr/bin/python3 - <<'EOF'
import http.client, json
def ask(url):
    c = http.client.HTTPConnection("127.0.0.1", 3128)
    c.request("GET", url)
    r = c.getresponse()
    r.read()
    return r.status
assert ask("http://`+allowed+`/") == 200
for i in range(`+strconv.Itoa(asked)+`):
    assert ask("http://h%d.example.com/" % (i % `+strconv.Itoa(hosts)+`)) == 403
print(json.dumps({"status": "completed", "machine_status": "ok", "operator_summary": "done"}))
EOF`, contained(t, func(d *deed.TaskSpec) { d.Sandbox = &deed.Sandbox{Network: []string{allowed}} }))
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s: %s\n%s", res.Settlement.Class, res.Settlement.LastError, read(t, res, "files/attempt/stderr.log"))
	}
	if n := len(noted[egress.Connection](t, res, "egress")); n != maxEgressNotes {
		t.Errorf("%d connections are noted", n)
	}
	sums := noted[struct {
		Noted  int
		Others []egressCount
	}](t, res, "egress_summary")
	if len(sums) != 1 || len(sums[0].Others) != maxEgressHosts+1 {
		t.Fatalf("summaries are %+v", sums)
	}
	total := int64(sums[0].Noted)
	for _, o := range sums[0].Others {
		total += o.Count
	}
	if first := sums[0].Others[0]; total != asked+1 || first.Host != otherHosts || first.Allowed || first.Rule != "not-allowed" {
		t.Errorf("%d connections, the most of them %+v", total, first)
	}
	if n := len(res.Account.Diagnostics); n != maxDenialDiagnostics {
		t.Errorf("%d diagnostics", n)
	}
	if _, err := os.Lstat(b.Home.Attempt(c.Ref.AttemptID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the attempt's directory is left: %v", err)
	}
}

// A limit that ends a run is named with its figures, wherever somebody looks.
func TestALimitIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.claim(`i=0; while [ $i -lt 60 ]; do sleep 60 & i=$((i+1)); done; wait`, contained(t, func(d *deed.TaskSpec) {
		d.Sandbox = &deed.Sandbox{Limits: &deed.Limits{Processes: 20}}
	}))
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Class != "limit_exceeded" || !strings.Contains(res.Settlement.LastError, "limit on processes") || !strings.Contains(res.Settlement.LastError, "at most 20") {
		t.Errorf("%s: %s", res.Settlement.Class, res.Settlement.LastError)
	}
	env, err := boundary.Envelope(boundary.Run{Account: res.Account})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(env.Diagnostics, func(d evidence.Diagnostic) bool { return d.Class == "deed.limit.processes" }); i < 0 {
		t.Errorf("diagnostics are %+v", env.Diagnostics)
	} else {
		var data struct{ Used, Max int64 }
		if err := json.Unmarshal(env.Diagnostics[i].Data, &data); err != nil || data.Max != 20 || data.Used <= 20 {
			t.Errorf("%s: %v", env.Diagnostics[i].Data, err)
		}
	}
	if ended := noted[struct{ Limit string }](t, res, driver.EventEnded); len(ended) != 1 || ended[0].Limit != "processes" {
		t.Errorf("noted is %+v", ended)
	}
}

// An address stays away from the proxy unless one of its ports has no door inside.
func TestAddressesThatNeedTheProxy(t *testing.T) {
	t.Parallel()
	for allow, want := range map[string]string{
		"127.0.0.1:8080": "localhost,127.0.0.1,::1", "localhost:8080": "localhost,127.0.0.1,::1", "10.0.0.1:80": "localhost,127.0.0.1,::1",
		"127.0.0.1:80": "localhost,::1", "[::1]:443": "localhost,127.0.0.1", "localhost:80": "127.0.0.1,::1",
	} {
		rules, err := egress.ParseRules([]string{allow, "127.0.0.1:9000"})
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1"}
		if proxied(env, rules); env["NO_PROXY"] != want || env["no_proxy"] != want {
			t.Errorf("%s: %v", allow, env)
		}
	}
}
