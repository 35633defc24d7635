package cli

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/failure"
)

var updateSurface = flag.Bool("update-surface", false, "write the golden lists of what users see")

// Scripts of users name commands, flags, exit codes and schema ids. These lists hold all of them: a line that goes away
// breaks somebody, so a change of them is read like a change of the contract.
func TestSurface(t *testing.T) {
	t.Parallel()
	for name, got := range map[string]string{
		"commands.txt":   commandSurface(),
		"exit-codes.txt": exitCodeSurface(),
		"schemas.txt":    strings.Join(slices.Sorted(slices.Values(schema.IDs())), "\n") + "\n",
	} {
		file := filepath.Join("testdata", "golden", name)
		if *updateSurface {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s is not what users see (-list +now; -update-surface writes it):\n%s", file, diff)
		}
	}
}

func commandSurface() string {
	var b strings.Builder
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		hidden := ""
		if c.Hidden {
			hidden = " (hidden)"
		}
		fmt.Fprintf(&b, "%s%s\n", strings.Join(append([]string{c.CommandPath()}, c.Aliases...), " | "), hidden)
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { writeFlag(&b, f) })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { writeFlag(&b, f) })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).root(nil))
	return b.String()
}

func writeFlag(b *strings.Builder, f *pflag.Flag) {
	fmt.Fprintf(b, "  --%s", f.Name)
	if f.Shorthand != "" {
		fmt.Fprintf(b, " -%s", f.Shorthand)
	}
	fmt.Fprintf(b, " %s", f.Value.Type())
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
		fmt.Fprintf(b, " = %s", f.DefValue)
	}
	if f.Hidden {
		b.WriteString(" (hidden)")
	}
	b.WriteString("\n")
}

func exitCodeSurface() string {
	var b strings.Builder
	for _, code := range slices.Sorted(maps.Keys(failure.ExitNames)) {
		fmt.Fprintf(&b, "%d %s\n", code, failure.ExitNames[code])
	}
	return b.String()
}
