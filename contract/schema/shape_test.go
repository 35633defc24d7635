package schema

import (
	"reflect"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/schema/internal/catalog"
)

// Every type below every record has a form here, and members that the decoder can read: a document that names them for the first time
// is no place to find out. Several readers at once see each shape whole.
func TestEveryShape(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			seen := map[reflect.Type]bool{}
			for _, r := range catalog.Records {
				walkShape(shapeOf(r.Type), seen)
			}
			if len(seen) < len(catalog.Records) {
				t.Errorf("%d types below %d records", len(seen), len(catalog.Records))
			}
		})
	}
	wg.Wait()
}

func walkShape(s *shape, seen map[reflect.Type]bool) {
	if seen[s.typ] {
		return
	}
	seen[s.typ] = true
	switch s.form {
	case list, table:
		walkShape(s.entry, seen)
	case union:
		for _, m := range s.union.Members {
			walkShape(shapeOf(m.Type), seen)
		}
	case object:
		for _, m := range s.members().fields {
			walkShape(m.shape, seen)
			if m.holds != nil {
				walkShape(m.holds, seen)
			}
		}
	}
}
