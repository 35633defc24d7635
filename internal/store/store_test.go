package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/internal/store/pgtest"
	"github.com/deedrun/deed/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("DEED_STORE_HELPER"); mode != "" {
		helper(mode)
	}
	// The pool that pgtest keeps for making databases lives as long as the binary.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

func sqliteDSN(t testing.TB) string { return filepath.Join(t.TempDir(), "deed.db") }

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Target{DSN: sqliteDSN})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Target{DSN: pgtest.DSN})
}
