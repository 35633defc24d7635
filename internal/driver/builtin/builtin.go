// Package builtin owns the list of drivers that deed is built with, and nothing else.
package builtin

import (
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/driver/script"
)

// Drivers returns the set of all built-in drivers.
func Drivers() driver.Set {
	return driver.NewSet(script.New())
}

// For returns the built-in driver of a kind; a kind without one is an error of class failure.Config that names what
// there is.
func For(kind string) (driver.Driver, error) { return Drivers().For(kind) }
