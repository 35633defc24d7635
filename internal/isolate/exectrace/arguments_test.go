package exectrace

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// scriptSummary describes in a few characters what an interpreter is asked to execute.
func scriptSummary(line string) string {
	argv := strings.Fields(line)
	var list []string
	for _, s := range scripts(argv[0], argv) {
		text := s.path
		switch {
		case s.module:
			text = "module " + text
		case s.stdin:
			text = "stdin"
		case len(s.anyOf) > 0:
			text = "any of " + strings.Join(s.anyOf, " ")
		}
		list = append(list, join(s.dir, text))
	}
	return strings.Join(list, ", ")
}

func TestScripts(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"cat x.sh": "", "go test": "", "true": "",

		"sh x.sh -c y": "x.sh", "sh": "stdin", "sh -": "stdin", "sh - x.sh": "x.sh", "sh -- x.sh": "x.sh", "sh -c x.sh": "", "bash -ec x.sh": "", "sh -ce x.sh y.sh": "",
		"bash -eo pipefail x.sh": "x.sh", "bash -o errexit -O extglob x.sh": "x.sh", "bash +O extglob +e x.sh": "x.sh", "bash --norc --rcfile a x.sh": "x.sh", "sh -s x.sh": "stdin",
		"bash -euo pipefail -c x": "", "zsh -f x.zsh": "x.zsh", "-bash x.sh": "x.sh", "bash5.2 x": "x", "sh -e": "stdin", "sh -c": "", "bash -oc": "", "bash --": "stdin",

		"python3 -u ci/check.py -m x": "ci/check.py", "python -m pytest -c x.py": "module pytest", "python3.11 -Bum ci.check": "module ci.check", "python3 -mci.check": "module ci.check",
		"python -c import x.py": "", "python -cx y.py": "", "python -W error -Xdev -X importtime x.py": "x.py", "python -": "stdin", "python -u": "stdin", "python -i x.py": "x.py", "python -m": "",
		"python --check-hash-based-pycs never x.py": "x.py", "pypy3 x.py": "x.py",

		"node x.js --require y": "x.js", "node -r ./a.js --import=./b.mjs --loader c x.js": "./a.js, ./b.mjs, c, x.js", "node -e 1 x.js": "", "node -pe 1": "", "node --eval=1 x.js": "", "node": "stdin",
		"node --test --test-reporter tap x.js": "x.js", "node --max-old-space-size=1 --conditions dev -C x y.js": "y.js", "node inspect x.js": "x.js", "nodejs -- x": "x", "node --run test x": "",

		"bun run x.ts": "x.ts", "bun x.ts": "x.ts", "deno run -A -c deno.json x.ts": "x.ts", "tsx x.ts": "x.ts",
		"php x.php": "x.php", "php8.2 -d a=b -c d -f x.php y": "x.php", "php -r 1 x.php": "", "php -S localhost:1 -t docs x.php": "x.php", "php --file=x.php": "x.php", "php -- x": "x",
		"perl -w -Ilib -I lib -Mstrict x.pl": "x.pl", "perl -e 1 x.pl": "", "perl -lane 1 x": "", "perl -pi.bak x.pl": "x.pl", "perl -0777 -i -T x.pl": "x.pl", "perl": "stdin",
		"ruby -w -r./a -Ilib -C sub x.rb": "sub/./a, sub/x.rb", "ruby -e 1 x": "", "ruby --encoding utf-8 x.rb": "x.rb", "lua -l a -e 1 x.lua": "x.lua", "tclsh -encoding utf-8 x.tcl": "x.tcl",
		"expect -d -f x.exp": "x.exp", "Rscript --vanilla x.R": "x.R", "julia --project -t auto -L a.jl x.jl": "a.jl, x.jl", "pwsh -NoProfile -File x.ps1 -c y": "x.ps1", "pwsh -Command x": "", "pwsh x.ps1": "x.ps1",
		"awk -F , -v a=b -f x.awk -fy.awk z": "x.awk, y.awk", "awk x y": "", "gawk --file=x.awk y": "x.awk", "sed -n -f x.sed y": "x.sed", "sed -i s/a/b/ y": "", "sed -e 1 y": "",

		"make": "any of GNUmakefile makefile Makefile", "make test": "any of GNUmakefile makefile Makefile", "make -j 4 -C sub -kf x.mk test": "sub/x.mk", "gmake -fx.mk --makefile y.mk": "x.mk, y.mk",
		"make -C a --directory=b -C /c": "/c/any of GNUmakefile makefile Makefile", "make -- test": "any of GNUmakefile makefile Makefile", "make -j": "any of GNUmakefile makefile Makefile",

		"busybox sh -e x.sh": "x.sh", "busybox": "", "busybox /bin/ash x": "x", "busybox ls": "",
	} {
		if got := scriptSummary(line); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// names lists the names of all interpreters.
func names() []string {
	list := []string{"busybox", "cat"}
	for _, in := range interpreters {
		list = append(list, in.names...)
	}
	return list
}

// TestScriptsHold gives interpreters any arguments. What they are asked to execute is one of these, or the end of one.
func TestScriptsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		argument := rapid.OneOf(rapid.SampledFrom([]string{"-c", "-", "--", "-m", "-f", "-e", "x.sh", "--file=x", "-eo", "run", "+O", "-C", "--require", "-Bum"}), rapid.String())
		name := rapid.SampledFrom(names()).Draw(t, "name")
		argv := append([]string{name}, rapid.SliceOfN(argument, 0, 8).Draw(t, "argv")...)
		holds(t, name, argv)
	})
}

type fatal interface{ Fatalf(string, ...any) }

func holds(t fatal, name string, argv []string) {
	before := slices.Clone(argv)
	found := scripts(name, argv)
	if !slices.Equal(before, argv) {
		t.Fatalf("%q: the arguments were changed to %q", before, argv)
	}
	if len(found) > len(argv) {
		t.Fatalf("%q: %d scripts", argv, len(found))
	}
	for _, s := range found {
		given := slices.ContainsFunc(argv, func(a string) bool { return strings.HasSuffix(a, s.path) })
		if s.path == "" != (s.stdin || len(s.anyOf) > 0) || !given {
			t.Fatalf("%q: got %+v", argv, s)
		}
	}
}

// TestOptionsBeforeAScript puts options that mean nothing here before a script, which stays the same one.
func TestOptionsBeforeAScript(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{
		"sh": {"-e", "-u", "-eu", "-o errexit", "+x"}, "python3": {"-u", "-B", "-W error", "-Xdev", "-OO"}, "node": {"--test", "--no-warnings", "-C dev", "--title x"},
		"php": {"-n", "-q", "-d a=b", "-c x"}, "perl": {"-w", "-T", "-I lib", "-Mstrict"}, "ruby": {"-w", "-I lib", "--yjit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				list := rapid.SliceOf(rapid.SampledFrom(options)).Draw(t, "options")
				line := strings.Join(append([]string{name}, append(list, "dir/script", "-c", "x")...), " ")
				if got := scriptSummary(line); got != "dir/script" {
					t.Fatalf("%s: got %q", line, got)
				}
			})
		})
	}
}

func FuzzScripts(f *testing.F) {
	f.Add("sh -ec x\x00y")
	f.Add("python3\x00-m\x00x")
	f.Add("make\x00-C\x00a\x00-f\x00b")
	f.Add("busybox\x00busybox\x00sh")
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, "\x00")
		holds(t, argv[0], argv)
	})
}
