package store_test

import (
	"fmt"

	"hutch/store"
)

func ExampleStore() {
	s := store.New(2)
	s.Set("tea", "green", 0)
	s.Set("cake", "plum", 0)
	s.Get("tea")
	s.Set("jam", "quince", 0)
	fmt.Println(s.Keys(""))
	// Output: [jam tea]
}
