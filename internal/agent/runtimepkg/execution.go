package runtimepkg

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// An Execution is a generic description of what a runtime should carry out.
type Execution struct {
	Kind    string // bundle, workflow, ability or another that the provider knows
	Ability string // named outright: it is used as it stands
}

// ExecutionOf reads a descriptor. Its kind may follow from what it holds.
func ExecutionOf(doc Document) Execution {
	e := Execution{Kind: doc.text("kind"), Ability: doc.text("ability")}
	for _, kind := range []string{"workflow", "bundle", "ability"} {
		if _, there := doc.At(kind); there && e.Kind == "" {
			e.Kind = kind
		}
	}
	return e
}

// kindAbility is direct execution, which names its ability.
const kindAbility = "ability"

// ResolveExecution returns the ability that carries an execution out. An ability that is named outright wins; else the
// provider's contract for the kind says which field of the runtime profile names it. It fails closed.
func ResolveExecution(x homeboy.ExecutorProvider, e Execution, profile Document) (string, error) {
	if e.Kind == "" {
		return "", fmt.Errorf("runtime_execution.kind is missing (name one of: %s)", joinOrNone(kinds(x)))
	}
	c, known := x.RuntimeExecutionContracts[e.Kind]
	if !known {
		return "", fmt.Errorf("provider %q does not carry out runtime_execution.kind %q (it carries out: %s)", x.ID, e.Kind, joinOrNone(kinds(x)))
	}
	if lacks := lacking(x.Capabilities, c.RequiredCapabilities); len(lacks) > 0 {
		return "", fmt.Errorf("runtime_execution.kind %q needs %s, which provider %q does not declare", e.Kind, strings.Join(lacks, ", "), x.ID)
	}
	if e.Ability != "" {
		return e.Ability, nil
	}
	if e.Kind == kindAbility {
		return "", fmt.Errorf("runtime_execution.ability is missing (direct execution names the ability that it means)")
	}
	if a := profile.text(c.AbilityField); a != "" {
		return a, nil
	}
	return "", fmt.Errorf("the runtime profile has no %s, which names the ability for runtime_execution.kind %q", c.AbilityField, e.Kind)
}

func kinds(x homeboy.ExecutorProvider) []string {
	return slices.Sorted(maps.Keys(x.RuntimeExecutionContracts))
}
