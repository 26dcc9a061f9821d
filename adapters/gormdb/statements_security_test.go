package gormdb

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// Clients decide what a search's statement looks like, and a listing how many
// words are new: neither may leave a prepared statement behind.
func TestStatementsThatClientsShapeAreNotKept(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	pool, prepared := db.gorm.ConnPool.(*gorm.PreparedStmtDB)
	require.True(t, prepared, "others are")
	find := func(n int) {
		q := listings.Query{Now: time.Now().UTC(), Sort: listings.ByDate, Page: page.Request{Number: 1, Size: 5}}
		for i := range n {
			q.Text.Clauses = append(q.Text.Clauses, listings.Clause{Not: true, Terms: []listings.Term{{Words: []string{fmt.Sprint("w", i)}}}})
		}
		_, err := s.ListingSearch.Find(t.Context(), q)
		require.NoError(t, err)
	}
	write := func(n int) {
		now := time.Now().UTC()
		l := listings.Listing{ID: db.newID(), OrganizationID: db.newID(), Version: 1, Status: listings.Active, CreatedAt: now, UpdatedAt: now}
		for i := range n {
			l.Description += strings.Repeat("x", n) + fmt.Sprint(i) + " "
		}
		require.NoError(t, s.Tx.Do(t.Context(), func(ctx context.Context) error { return s.Listings.Create(ctx, []listings.Listing{l}) }))
	}
	find(1)
	write(1)
	before := len(pool.Stmts.Keys())
	for n := range 20 {
		find(n + 2)
		write(n + 2)
	}
	require.Len(t, pool.Stmts.Keys(), before)
}

// A broken rule of the schema is a defect, which a 503 and "try again" would hide.
func TestABrokenRuleIsNotAnOutage(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	err := wrap(db.gorm.Exec("INSERT INTO listings (id) VALUES ('x')").Error)
	require.Error(t, err)
	require.Equal(t, fault.Internal, fault.KindOf(err))
	require.Equal(t, fault.Internal, fault.KindOf(wrap(db.gorm.Exec("SELEKT").Error)))
}
