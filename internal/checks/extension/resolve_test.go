package extension

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/project"
)

// component writes a component's files and loads it.
func component(t *testing.T, list map[string]string) project.Component {
	t.Helper()
	c, err := project.Load(files(t, t.TempDir(), list))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ids(p Plan) []string {
	var out []string
	for _, e := range p.Extensions {
		out = append(out, e.ID)
	}
	return out
}

// Edge cases 38 and 45: which extension serves a capability, and the error if none does.
func TestResolve(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ext(t, home, "php8", "", "lint", "test")
	ext(t, home, "js", "", "lint")
	ext(t, home, "both", `"composition": {"includes": ["js", "php8"]}`, "lint")
	ext(t, home, "bare", "")
	ext(t, home, "demanding", `"requires": {"homeboy": ">=99"}`, "lint")
	ext(t, home, "modern", `"requires": {"homeboy": ">=0.148", "deed": "^2"}`, "lint")
	files(t, home, map[string]string{"broken/broken.json": "{", "old/old.json": `{"name": "o", "version": "old", "lint": {"extension_script": "x"}}`})
	for name, tc := range map[string]struct {
		homeboy    string
		capability string
		opts       Options
		want       []string
		scripts    []string
		err        any      // a pointer to the error's type
		wantErr    []string // of the error
	}{
		"one":                          {homeboy: `{"extensions": {"php8": {}, "bare": {}}}`, capability: "lint", want: []string{"php8"}},
		"two":                          {homeboy: `{"id": "c", "extensions": {"php8": {}, "js": {}}}`, capability: "lint", err: new(*Ambiguous), wantErr: []string{"lint of c: js and php8", "--extension js", "capability_extensions", "composition.includes"}},
		"two, one of them can":         {homeboy: `{"extensions": {"php8": {}, "js": {}}}`, capability: "test", want: []string{"php8"}},
		"two, and the component says":  {homeboy: `{"extensions": {"php8": {}, "js": {}}, "capability_extensions": {"lint": "php8"}}`, capability: "lint", want: []string{"php8"}},
		"two, and it names a third":    {homeboy: `{"extensions": {"php8": {}, "js": {}}, "capability_extensions": {"lint": "both"}}`, capability: "lint", wantErr: []string{`"both"`, "js, php8"}},
		"one includes the others":      {homeboy: `{"extensions": {"php8": {}, "js": {}, "both": {}}}`, capability: "lint", want: []string{"both"}},
		"--extension":                  {homeboy: `{"extensions": {"php8": {}, "js": {}}}`, capability: "lint", opts: Options{Use: []string{"js"}}, want: []string{"js"}},
		"--extension twice":            {homeboy: `{}`, capability: "lint", opts: Options{Use: []string{"php8", "js", "js"}}, want: []string{"js", "php8"}},
		"--extension of nobody":        {homeboy: `{}`, capability: "lint", opts: Options{Use: []string{"nobody"}}, err: new(*NotInstalled), wantErr: []string{`"nobody"`, home, "--extension PATH"}},
		"--extension without it":       {homeboy: `{}`, capability: "test", opts: Options{Use: []string{"js"}}, err: new(*NotApplicable)},
		"none has it":                  {homeboy: `{"id": "c", "extensions": {"js": {}, "bare": {}}}`, capability: "test", err: new(*NotApplicable), wantErr: []string{"test is not applicable to c", "bare, js"}},
		"none is linked":               {homeboy: `{"id": "c"}`, capability: "test", err: new(*NotApplicable), wantErr: []string{"no extension of its own has it"}},
		"linked and not installed":     {homeboy: `{"extensions": {"nodejs": {}}}`, capability: "lint", err: new(*NotInstalled), wantErr: []string{`"nodejs" is not installed`, home, "--extension node"}},
		"linked and broken":            {homeboy: `{"extensions": {"js": {}, "broken": {}}}`, capability: "lint", wantErr: []string{"broken.json:1:"}},
		"the version":                  {homeboy: `{"extensions": {"js": {"version": "^1.2"}}}`, capability: "lint", want: []string{"js"}},
		"another version":              {homeboy: `{"extensions": {"js": {"version": "^2"}}}`, capability: "lint", err: new(*Unfit), wantErr: []string{"1.2.3", "^2"}},
		"no version":                   {homeboy: `{"extensions": {"old": {"version": "^2"}}}`, capability: "lint", err: new(*Unfit), wantErr: []string{`"old" is not a version`}},
		"a bad constraint":             {homeboy: `{"extensions": {"js": {"version": "newest"}}}`, capability: "lint", err: new(*Unfit), wantErr: []string{"newest"}},
		"a newer host":                 {homeboy: `{"extensions": {"demanding": {}}}`, capability: "lint", err: new(*Unfit), wantErr: []string{"homeboy >=99", ContractVersion}},
		"another deed":                 {homeboy: `{"extensions": {"modern": {}}}`, capability: "lint", opts: Options{Version: "v1.9.0"}, err: new(*Unfit), wantErr: []string{"deed ^2"}},
		"this deed":                    {homeboy: `{"extensions": {"modern": {}}}`, capability: "lint", opts: Options{Version: "v2.1.0"}, want: []string{"modern"}},
		"a build without version":      {homeboy: `{"extensions": {"modern": {}}}`, capability: "lint", opts: Options{Version: "devel"}, want: []string{"modern"}},
		"scripts win":                  {homeboy: `{"extensions": {"js": {}}, "self_checks": {"lint": ["a", "b"]}}`, capability: "lint", scripts: []string{"a", "b"}},
		"scripts of another":           {homeboy: `{"extensions": {"js": {}}, "self_checks": {"test": ["a"]}}`, capability: "lint", want: []string{"js"}},
		"scripts against --extension":  {homeboy: `{"scripts": {"lint": ["a"]}}`, capability: "lint", opts: Options{Use: []string{"js"}}, want: []string{"js"}},
		"scripts cannot fix":           {homeboy: `{"extensions": {"js": {}}, "scripts": {"lint": ["a"]}}`, capability: "lint", opts: Options{NoScripts: true}, want: []string{"js"}},
		"an audit has no script":       {homeboy: `{}`, capability: "audit", wantErr: []string{"audit", "lint, test or build"}},
		"a word that is no capability": {homeboy: `{}`, capability: "tset", wantErr: []string{"tset"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := component(t, map[string]string{project.FileName: tc.homeboy})
			p, err := find(t, Places{Home: home}).Resolve(c, tc.capability, tc.opts)
			if tc.err != nil && !errors.As(err, tc.err) {
				t.Fatalf("err = %T %v", err, err)
			}
			for _, w := range tc.wantErr {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("error lacks %q: %v", w, err)
				}
			}
			if tc.err == nil && tc.wantErr == nil && err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, ids(p)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.scripts, p.Scripts); diff != "" {
				t.Error(diff)
			}
			if err == nil && p.Why == "" {
				t.Error("nobody says why")
			}
		})
	}
}

// An extension of the project's own serves a component that links none; the caller says which directory that is.
func TestResolveOfTheProject(t *testing.T) {
	t.Parallel()
	dir, base := t.TempDir(), t.TempDir()
	ext(t, filepath.Join(dir, ProjectDir), "own", "", "lint")
	c, err := project.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := find(t, Places{Project: ProjectPlaces(dir)}).Resolve(c, "lint", Options{})
	if err != nil || !slices.Equal(ids(p), []string{"own"}) || p.Detected {
		t.Errorf("plan = %+v, %v", p, err)
	}
	var none *NotApplicable
	if _, err := find(t, Places{Project: ProjectPlaces(base)}).Resolve(c, "lint", Options{}); !errors.As(err, &none) {
		t.Errorf("the change brought its own extension: %v", err)
	}
	ext(t, filepath.Join(dir, ProjectDir), "own2", "", "lint")
	var two *Ambiguous
	if _, err := find(t, Places{Project: ProjectPlaces(dir)}).Resolve(c, "lint", Options{}); !errors.As(err, &two) {
		t.Errorf("two of the project's own: %v", err)
	}
}

// Edge case 39: what prevents a script from running is reported before it is run; a path with blanks and quotes is one word.
func TestCommandOfAScript(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "a 'place' $(x)")
	ext(t, place, "good", "", "lint")
	bad := ext(t, place, "bad", "", "lint", "test", "build")
	files(t, place, map[string]string{"gone/gone.json": `{"name": "g", "version": "1", "lint": {"extension_script": "scripts/no.sh"}, "test": {"extension_script": "."}, "build": {"pre_build_script": "no.sh"}}`})
	if err := os.Chmod(filepath.Join(bad, "scripts/lint.sh"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := find(t, Places{Home: place})
	c := component(t, nil)
	good, err := s.Get("good")
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := good.Command(c, "lint", []string{"a b", "$HOME", "it's", ""})
	if err != nil || cmd.Script != filepath.Join(place, "good/scripts/lint.sh") {
		t.Fatalf("cmd = %+v, %v", cmd, err)
	}
	out, err := exec.Command("sh", "-c", cmd.Line).CombinedOutput()
	if err != nil || string(out) != "good lint a b $HOME it's \n" {
		t.Errorf("%q, %v", out, err)
	}
	for _, tc := range []struct{ id, capability, wantErr string }{
		{"bad", "lint", "chmod +x"},
		{"gone", "lint", "scripts/no.sh"},
		{"gone", "test", "is not a file"},
		{"gone", "build", "build.extension_script is missing"},
		{"good", "test", "does not have the capability"},
	} {
		e, err := s.Get(tc.id)
		if err != nil {
			t.Fatal(err)
		}
		var none *NoScript
		if _, err := e.Command(c, tc.capability, nil); !errors.As(err, &none) || !strings.Contains(err.Error(), tc.wantErr) {
			t.Errorf("%s %s: %v", tc.id, tc.capability, err)
		}
		if tc.id == "bad" {
			if _, err := s.Resolve(c, tc.capability, Options{Use: []string{"bad"}}); !errors.As(err, &none) {
				t.Errorf("resolved: %v", err)
			}
		}
	}
	gone, _ := s.Get("gone")
	if _, err := gone.PreBuild(); err == nil {
		t.Error("a pre-build script that is not there")
	}
	if cmd, err := good.PreBuild(); err != nil || cmd.Line != "" {
		t.Errorf("a pre-build script: %+v, %v", cmd, err)
	}
}

// Edge case 40: how a build is started.
func TestCommandOfABuild(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		build string
		files map[string]string // of the component
		want  string            // what it prints
		err   string
	}{
		"sh by default, without +x":   {build: `{"extension_script": "b.sh"}`, want: "extension x y\n"},
		"a template":                  {build: `{"extension_script": "b.sh", "command_template": "env A=1 sh {{script}} {{script}}"}`, want: "extension EXT/b.sh x y\n"},
		"a script of the component":   {build: `{"script_names": ["no.sh", "make it.sh", "later.sh"]}`, files: map[string]string{"make it.sh": "echo component \"$@\""}, want: "component x y\n"},
		"one that looks like a flag":  {build: `{"script_names": ["-x.sh"]}`, files: map[string]string{"-x.sh": "echo flag"}, want: "flag\n"},
		"the extension's comes first": {build: `{"extension_script": "b.sh", "script_names": ["c.sh"]}`, files: map[string]string{"c.sh": "echo component"}, want: "extension x y\n"},
		"a template without a script": {build: `{"command_template": "echo made"}`, want: "made x y\n"},
		"none":                        {build: `{"script_names": ["c.sh", "../out.sh"]}`, err: "none of c.sh"},
		"nothing at all":              {build: `{}`, err: "build.extension_script is missing"},
		"a script that is not there":  {build: `{"extension_script": "gone.sh"}`, err: "gone.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := t.TempDir()
			files(t, place, map[string]string{"e/e.json": `{"name": "e", "version": "1", "build": ` + tc.build + `}`, "e/b.sh": "echo extension \"$@\"", "out.sh": "echo out"})
			c := component(t, tc.files)
			p, err := find(t, Places{Home: place}).Resolve(c, "build", Options{Use: []string{"e"}})
			if tc.err != "" {
				var none *NoScript
				if !errors.As(err, &none) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("err = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd, err := p.Extensions[0].Command(c, "build", []string{"x", "y"})
			if err != nil {
				t.Fatal(err)
			}
			run := exec.Command("sh", "-c", cmd.Line)
			run.Dir = c.Path
			out, err := run.CombinedOutput()
			want := strings.ReplaceAll(tc.want, "EXT", filepath.Join(place, "e"))
			if err != nil || string(out) != want {
				t.Errorf("%s: %q, %v", cmd.Line, out, err)
			}
		})
	}
}

// Edge case 43: extensions in the order of their ids, then the component; what comes before is fatal.
func TestHooks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ext(t, home, "b", `"hooks": {"pre:test": ["b1", "b2"], "post:test": ["b3"]}`, "test")
	ext(t, home, "a", `"hooks": {"pre:test": ["a1"]}`, "test")
	c := component(t, map[string]string{project.FileName: `{"hooks": {"pre:test": ["c1"], "post:version:bump": ["v"]}}`})
	p, err := find(t, Places{Home: home}).Resolve(c, "test", Options{Use: []string{"b", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Hook{{"pre:test", "a", "a1", true}, {"pre:test", "b", "b1", true}, {"pre:test", "b", "b2", true}, {"pre:test", "", "c1", true}}
	if diff := cmp.Diff(want, p.Hooks(c, "pre:test")); diff != "" {
		t.Error(diff)
	}
	if got := p.Hooks(c, "post:test"); len(got) != 1 || got[0].Fatal {
		t.Errorf("post:test = %v", got)
	}
	if got := p.Hooks(c, "post:version:bump"); len(got) != 1 || !got[0].Fatal {
		t.Errorf("post:version:bump = %v", got)
	}
	if got := p.Hooks(c, "post:release"); got != nil {
		t.Errorf("post:release = %v", got)
	}
}

// Edge cases 36 and 37: precedence, types, and text that a shell or JSON would trip over.
func TestSettings(t *testing.T) {
	t.Parallel()
	e := Extension{ID: "e", Manifest: Manifest{Settings: []SettingSpec{
		{ID: "a", Default: json.RawMessage(`1`)}, {ID: "b", Default: json.RawMessage(`[1, 2.50]`)}, {ID: "none"}, {ID: "c", Default: json.RawMessage(`{"x": 1, "y": {"z": 1e3}}`)},
	}}}
	c := component(t, map[string]string{project.FileName: `{"extensions": {"e": {"version": "1", "a": "flat", "flat": true, "n": null, "settings": {"a": ["nested"], "big": 12345678901234567890}}, "other": {"a": 9}}}`})
	bare := component(t, nil)
	for name, tc := range map[string]struct {
		c    project.Component
		set  []Setting
		want string
		err  string
	}{
		"defaults":            {c: bare, want: `{"a":1,"b":[1,2.50],"c":{"x":1,"y":{"z":1e3}}}`},
		"the component":       {c: c, want: `{"a":["nested"],"b":[1,2.50],"big":12345678901234567890,"c":{"x":1,"y":{"z":1e3}},"flat":true,"n":null}`},
		"--setting is a text": {c: bare, set: []Setting{{Key: "a", Value: "2"}, {Key: "b", Value: "[]"}}, want: `{"a":"2","b":"[]","c":{"x":1,"y":{"z":1e3}}}`},
		"JSON wins":           {c: c, set: []Setting{{Key: "a", Value: `{"k":[true]}`, JSON: true}, {Key: "a", Value: "text"}}, want: `{"a":{"k":[true]},"b":[1,2.50],"big":12345678901234567890,"c":{"x":1,"y":{"z":1e3}},"flat":true,"n":null}`},
		"the last one wins":   {c: bare, set: []Setting{{Key: "a", Value: "x"}, {Key: "a", Value: "y"}}, want: `{"a":"y","b":[1,2.50],"c":{"x":1,"y":{"z":1e3}}}`},
		"dots":                {c: bare, set: []Setting{{Key: "c.y.w", Value: "v"}, {Key: "new.deep", Value: "3", JSON: true}, {Key: `x\.y`, Value: ""}}, want: `{"a":1,"b":[1,2.50],"c":{"x":1,"y":{"w":"v","z":1e3}},"new":{"deep":3},"x.y":""}`},
		"quotes and lines":    {c: bare, set: []Setting{{Key: "a", Value: "it's \"q\"\n$(x) <&> \x00"}}, want: `{"a":"it's \"q\"\n$(x) <&> \u0000","b":[1,2.50],"c":{"x":1,"y":{"z":1e3}}}`},
		"into a number":       {c: bare, set: []Setting{{Key: "a.b", Value: "v"}}, err: "a is 1"},
		"an empty part":       {c: bare, set: []Setting{{Key: "a..b", Value: "v"}}, err: "empty"},
		"too much":            {c: bare, set: []Setting{{Key: "a", Value: strings.Repeat("x", maxSettings)}}, err: "bytes"},
	} {
		got, err := e.Settings(tc.c, tc.set)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, tc.want)
		}
	}
	if got, err := (Extension{ID: "e"}).Settings(bare, nil); err != nil || string(got) != "{}" {
		t.Errorf("nothing: %s, %v", got, err)
	}
	for arg, ok := range map[string]bool{"a=1": true, "a=": true, "a.b=x=y": true, "a": false, "=x": false, " =x": false} {
		if _, err := ParseSetting(arg, false); (err == nil) != ok {
			t.Errorf("ParseSetting(%q): %v", arg, err)
		}
	}
	if _, err := ParseSetting("a=text", true); err == nil || !strings.Contains(err.Error(), "--setting") {
		t.Errorf("no JSON: %v", err)
	}
}
