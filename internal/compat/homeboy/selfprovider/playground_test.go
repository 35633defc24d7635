package selfprovider

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/provider"
)

// playgroundBench makes a workspace for wp-playground, with what scripts/setup.sh installed.
func playgroundBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	cache, err := filepath.Abs(filepath.Join("..", "..", "..", "..", ".cache"))
	if err != nil {
		t.Fatal(err)
	}
	modules, archives := filepath.Join(cache, "playground"), filepath.Join(cache, "wordpress")
	for _, dir := range []string{filepath.Join(modules, "node_modules"), archives} {
		if _, err := os.Stat(dir); err != nil {
			t.Skip("missing tool: wp-playground: run scripts/setup.sh")
		}
	}
	b := newBench(t, playgroundModules+"="+modules, playgroundWordPress+"="+archives)
	b.write(t, files)
	return b
}

func (b *bench) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const examplePlugin = `<?php
/* Plugin Name: Example */
register_activation_hook( __FILE__, function () { update_option( 'example_activated', 'yes' ); } );
add_filter( 'example', function ( $text ) { return $text . ' loaded'; } );
function example_answer() { return 'old'; }
`

// One boot shows it all: the plugin is activated and loaded, the work changes the workspace, and nothing of the machine is
// there but what was mounted.
func TestPlayground(t *testing.T) {
	t.Parallel()
	b := playgroundBench(t, map[string]string{"example.php": examplePlugin, "work.php": `<?php
file_put_contents( 'example.php', str_replace( "'old'", "'new'", file_get_contents( 'example.php' ) ) );
echo "said\n";
error_log( 'complained' );
$asked = array();
foreach ( array( 'fsockopen', 'proc_open', 'shell_exec' ) as $name ) {
	$asked[] = function_exists( $name );
}
return array(
	'args' => $argv, 'activated' => get_option( 'example_activated' ), 'filter' => apply_filters( 'example', 'is' ), 'posts' => (int) wp_count_posts()->publish,
	'host' => @file_get_contents( '/etc/passwd' ), 'link' => @file_get_contents( 'link' ), 'up' => @file_get_contents( __DIR__ . '/../../../../../etc/passwd' ),
	'net' => is_wp_error( wp_remote_get( 'http://127.0.0.1:9/' ) ), 'url' => @file_get_contents( 'http://127.0.0.1:9/' ), 'env' => getenv(), 'functions' => $asked,
);
`})
	if err := os.Symlink("/etc/passwd", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	o := b.serve(t.Context(), t, playgroundID, map[string]any{"file": "work.php", "args": []string{"a b", "$HOME"}, "slug": "example", "activate": true}, nil)
	if o.Status != homeboy.Succeeded {
		t.Fatalf("%+v\n%s", o, b.stderr.String())
	}
	var got map[string]any
	if err := json.Unmarshal(o.Outputs["result"], &got); err != nil {
		t.Fatal(err)
	}
	env, _ := got["env"].(map[string]any)
	for name := range env {
		if strings.HasPrefix(name, "WP_PLAYGROUND") || name == "PATH" && strings.Contains(os.Getenv("PATH"), env[name].(string)) {
			t.Errorf("PHP has the variable %s of the machine: %v", name, env[name])
		}
	}
	delete(got, "env")
	want := map[string]any{
		"args": []any{"a b", "$HOME"}, "activated": "yes", "filter": "is loaded", "posts": 1.0, "host": false, "link": false, "up": false,
		"net": true, "url": false, "functions": []any{false, false, false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the result differs (-want +got):\n%s", d)
	}
	if text, err := os.ReadFile(filepath.Join(b.dir, "example.php")); err != nil || !strings.Contains(string(text), "'new'") {
		t.Errorf("the workspace: %s %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(b.artifacts, "stdout.txt")); err != nil || string(text) != "said\n" {
		t.Errorf("stdout: %q %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(b.artifacts, "stderr.txt")); err != nil || !strings.Contains(string(text), "complained") {
		t.Errorf("stderr: %q %v", text, err)
	}
	if left, err := os.ReadDir(tmpOf(b)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// What does not come to its end, or says that it failed, is no success; each ends in one outcome.
func TestPlaygroundThatFails(t *testing.T) {
	t.Parallel()
	type row struct {
		files  map[string]string
		config map[string]any
		change func(q map[string]any)
		says   string
	}
	for name, tt := range map[string]row{
		"exit":        {config: map[string]any{"php": "exit( 3 );"}, says: "PHP ended with 3"},
		"no start":    {files: map[string]string{"m.php": "<?php\n/* Plugin Name: M */\nnot_there();"}, config: map[string]any{"php": "return 1;", "load_as": asMUPlugin}, says: "WordPress did not start"},
		"no ability":  {config: map[string]any{"ability": "demo/none"}, says: "there is no ability demo/none"},
		"time is out": {config: map[string]any{"php": "while ( true ) {}"}, change: func(q map[string]any) { q["limits"] = map[string]any{"timeout_ms": 400} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := playgroundBench(t, tt.files)
			o := b.serve(t.Context(), t, playgroundID, tt.config, tt.change)
			want := homeboy.Failed
			if tt.change != nil {
				want = homeboy.Timeout
			}
			if o.Status != want || !strings.Contains(o.Summary, tt.says) {
				t.Errorf("%+v\n%s", o, b.stderr.String())
			}
		})
	}
}

// An ability is carried out in each form that the contract has for it.
func TestPlaygroundAbility(t *testing.T) {
	t.Parallel()
	b := playgroundBench(t, map[string]string{
		"deed-abilities.json": `{"schema": "deed/abilities/v1", "abilities": [{"name": "demo/greet", "php": "greet.php"}]}`,
		"greet.php":           `<?php return function ( $input ) { return array( 'text' => get_bloginfo( 'name' ) . ' greets ' . $input['name'] ); };`,
	})
	o := b.serve(t.Context(), t, playgroundID, nil, func(q map[string]any) {
		q["runtime_execution"] = map[string]any{"kind": "ability", "ability": "demo/greet", "input": map[string]any{"name": "it's \"you\""}}
	})
	if want := `{"text":"My WordPress Website greets it's \"you\""}`; o.Status != homeboy.Succeeded || string(o.Outputs["result"]) != want {
		t.Errorf("%+v %s\n%s", o, o.Outputs["result"], b.stderr.String())
	}
}

// What cannot be served is refused with its reason, before anything is unpacked or started.
func TestPlaygroundRefuses(t *testing.T) {
	t.Parallel()
	plugin := map[string]string{"p.php": examplePlugin}
	for name, tt := range map[string]struct {
		files  map[string]string
		config map[string]any
		change func(q map[string]any)
		says   string
	}{
		"two things":      {config: map[string]any{"php": "1;", "ability": "a"}, says: "more than one"},
		"a file outside":  {config: map[string]any{"file": "../x.php"}, says: "$.executor.config.file"},
		"no such file":    {config: map[string]any{"file": "x.php"}, says: `has no file "x.php"`},
		"a slug":          {config: map[string]any{"php": "1;", "slug": "../x"}, says: "$.executor.config.slug"},
		"a kind":          {config: map[string]any{"php": "1;", "load_as": "drop-in"}, says: "load_as"},
		"no theme":        {files: plugin, config: map[string]any{"php": "1;", "load_as": asTheme}, says: "is no theme"},
		"no plugin":       {config: map[string]any{"php": "1;", "load_as": asPlugin}, says: "is no plugin"},
		"nothing to load": {config: map[string]any{"php": "1;", "activate": true}, says: "nothing to activate"},
		"another component": {files: plugin, config: map[string]any{"php": "1;"}, says: "component_contracts[1]", change: func(q map[string]any) {
			q["component_contracts"] = []any{map[string]any{"slug": "p", "loadAs": "plugin"}, map[string]any{"slug": "q", "path": "/srv/q"}}
		}},
		"a command": {says: "command_id", change: func(q map[string]any) {
			q["inputs"] = map[string]any{"runtime_command": map[string]any{"task_id": "t1", "runtime_package": map[string]any{"id": playgroundID}, "command_id": "wp-cli"}}
		}},
		"a workflow": {says: "runtime_execution.ability", change: func(q map[string]any) { q["runtime_execution"] = map[string]any{"kind": "workflow"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, playgroundModules+"=/nowhere", playgroundWordPress+"=/nowhere")
			b.write(t, tt.files)
			o := b.serve(t.Context(), t, playgroundID, tt.config, tt.change)
			text, _ := json.Marshal(o)
			if o.FailureClassification != homeboy.ClassInvalidInput || o.Diagnostics[0].Class != provider.DiagnosticRequest || !strings.Contains(string(text), tt.says) && !strings.Contains(o.Summary, tt.says) {
				t.Errorf("%s", text)
			}
		})
	}
	t.Run("nothing to do", func(t *testing.T) {
		t.Parallel()
		if o := newBench(t).serve(t.Context(), t, playgroundID, nil, nil); o.Status != homeboy.NoOp {
			t.Errorf("%+v", o)
		}
	})
	t.Run("not set up", func(t *testing.T) {
		t.Parallel()
		for _, environ := range [][]string{nil, {playgroundModules + "=/nowhere", playgroundWordPress + "=/nowhere"}} {
			o := newBench(t, environ...).serve(t.Context(), t, playgroundID, map[string]any{"php": "1;"}, nil)
			if o.Status != homeboy.ProviderError || o.Diagnostics[0].Class != provider.DiagnosticSetup {
				t.Errorf("%+v", o)
			}
		}
	})
}
