package gormdb_test

import (
	"testing"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestStorage_Conformance runs the suite for storages on SQLite and PostgreSQL.
func TestStorage_Conformance(t *testing.T) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) { conformance.Storage(t, open) })
}

// TestStorage_Search_Conformance runs the suite for searches with the feed and the rows of each
// database.
func TestStorage_Search_Conformance(t *testing.T) {
	t.Parallel()

	search := conformance.SearchAdapters{Index: stores.NewIndex, NewBatch: stores.NewBatch, Gazetteer: gazetteer.New()}
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) {
		conformance.Search(t, func(t testing.TB, clk clock.Clock) adapters.ListingsStorage { return open(t, clk).Listings }, search)
	})
}

// TestMySQL_Storage_Conformance runs the suite for storages on MariaDB.
func TestMySQL_Storage_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Storage(t, stores.MariaDB)
}

// TestMixedDatabases_Storage_Conformance checks that a module may be stored in another database
// than the others: no repository joins tables of two modules. Here identity is in MariaDB and
// the others are in PostgreSQL.
func TestMixedDatabases_Storage_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Storage(t, func(t testing.TB, clk clock.Clock) adapters.Storage {
		identity := stores.MariaDB(t, clk).Identity
		s := stores.Postgres(t, clk)
		s.Identity = identity

		return s
	})
}
