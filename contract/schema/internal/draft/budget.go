package draft

import (
	"errors"
	"strings"
)

// ErrBudget is returned when a Budget is used up.
var ErrBudget = errors.New("it takes more steps than are allowed")

// maxNesting bounds the stack.
const maxNesting = 5_000

// A Budget bounds the work that schemas and values of strangers can ask for: a few hundred bytes of references can ask for 2^35
// evaluations. It is counted down by everything that is done with it. A step takes about a microsecond.
type Budget struct{ left int }

// NewBudget makes a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{left: steps} }

// A stop ends what is under way, however deep it is.
type stop struct{ err error }

// spend takes steps from the budget; nil has no end.
func (b *Budget) spend(steps int) {
	if b == nil {
		return
	}
	if b.left -= steps; b.left < 0 {
		b.left = 0
		panic(stop{ErrBudget})
	}
}

// stopped turns the end of the work into an error.
func stopped(err *error) {
	switch r := recover().(type) {
	case nil:
	case stop:
		*err = r.err
	default:
		panic(r)
	}
}

// expression is what it costs to compile one. Seven characters of a counted repetition can make a thousand instructions.
func expression(text string) int {
	if strings.Contains(text, "{") {
		return 100 * len(text)
	}
	return len(text) / 16
}

// digits is what a number costs: it is made an exact fraction in time by the square of its length.
func digits(text string) int { return 1 + len(text)/32*(len(text)/32) }
