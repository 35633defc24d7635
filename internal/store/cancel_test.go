package store_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// A context that ends at any moment of a write must not leave a transaction open: the writer would be lost permanently.
func TestCancelledWritesLeaveTheWriterUsable(t *testing.T) {
	t.Parallel()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	task := store.NewTask{
		Intent:    agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)},
		ProfileID: "p", AdapterID: "a", MaxAttempts: 1,
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(300))*time.Microsecond)
		_, _ = st.Enqueue(ctx, task) // it may or may not be in time
		cancel()
		if i%100 == 0 {
			if _, err := st.Enqueue(t.Context(), task); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
	}
	if _, err := st.Enqueue(t.Context(), task); err != nil {
		t.Fatal(err)
	}
}
