package cli

import "testing"

func TestToldWhy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		refusals, same int
		want           string
	}{
		{2, 2, "2, each answered in the same conversation"},
		{3, 1, "3, 1 of them answered in the same conversation"},
		{1, 0, "1, none answered in the same conversation: the agent could not go on with it"},
	} {
		if got := refusalsText(tc.refusals, tc.same); got != tc.want {
			t.Errorf("%d of %d: %s", tc.same, tc.refusals, got)
		}
	}
}
