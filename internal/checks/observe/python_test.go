package observe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

const howPytest = "apt-get install python3-pytest"

var pytestProject = map[string]string{
	"Makefile": ".PHONY: test\ntest:\n\t/usr/bin/python3 -m pytest -q\n",
	"tests/test_a.py": `import pytest, subprocess, sys, unittest

def test_good(): pass

def test_bad(): assert False, 'no'

@pytest.mark.skip(reason='later')
def test_off(): pass

@pytest.mark.xfail
def test_expected(): assert False

@pytest.mark.parametrize('x', ['a', 'b::c', 'd/e.py'])
def test_each(x): assert x != 'a'

@pytest.fixture
def broken(): raise RuntimeError('fixture')

@pytest.fixture
def late():
    yield
    raise RuntimeError('teardown')

def test_setup(broken): pass
def test_teardown(late): pass
def test_nested(tmp_path):
    (tmp_path / 'test_inner.py').write_text('def test_inner(): assert False')
    assert subprocess.run([sys.executable, '-m', 'pytest', str(tmp_path)], stdout=subprocess.DEVNULL).returncode == 1

class TestClass:
    class TestInner:
        def test_deep(self): pass

class Case(unittest.TestCase):
    def test_case(self): pass
`,
	"tests/sub/test_b.py":      "def test_good(): pass\n",
	"tests/sub/test_broken.py": "import nosuchmodule\n",
}

// TestPytestNames holds the names against those of pytest's JUnit XML, which `deed test` reads.
func TestPytestNames(t *testing.T) {
	t.Parallel()
	needs(t, howPytest, "/usr/bin/python3", "-m", "pytest", "--version")
	p := newProject(t, pytestProject)
	for _, args := range []string{"", " --continue-on-collection-errors"} {
		p.plain(t, "/usr/bin/python3 -m pytest -q --junitxml=report.xml"+args)
		f, err := os.Open(filepath.Join(p.dir, "report.xml"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := testreport.Parse(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		want.Locate(p.dir)
		r, seen := p.observed(t, "/usr/bin/python3 -m pytest -q"+args)
		if diff := cmp.Diff(results(want.Cases), results(seen.Cases)); diff != "" {
			t.Errorf("the names differ: %s\n%s%s", diff, r.stdout, r.stderr)
		}
		if diff := cmp.Diff([]string{"pytest"}, seen.Runners); diff != "" || len(seen.Faults) > 0 {
			t.Errorf("runners %s, faults %q", diff, seen.Faults)
		}
		if plain := p.plain(t, "/usr/bin/python3 -m pytest -q"+args); plain.code != r.code || r.code == 0 {
			t.Errorf("ended with %d, and unobserved with %d", r.code, plain.code)
		}
	}
}

func TestPytestBehind(t *testing.T) {
	t.Parallel()
	needs(t, howPytest, "/usr/bin/python3", "-m", "pytest", "--version")
	p := newProject(t, map[string]string{
		"Makefile":    ".PHONY: test\ntest:\n\ttrue && /usr/bin/python3 -m pytest -q\n",
		"test_a.py":   "def test_good(): pass\n",
		"conftest.py": "import os\nif os.environ.get('LEAVE'): os._exit(0)\n",
		"test_b.py":   "import os\ndef test_leaves():\n    if os.environ.get('LEAVE_LATER'): os._exit(0)\ndef test_after(): pass\n",
		"test_c.py":   "import os, pytest\ndef test_gives_up():\n    if os.environ.get('GIVE_UP'): pytest.exit('enough', returncode=0)\n",
	})
	all := []string{"passed test_a::test_good", "passed test_b::test_after", "passed test_b::test_leaves", "passed test_c::test_gives_up"}
	for _, c := range []struct {
		line   string
		want   []string
		faults int
	}{
		{"true && make test", all, 0},
		{"LEAVE=1 make test", nil, 1},
		{"LEAVE_LATER=1 make test", []string{"failed test_b::test_leaves", "passed test_a::test_good"}, 1},
		{"GIVE_UP=1 make test", []string{"failed test_c::test_gives_up", "passed test_a::test_good", "passed test_b::test_after", "passed test_b::test_leaves"}, 1},
		{"/usr/bin/python3 -m pytest --version", nil, 0},
		{"/usr/bin/python3 -m pytest --no-such-option", nil, 0},
		{"/usr/bin/python3 -I -m pytest -q", nil, 0}, // in isolation nothing is observed, and nothing breaks
		{"PYTHONPATH= /usr/bin/python3 -m pytest -q", nil, 0},
	} {
		r, seen := p.observed(t, c.line)
		if diff := cmp.Diff(c.want, results(seen.Cases)); diff != "" {
			t.Errorf("%s: %s\n%s%s", c.line, diff, r.stdout, r.stderr)
		}
		if len(seen.Faults) != c.faults {
			t.Errorf("%s: faults are %q", c.line, seen.Faults)
		}
	}
}

func TestPytestWorkers(t *testing.T) {
	t.Parallel()
	needs(t, "apt-get install python3-pytest-xdist", "/usr/bin/python3", "-c", "import xdist")
	p := newProject(t, pytestProject)
	_, alone := p.observed(t, "/usr/bin/python3 -m pytest -q --continue-on-collection-errors -p no:xdist")
	r, workers := p.observed(t, "/usr/bin/python3 -m pytest -q --continue-on-collection-errors -n 2")
	if diff := cmp.Diff(results(alone.Cases), results(workers.Cases)); diff != "" || len(workers.Faults) > 0 {
		t.Errorf("workers report other tests: %s %q\n%s%s", diff, workers.Faults, r.stdout, r.stderr)
	}
}

func TestTox(t *testing.T) {
	t.Parallel()
	needs(t, "apt-get install tox", "tox", "--version")
	needs(t, howPytest, "/usr/bin/python3", "-m", "pytest", "--version")
	p := newProject(t, map[string]string{
		"tox.ini":   "[tox]\nenv_list = py\n[testenv]\nskip_install = true\nallowlist_externals = /usr/bin/python3\ncommands = /usr/bin/python3 -m pytest -q\n",
		"test_a.py": "def test_good(): pass\ndef test_bad(): assert False\n",
	})
	r, seen := p.observed(t, "tox")
	if diff := cmp.Diff([]string{"failed test_a::test_bad", "passed test_a::test_good"}, results(seen.Cases)); diff != "" || len(seen.Faults) > 0 {
		t.Errorf("%s %q\n%s%s", diff, seen.Faults, r.stdout, r.stderr)
	}
}

var unittestProject = map[string]string{
	"test_a.py": `import unittest

class A(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.fail('no')
    def test_error(self): raise RuntimeError('no')
    @unittest.skip('later')
    def test_off(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass

class B(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError('class')
    def test_never(self): pass

if __name__ == '__main__':
    unittest.main()
`,
	"test_broken.py": "import nosuchmodule\n",
}

// TestUnittestNames holds the names against those of the runner of `deed test`.
func TestUnittestNames(t *testing.T) {
	t.Parallel()
	needs(t, "python.org", "python3", "--version")
	p := newProject(t, unittestProject)
	script, err := filepath.Abs("../extension/builtin/python/scripts/unittests.py")
	if err != nil {
		t.Fatal(err)
	}
	p.plain(t, "python3 "+script+" report.tap discover")
	f, err := os.Open(filepath.Join(p.dir, "report.tap"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	want, err := testreport.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	want.Locate(p.dir)
	for _, line := range []string{"python3 -m unittest", "true && python3 -m unittest discover -v", "python3 test_a.py"} {
		r, seen := p.observed(t, line)
		names := results(want.Cases)
		if strings.HasSuffix(line, ".py") { // which has the tests of that file
			names = names[:0:0]
			for _, n := range results(want.Cases) {
				if !strings.Contains(n, "[load]") {
					names = append(names, n)
				}
			}
		}
		if diff := cmp.Diff(names, results(seen.Cases)); diff != "" {
			t.Errorf("%s: the names differ: %s\n%s%s", line, diff, r.stdout, r.stderr)
		}
		if diff := cmp.Diff([]string{"unittest"}, seen.Runners); diff != "" || len(seen.Faults) > 0 {
			t.Errorf("%s: runners %s, faults %q", line, diff, seen.Faults)
		}
		if r.code != 1 {
			t.Errorf("%s: ended with %d", line, r.code)
		}
	}
}

func TestUnittestBehind(t *testing.T) {
	t.Parallel()
	needs(t, "python.org", "python3", "--version")
	p := newProject(t, map[string]string{
		"tests/__init__.py": "",
		"tests/test_a.py": `import os, sys, unittest
class A(unittest.TestCase):
    def test_1(self): pass
    def test_2(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, int(os.environ.get('WRONG', 9)))
    def test_3(self):
        if os.environ.get('LEAVE'): os._exit(0)
if __name__ == '__main__': unittest.main()
`,
		"path/sitecustomize.py": "import os\nos.environ['FROM_SITE'] = 'yes'\n",
		"plain.py":              "import os, sys, sitecustomize\nprint(os.environ.get('FROM_SITE'), sitecustomize.__file__.split('/')[-2], sys.stdin.read())\n",
	})
	all := []string{"passed tests.test_a.A.test_1", "passed tests.test_a.A.test_2", "passed tests.test_a.A.test_3"}
	for _, c := range []struct {
		line   string
		want   []string
		faults int
	}{
		{"python3 -m unittest", all, 0},
		{"python3 tests/test_a.py", all, 0},
		{"python3 -m tests.test_a", all, 0},
		{"WRONG=1 python3 -m unittest", []string{all[0], "failed tests.test_a.A.test_2", all[2]}, 0},
		{"LEAVE=1 python3 tests/test_a.py", []string{all[0], all[1], "failed tests.test_a.A.test_3"}, 1},
		{"python3 plain.py", nil, 0},
		{"python3 -m unittest tests.test_a.A.test_1; cd tests; python3 -m unittest test_a.A.test_1", []string{all[0], "passed test_a.A.test_1"}, 0},
	} {
		r, seen := p.observed(t, c.line)
		if diff := cmp.Diff(results(nil), c.want); c.want == nil && len(seen.Cases) > 0 {
			t.Errorf("%s: %s", c.line, diff)
		} else if got := strings.Join(results(seen.Cases), "\n"); got != strings.Join(sortedLines(c.want), "\n") {
			t.Errorf("%s: %s\n%s%s", c.line, got, r.stdout, r.stderr)
		}
		if len(seen.Faults) != c.faults {
			t.Errorf("%s: faults are %q", c.line, seen.Faults)
		}
	}
	p.env["PYTHONPATH"] = filepath.Join(p.dir, "path")
	if r, _ := p.observed(t, "python3 plain.py"); r.stdout != "yes path typed\n\n" {
		t.Errorf("the project's own sitecustomize was not run as ever: %q %s", r.stdout, r.stderr)
	}
	needs(t, "apt-get install python3-venv", "python3", "-m", "venv", "--without-pip", filepath.Join(p.dir, "venv"))
	if r, seen := p.observed(t, "venv/bin/python -m unittest"); strings.Join(results(seen.Cases), "\n") != strings.Join(all, "\n") {
		t.Errorf("in a virtual environment: %+v\n%s%s", seen, r.stdout, r.stderr)
	}
}
