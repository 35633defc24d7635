package wordpress_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/attempt/wordpress/wordpresstest"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// shared is one cache of unpacked archives for all tests.
var shared = sync.OnceValues(wordpresstest.Cache)

func TestMain(m *testing.M) {
	componenttest.Serve()
	code := m.Run()
	if dir, err := shared(); err == nil {
		_ = workspace.Remove(dir)
	}
	os.Exit(code)
}

// site is a disposable WordPress with components.
type site struct {
	*wordpress.Site
	res component.Resolved
	run component.Runner
}

func setup(t *testing.T, req component.Request, workspaces ...component.Mount) site {
	t.Helper()
	cache, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	s, res := wordpresstest.Prepare(t, cache, req, workspaces...)
	return site{s, res, componenttest.Contained(t, s.Mounts(), time.Minute)}
}

func (s site) boot(t *testing.T) wordpress.Boot {
	t.Helper()
	b, err := s.Boot(t.Context(), s.run, s.res.Components)
	if err != nil {
		for _, r := range b.Runs {
			t.Logf("%s\n%s\n%s", r.Status, r.Output.Stdout, r.Output.Stderr)
		}
		t.Fatal(err)
	}
	s.valid(t)
	return b
}

func (s site) valid(t *testing.T) {
	t.Helper()
	for _, r := range s.res.Components {
		if err := r.Validate(); err != nil {
			t.Errorf("record of %s: %v", r.Slug, err)
		}
	}
}

// php runs code and returns what it returned, as JSON.
func (s site) php(t *testing.T, code string) string {
	t.Helper()
	res := s.do(t, s.PHP(wordpress.PHP{Code: code}))
	if res.Status != wordpress.StatusOK {
		t.Fatalf("%s: %v\n%s\n%s", res.Status, res.Error, res.Output.Stdout, res.Output.Stderr)
	}
	return string(res.Value)
}

func (s site) do(t *testing.T, i wordpress.Invocation) wordpress.Result {
	t.Helper()
	res, err := i.Do(t.Context(), s.run)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func digest(t *testing.T, dir string) string {
	t.Helper()
	m, err := workspace.Snapshot(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Digest()
}

func TestBoot(t *testing.T) {
	t.Parallel()
	s := setup(t, component.Request{})
	b := s.boot(t)
	if b.WordPress != wordpresstest.Version || s.Version != wordpresstest.Version || b.PHP == "" || b.Abilities {
		t.Errorf("booted %+v, prepared %s", b, s.Version)
	}
	if got := s.php(t, `return get_bloginfo( 'name' ) . ' ' . count( get_posts() );`); !strings.HasSuffix(got, ` 1"`) {
		t.Errorf("got %s", got)
	}
	// The database is this run's own and is written to; a new start sees it.
	s.php(t, `update_option( 'deed', 'here' );`)
	if got := s.php(t, `return get_option( 'deed' );`); got != `"here"` {
		t.Errorf("got %s", got)
	}
	other := setup(t, component.Request{})
	if got := other.php(t, `return get_option( 'deed' );`); got != `false` {
		t.Errorf("another run sees %s", got)
	}
}

func TestWalls(t *testing.T) {
	t.Parallel()
	s := setup(t, component.Request{})
	for name, code := range map[string]string{
		"core is read-only":       `return @file_put_contents( ABSPATH . 'wp-load.php', 'x' );`,
		"content is read-only":    `return @file_put_contents( WP_CONTENT_DIR . '/db.php', 'x' );`,
		"the loader is read-only": `return @file_put_contents( WPMU_PLUGIN_DIR . '/zzz.php', 'x' );`,
		"deed's way in":           `return @file_put_contents( '/run/deed/wordpress/boot.php', 'x' );`,
		"no network":              `return @fsockopen( '127.0.0.1', 22, $n, $e, 1 );`,
		"no home":                 `return @scandir( '/root' ) ?: @scandir( '/home' );`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.php(t, code); got != "false" {
				t.Errorf("got %s", got)
			}
		})
	}
	if got := s.php(t, `return file_put_contents( wp_upload_dir()['basedir'] . '/a', 'x' );`); got != "1" {
		t.Errorf("uploads: %s", got)
	}
	if got := s.php(t, `return getenv( 'WP_AGENT_RUNTIME' );`); got != `"1"` {
		t.Errorf("environment: %s", got)
	}
}

func TestComponentsLoadInOrder(t *testing.T) {
	t.Parallel()
	note := `$GLOBALS['order'][] = `
	src := componenttest.Tree(t, `
-- zz-first/zz-first.php --
<?php `+note+`'mu zz-first';
-- aa-second/aa-second.php --
<?php `+note+`'mu aa-second';
-- visible/visible.php --
<?php
/* Plugin Name: Visible */
`+note+`'plugin visible';
register_activation_hook( __FILE__, function () { add_option( 'visible_activated', 1 ); } );
-- idle/idle.php --
<?php
/* Plugin Name: Idle */
`+note+`'plugin idle';
`)
	before := digest(t, src)
	s := setup(t, component.Request{Components: []component.Contract{
		{Slug: "visible", Path: src + "/visible", LoadAs: "plugin", Activate: true},
		{Slug: "zz-first", Path: src + "/zz-first"},
		{Slug: "aa-second", Path: src + "/aa-second"},
		{Slug: "idle", Path: src + "/idle", LoadAs: "plugin"},
	}})
	s.boot(t)
	if got, want := s.php(t, `return $GLOBALS['order'];`), `["mu zz-first","mu aa-second","plugin visible"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := s.php(t, `return get_option( 'visible_activated' );`); got != `"1"` && got != `1` {
		t.Errorf("the activation hook left %s", got)
	}
	var got []string
	for _, r := range s.res.Components {
		got = append(got, r.Slug+" "+r.Status+" "+r.ActivationStatus)
	}
	want := []string{"visible activated activated", "zz-first mounted not_applicable", "aa-second mounted not_applicable", "idle mounted not_requested"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if digest(t, src) != before {
		t.Error("the sources changed")
	}
}

func TestWorkspacePlugin(t *testing.T) {
	t.Parallel()
	ws := componenttest.Tree(t, `
-- example.php --
<?php
/* Plugin Name: Example */
function example_word() { return 'before'; }
`)
	s := setup(t, component.Request{}, component.Mount{Source: ws, Target: "/wordpress/wp-content/plugins/example"})
	s.boot(t)
	if got := s.php(t, `require_once ABSPATH . 'wp-admin/includes/plugin.php'; return array_keys( get_plugins( '/example' ) );`); got != `["example.php"]` {
		t.Errorf("WordPress sees %s", got)
	}
	s.php(t, `$f = WP_PLUGIN_DIR . '/example/example.php'; file_put_contents( $f, str_replace( 'before', 'after', file_get_contents( $f ) ) );`)
	data, err := os.ReadFile(filepath.Join(ws, "example.php"))
	if err != nil || !bytes.Contains(data, []byte("'after'")) {
		t.Errorf("the workspace has %q, %v", data, err)
	}
}

func TestFaultsAreEvidence(t *testing.T) {
	t.Parallel()
	src := componenttest.Tree(t, `
-- fatal/fatal.php --
<?php
/* Plugin Name: Fatal */
undefined_function_of_the_plugin();
-- noheader/noheader.php --
<?php
-- quits/quits.php --
<?php
/* Plugin Name: Quits */
exit( 0 );
-- good/good.php --
<?php
/* Plugin Name: Good */
`)
	var cs []component.Contract
	for _, slug := range []string{"fatal", "noheader", "quits", "good"} {
		cs = append(cs, component.Contract{Slug: slug, Path: src + "/" + slug, LoadAs: "plugin", Activate: true})
	}
	s := setup(t, component.Request{Components: cs})
	b := s.boot(t)
	want := map[string]string{
		"fatal":    "php_error Error: Call to undefined function undefined_function_of_the_plugin()",
		"noheader": "no_plugin_header",
		"quits":    "php_exited",
		"good":     "",
	}
	for _, r := range s.res.Components {
		text := ""
		if len(r.Failures) > 0 {
			text = r.Failures[0].Code + " " + r.Failures[0].Message
		}
		if w := want[r.Slug]; !strings.HasPrefix(text, w) || (w == "") != (r.ActivationStatus == codebox.ActivationActivated) {
			t.Errorf("%s: %s %q, want %q", r.Slug, r.ActivationStatus, text, w)
		}
	}
	if len(b.Runs) < 2 {
		t.Errorf("%d runs of PHP", len(b.Runs))
	}
	if got := s.php(t, `return get_option( 'active_plugins' );`); got != `["good/good.php"]` {
		t.Errorf("active: %s", got)
	}
}

func TestBrokenSubstrate(t *testing.T) {
	t.Parallel()
	src := componenttest.Tree(t, `
-- broken/broken.php --
<?php
this is not PHP
`)
	s := setup(t, component.Request{Components: []component.Contract{{Slug: "broken", Path: src + "/broken"}}})
	b, err := s.Boot(t.Context(), s.run, s.res.Components)
	if !errors.Is(err, wordpress.ErrBoot) || !strings.Contains(err.Error(), "component broken") {
		t.Errorf("got %v", err)
	}
	s.valid(t)
	if r := s.res.Components[0]; r.Status != codebox.ComponentFailed || r.ActivationStatus != codebox.ActivationNotApplicable || r.Failures[0].Phase != codebox.ComponentPhaseLoad || !strings.Contains(r.Failures[0].Message, "broken.php:2") {
		t.Errorf("record: %+v", r)
	}
	if len(b.Runs) != 1 || !bytes.Contains(b.Runs[0].Output.Stderr, []byte("Parse error")) && !bytes.Contains(b.Runs[0].Output.Stderr, []byte("syntax error")) {
		t.Errorf("evidence: %+v", b.Runs)
	}
}

func TestEndsOfCode(t *testing.T) {
	t.Parallel()
	s := setup(t, component.Request{})
	for name, c := range map[string]struct{ code, status, message string }{
		"value":       {`<?php return array( 'a' => 1.5, 'b' => "\u{e9}" );`, wordpress.StatusOK, `{"a":1.5,"b":"é"}`},
		"nothing":     {`$x = 1;`, wordpress.StatusOK, `null`},
		"noise":       {`echo str_repeat( "noise\n", 100000 ); return 1;`, wordpress.StatusOK, `1`},
		"buffered":    {`ob_start(); echo 'kept'; return 1;`, wordpress.StatusOK, `1`},
		"exception":   {`throw new RuntimeException( 'no' );`, wordpress.StatusError, "RuntimeException: no"},
		"parse error": {`return (;`, wordpress.StatusError, "ParseError"},
		"wp error":    {`return new WP_Error( 'denied', 'not you' );`, wordpress.StatusError, "denied: not you"},
		"fatal":       {`ini_set( 'memory_limit', '64M' ); $a = str_repeat( 'x', 1 << 30 );`, wordpress.StatusFatal, "Allowed memory size"},
		"exit":        {`exit( 0 );`, wordpress.StatusExited, ""},
		"wp_die":      {`wp_die( 'dead' );`, wordpress.StatusExited, ""},
		"killed":      {`posix_kill( getmypid(), SIGKILL );`, wordpress.StatusNone, ""},
		"forged":      {`register_shutdown_function( function () { exit( 3 ); } ); return 1;`, wordpress.StatusExited, ""},
		"not JSON":    {`return fopen( 'php://memory', 'r' );`, wordpress.StatusError, "JsonException"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := s.do(t, s.PHP(wordpress.PHP{Code: c.code}))
			got := string(res.Value)
			if res.Error != nil {
				got = res.Error.String()
			}
			if res.Status != c.status || !strings.Contains(got, c.message) {
				t.Errorf("got %s %s\n%s", res.Status, got, res.Output.Stderr)
			}
			if bytes.Contains(res.Output.Stdout, []byte("deed-result-")) {
				t.Error("deed's own line is left in the output")
			}
			if name == "buffered" && !bytes.Contains(res.Output.Stdout, []byte("kept")) {
				t.Error("buffered output is lost")
			}
		})
	}
}

func TestEndlessCodeIsStopped(t *testing.T) {
	t.Parallel()
	s := setup(t, component.Request{})
	run := componenttest.Contained(t, s.Mounts(), time.Second)
	res, err := s.PHP(wordpress.PHP{Code: `while ( true );`}).Do(t.Context(), run)
	if err != nil || res.Status != wordpress.StatusNone || !res.Output.TimedOut {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestAbilities(t *testing.T) {
	t.Parallel()
	src := componenttest.Tree(t, `
-- abilities/abilities.php --
<?php
class Fake_Ability {
	public function execute( $input ) {
		return current_user_can( 'manage_options' ) ? array( 'hello' => $input['name'] ) : new WP_Error( 'forbidden', 'no' );
	}
}
function wp_get_ability( $name ) { return 'demo/hello' === $name ? new Fake_Ability() : null; }
-- abilities/file.php --
<?php
return function ( $input ) { return strlen( $input['text'] ); };
`)
	s := setup(t, component.Request{Components: []component.Contract{{Slug: "abilities", Path: src + "/abilities"}}})
	if b := s.boot(t); !b.Abilities {
		t.Error("the Abilities API is not seen")
	}
	if res := s.do(t, s.Ability("demo/hello", json.RawMessage(`{"name":"you"}`))); string(res.Value) != `{"hello":"you"}` {
		t.Errorf("got %+v", res)
	}
	if res := s.do(t, s.Ability("demo/none", nil)); res.Status != wordpress.StatusError || res.Error.Code != "ability_not_found" {
		t.Errorf("got %+v", res)
	}
	file := s.res.MUPlugins[0].Target + "/file.php"
	if res := s.do(t, s.AbilityFile(file, json.RawMessage(`{"text":"four"}`))); string(res.Value) != `4` {
		t.Errorf("got %+v", res)
	}
}

func TestRefusedSites(t *testing.T) {
	t.Parallel()
	base := wordpresstest.Options(t)
	cache, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	base.Cache = filepath.Join(cache, "unpacked")
	plugin := t.TempDir()
	for name, change := range map[string]func(*wordpress.Options){
		"no archive":     func(o *wordpress.Options) { o.Archive = "" },
		"absent archive": func(o *wordpress.Options) { o.Archive += ".none" },
		"not WordPress":  func(o *wordpress.Options) { o.Archive = o.SQLite },
		"no SQLite":      func(o *wordpress.Options) { o.SQLite = "" },
		"not SQLite":     func(o *wordpress.Options) { o.SQLite = o.Archive },
		"other version":  func(o *wordpress.Options) { o.Version = "6.9" },
		"over core": func(o *wordpress.Options) {
			o.Mounts = []component.Mount{{Source: plugin, Target: "/wordpress/wp-includes"}}
		},
		"over the database": func(o *wordpress.Options) {
			o.Mounts = []component.Mount{{Source: plugin, Target: "/wordpress/wp-content/database"}}
		},
		"over the loader": func(o *wordpress.Options) {
			o.Mounts = []component.Mount{{Source: plugin, Target: "/wordpress/wp-content/mu-plugins"}}
		},
		"over deed's way in": func(o *wordpress.Options) {
			o.Mounts = []component.Mount{{Source: plugin, Target: "/run/deed/wordpress"}}
		},
		"climbing": func(o *wordpress.Options) {
			o.Mounts = []component.Mount{{Source: plugin, Target: "/wordpress/wp-content/plugins/../../x"}}
		},
		"nested": func(o *wordpress.Options) {
			o.Mounts = []component.Mount{{Source: plugin, Target: "/wordpress/wp-content/plugins/a"}, {Source: plugin, Target: "/wordpress/wp-content/plugins/a/b"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base
			o.Dir = t.TempDir()
			change(&o)
			_, err := wordpress.Prepare(t.Context(), o)
			if failure.ClassOf(err) != failure.Config {
				t.Fatalf("got %v", err)
			}
			if left, _ := os.ReadDir(o.Dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// TestPreparedAtOnce unpacks one archive by several runs at the same time.
func TestPreparedAtOnce(t *testing.T) {
	t.Parallel()
	o := wordpresstest.Options(t)
	dir := t.TempDir()
	o.Cache = filepath.Join(dir, "cache")
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			mine := o
			mine.Dir = filepath.Join(dir, string(rune('a'+i)))
			if _, err := wordpress.Prepare(t.Context(), mine); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(mine.Dir, "unpacked")); err == nil {
				t.Error("an unpacked archive is left")
			}
		})
	}
	wg.Wait()
	if list, err := os.ReadDir(o.Cache); err != nil || len(list) != 1 {
		t.Errorf("the cache has %v, %v", list, err)
	}
}

func TestParsePHP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want wordpress.PHP
		bad  bool
	}{
		{args: []string{"code=return 1 == 2;"}, want: wordpress.PHP{Code: "return 1 == 2;"}},
		{args: []string{"code-file=/workspace/a.php", "--", "code=x"}, want: wordpress.PHP{File: "/workspace/a.php", Args: []string{"code=x"}}},
		{args: nil, bad: true},
		{args: []string{"code= "}, bad: true},
		{args: []string{"code=1", "code-file=/a"}, bad: true},
		{args: []string{"code=1", "code=2"}, bad: true},
		{args: []string{"code-file=a.php"}, bad: true},
		{args: []string{"file=/a.php"}, bad: true},
	} {
		got, err := wordpress.ParsePHP(c.args)
		if (err != nil) != c.bad {
			t.Errorf("%q: %v", c.args, err)
		}
		if diff := cmp.Diff(c.want, got); err == nil && diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
}
