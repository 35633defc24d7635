package repolint

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// The cases of the package contract are numbered, and each has a test that says its number: in a comment (edge case 20, cases 7
// and 8) or at the beginning of the name of a row ("48 empty stdout").
const packageCases = 119

// caseFiles are where those tests are. Other contracts have numbers of their own.
var caseFiles = []string{
	"internal/agent/runtimepkg/*_test.go", "internal/compat/homeboy/outcome/*_test.go", "internal/compat/homeboy/fanout/*_test.go", "internal/compat/homeboy/fanoutrun/*_test.go", "internal/compat/homeboy/packaged/*_test.go",
	"internal/attempt/packaged_test.go", "internal/compat/homeboy/conform/*_test.go", "internal/engine/promote/*_test.go", "internal/base/config/runtimes_test.go", "internal/repolint/backends_test.go",
	"internal/store/storetest/fanout*.go", "internal/cli/fanout*_test.go", "internal/cli/runtime*_test.go", "internal/cli/testdata/script/fanout*.txtar",
	"provider/*_test.go", "contract/homeboy/*_test.go", "contract/schema/core_test.go",
}

func TestEveryCaseHasATest(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile(`(?i)(?://|#|").*?\bcases? ((?:\d+(?:, | and |–)?)+)|"(\d{1,3}) [a-z][^"]*":`)
	numbers := regexp.MustCompile(`\d+`)
	have := map[int]bool{}
	for _, pattern := range caseFiles {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range said.FindAllStringSubmatch(string(text), -1) {
				for _, n := range numbers.FindAllString(m[1]+" "+m[2], -1) {
					if i, err := strconv.Atoi(n); err == nil {
						have[i] = true
					}
				}
			}
		}
	}
	for i := 1; i <= packageCases; i++ {
		if !have[i] {
			t.Errorf("case %d: no test says its number", i)
		}
	}
}
