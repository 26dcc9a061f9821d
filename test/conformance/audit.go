package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/page"
)

// Audit checks the ports audit.Recorder, which stores entries of the audit log, and audit.Log, which lists them.
func Audit(t *testing.T, open IdentityOpener) {
	t.Run("entries of this database", func(t *testing.T) { ownEntries(t, open) })

	// An entry of another database arrives in an event. It has an id, a time and a network already, which Record keeps,
	// although the request has another address. A second delivery of the event is ignored.
	t.Run("entry of another database", func(t *testing.T) {
		storage := open(t, newFakeClock())
		requirePorts(t, storage)

		entry := audit.Entry{
			ID:      newID(),
			At:      time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC),
			Action:  audit.ExportCreated,
			Actor:   newID(),
			Network: "198.51.100.0/24",
			Object:  "x",
		}
		for range 2 { // events are delivered at least once
			require.NoError(t, storage.Audit.Record(audit.WithAddress(t.Context(), "192.0.2.44"), entry))
		}

		got, err := storage.AuditLog.List(t.Context(), audit.Filter{}, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, []audit.Entry{entry}, got.Items)
	})
}

// ownEntries checks that a new entry gets an id, the time and the network of the client's address. Filters and pages
// select entries. An entry is stored only if its transaction commits.
func ownEntries(t *testing.T, open IdentityOpener) {
	clk := newFakeClock()
	storage := open(t, clk)
	requirePorts(t, storage)

	ctx := audit.WithAddress(t.Context(), "192.0.2.44")
	own := newID()
	foreign := newID()
	jo := newID()

	// record stores an entry a minute after the previous one and returns its time.
	record := func(entry audit.Entry) time.Time {
		clk.Advance(time.Minute)
		require.NoError(t, storage.Audit.Record(ctx, entry))
		return clk.Now()
	}

	// list returns the objects of a page, its next cursor and the total.
	list := func(filter audit.Filter, request page.Request) (objects []string, next string, total int) {
		got, err := storage.AuditLog.List(ctx, filter, request)
		require.NoError(t, err)

		for _, entry := range got.Items {
			objects = append(objects, entry.Object)
		}

		return objects, got.NextCursor, got.Total
	}

	all := page.Request{Number: 1, Size: 10}

	first := record(audit.Entry{Action: audit.APIKeyCreated, Actor: jo, OrganizationID: own, Object: "one"})
	second := record(audit.Entry{Action: audit.PermissionsChanged, Actor: jo, OrganizationID: own, Object: "two", Detail: "admin"})
	record(audit.Entry{Action: audit.SignInFailed, OrganizationID: foreign, Object: "three"})
	record(audit.Entry{Action: audit.AccountLocked, Actor: audit.Operator, Object: jo})

	got, err := storage.AuditLog.List(ctx, audit.Filter{OrganizationID: own, Action: audit.PermissionsChanged}, all)
	require.NoError(t, err)
	require.Len(t, got.Items, 1)
	require.NotEmpty(t, got.Items[0].ID)

	got.Items[0].ID = ""
	require.Equal(
		t,
		audit.Entry{
			At:             second,
			Action:         audit.PermissionsChanged,
			Actor:          jo,
			OrganizationID: own,
			Network:        "192.0.2.0/24",
			Object:         "two",
			Detail:         "admin",
		},
		got.Items[0],
	)

	// The objects of the entries that each filter selects, the latest first. The last entry has Jo as its object.
	for _, test := range []struct {
		filter audit.Filter
		want   []string
	}{
		{filter: audit.Filter{}, want: []string{jo, "three", "two", "one"}},
		{filter: audit.Filter{OrganizationID: own}, want: []string{"two", "one"}},
		{filter: audit.Filter{OrganizationID: foreign}, want: []string{"three"}},
		{filter: audit.Filter{OrganizationID: foreign, Actor: jo}, want: nil},
		{filter: audit.Filter{Actor: jo}, want: []string{"two", "one"}},
		{filter: audit.Filter{About: jo}, want: []string{jo, "two", "one"}}, // as actor or object
		{filter: audit.Filter{From: second}, want: []string{jo, "three", "two"}},
		{filter: audit.Filter{From: first, To: second}, want: []string{"one"}}, // To is excluded
	} {
		objects, _, total := list(test.filter, all)
		require.Equal(t, test.want, objects, "%+v", test.filter)
		require.Equal(t, len(test.want), total)
	}

	// Two pages with one entry each.
	objects, next, total := list(audit.Filter{OrganizationID: own}, page.Request{Number: 1, Size: 1})
	require.Equal(t, []string{"two"}, objects)
	require.Equal(t, 2, total)

	objects, next, _ = list(audit.Filter{OrganizationID: own}, page.Request{Number: 2, Size: 1, Cursor: next})
	require.Equal(t, []string{"one"}, objects)
	require.Empty(t, next)

	// An entry of a transaction that is rolled back is not stored.
	errRollback := errors.New("roll back")
	err = storage.Tx.Do(ctx, func(ctx context.Context) error {
		require.NoError(t, storage.Audit.Record(ctx,
			audit.Entry{Action: audit.APIKeyCreated, OrganizationID: own, Object: "rolled back"}))
		return errRollback
	})
	require.ErrorIs(t, err, errRollback)

	objects, _, _ = list(audit.Filter{OrganizationID: own}, all)
	require.NotContains(t, objects, "rolled back")

	if storage.Retention == nil {
		return
	}

	// Retention, which is optional, deletes the entries before a time, at most as many as the limit says. One entry is
	// older than the second one, and a call with a limit of one deletes the second one, too.
	deleted, err := storage.Retention.DeleteBefore(ctx, audit.Entries, second, 10)
	require.NoError(t, err)
	require.Equal(t, 1, deleted)

	deleted, err = storage.Retention.DeleteBefore(ctx, audit.Entries, clk.Now().Add(time.Hour), 1)
	require.NoError(t, err)
	require.Equal(t, 1, deleted)

	objects, _, _ = list(audit.Filter{}, all)
	require.Equal(t, []string{jo, "three"}, objects)
}
