package ability

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt/component"
)

// maxDeclaration bounds a component's declaration of abilities.
const maxDeclaration = 1 << 20

// An Offer is an ability with the component that declares it.
type Offer struct {
	Component component.Plugin
	Ability   deed.Ability

	input, output *schema.Payload // nil: anything
}

// Offered lists what the components declare, in their order. A declaration that is not valid, a file that is not
// there, and a name that two components offer are errors: which of two was meant would be a guess.
func Offered(components []component.Plugin) ([]Offer, error) {
	var all []Offer
	owner := map[string]string{}
	for _, c := range components {
		list, err := declared(c)
		if err != nil {
			return nil, fmt.Errorf("abilities of component %s: %s: %w", c.Slug, component.AbilitiesFile, err)
		}
		for _, o := range list {
			if other, taken := owner[o.Ability.Name]; taken {
				return nil, fmt.Errorf("the ability %q is offered by the components %s and %s (leave one of them out)", o.Ability.Name, other, c.Slug)
			}
			owner[o.Ability.Name] = c.Slug
			all = append(all, o)
		}
	}
	return all, nil
}

// declared reads a component's declaration from its prepared copy.
func declared(c component.Plugin) ([]Offer, error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(component.AbilitiesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDeclaration+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDeclaration {
		return nil, fmt.Errorf("it has more than %d bytes", maxDeclaration)
	}
	d, err := schema.Decode[deed.Abilities](deed.SchemaAbilities, data)
	if err != nil {
		return nil, err
	}
	out := make([]Offer, 0, len(d.Abilities))
	for _, a := range d.Abilities {
		o := Offer{Component: c, Ability: a}
		if err := o.compile(root); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// compile reads the schemas of an ability and makes sure that its file is there.
func (o *Offer) compile(root *os.Root) (err error) {
	file := o.Ability.PHP
	if len(o.Ability.Command) > 0 && strings.Contains(o.Ability.Command[0], "/") {
		file = o.Ability.Command[0]
	}
	if file != "" {
		if fi, err := root.Stat(file); err != nil || !fi.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file of the component", file)
		}
	}
	if len(o.Ability.InputSchema) > 0 {
		if o.input, err = schema.CompilePayload(o.Ability.InputSchema); err != nil {
			return fmt.Errorf("input_schema: %w", err)
		}
	}
	if len(o.Ability.OutputSchema) > 0 {
		if o.output, err = schema.CompilePayload(o.Ability.OutputSchema); err != nil {
			return fmt.Errorf("output_schema: %w", err)
		}
	}
	return nil
}
