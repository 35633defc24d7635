package runtimepkg

import (
	"fmt"

	"github.com/deedrun/deed/contract/homeboy"
)

// Deprecated is what a resolver says of an id that it took for another one.
type Deprecated struct {
	Schema      string `json:"schema"`
	Alias       string `json:"alias"`
	Replacement string `json:"replacement"`
	Quarantine  string `json:"quarantine"`
	Status      string `json:"status"`
}

func (d *Deprecated) String() string {
	return fmt.Sprintf("%q is a deprecated name of the runtime package %q (use %q)", d.Alias, d.Replacement, d.Replacement)
}

// aliases are ids of the time before packages had canonical ones. The table is deed's: a package cannot add to it, or it
// could stand in for another.
var aliases = map[string]string{"codebox": "wp-codebox"}

// aliasQuarantine is the name under which callers find every use of an alias.
const aliasQuarantine = "legacy-runtime-id-alias"

func aliasOf(id string) *Deprecated {
	to, ok := aliases[id]
	if !ok {
		return nil
	}
	return &Deprecated{Schema: homeboy.SchemaDeprecatedAlias, Alias: id, Replacement: to, Quarantine: aliasQuarantine, Status: homeboy.StatusDeprecated}
}
