package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/jobseeker"
)

// Subscribers checks the port jobseeker.Subscribers.
func Subscribers(t *testing.T, open JobseekerOpener) {
	suite := subscriberSuite{open}
	t.Run("get or create", suite.getOrCreate)
	t.Run("get or create, concurrently", suite.getOrCreateConcurrently)
	t.Run("get by ids", suite.getByIDs)
	t.Run("delete", suite.delete)
}

// subscriberSuite has the subtests of Subscribers.
type subscriberSuite struct {
	open JobseekerOpener
}

// getOrCreate checks that addresses of the same mailbox belong to one subscriber, with the
// address that was stored first.
func (suite subscriberSuite) getOrCreate(t *testing.T) {
	s, now := openJobseeker(t, suite.open)
	first := jobseeker.Subscriber{ID: newID(), Email: "Zoë+jobs@example.org", Mailbox: "zoë@example.org", CreatedAt: now}

	second := jobseeker.Subscriber{ID: newID(), Email: "zoë@example.org", Mailbox: first.Mailbox, CreatedAt: now}
	for _, requested := range []jobseeker.Subscriber{first, second} {
		got, err := s.Subscribers.GetOrCreate(t.Context(), requested)
		require.NoError(t, err)
		require.Equal(t, first, got)
	}
}

// getOrCreateConcurrently checks that eight concurrent calls with an address return the same
// subscriber.
func (suite subscriberSuite) getOrCreateConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	got := make([]jobseeker.Subscriber, 8)

	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			got[i], err = storage.Subscribers.GetOrCreate(
				context.Background(),
				jobseeker.Subscriber{ID: newID(), Email: "jo@example.org", Mailbox: "jo@example.org", CreatedAt: now},
			)
			assert.NoError(t, err)
		})
	}

	wg.Wait()

	for _, subscriber := range got {
		require.Equal(t, got[0], subscriber)
	}
}

// getByIDs checks that unknown ids are omitted, also among 2,000 ids.
func (suite subscriberSuite) getByIDs(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	a := suite.create(t, storage.Subscribers, "a@example.org", now)
	b := suite.create(t, storage.Subscribers, "b@example.org", now)
	found, err := storage.Subscribers.GetByIDs(t.Context(), []string{a.ID, b.ID, newID()})
	require.NoError(t, err)
	require.Equal(t, map[string]jobseeker.Subscriber{a.ID: a, b.ID: b}, found)

	found, err = storage.Subscribers.GetByIDs(t.Context(), append(newIDs(1_999), a.ID))
	require.NoError(t, err)
	require.Len(t, found, 1)

	found, err = storage.Subscribers.GetByIDs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

// delete checks that a subscriber is deleted with searches and matches, and that the id of a
// user, who is no subscriber, deletes nothing.
func (suite subscriberSuite) delete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	deleted := suite.create(t, storage.Subscribers, "a@example.org", now)

	other := suite.create(t, storage.Subscribers, "b@example.org", now)
	for _, subscriber := range []jobseeker.Subscriber{deleted, other} {
		search := newSearch(subscriber.ID, true, now)
		storeSearches(t, storage, search)
		storeMatches(t, storage, newMatch(search, newID(), now))
	}

	user := newSearch(newID(), true, now)
	storeSearches(t, storage, user)

	require.NoError(t, storage.Subscribers.Delete(t.Context(), deleted.ID))
	require.NoError(t, storage.Subscribers.Delete(t.Context(), deleted.ID))
	require.NoError(t, storage.Subscribers.Delete(t.Context(), user.UserID))

	found, err := storage.Subscribers.GetByIDs(t.Context(), []string{deleted.ID, other.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]jobseeker.Subscriber{other.ID: other}, found)

	digests, _ := assignDigests(t, storage, 10, now, now)
	require.Len(t, digests, 1)
	require.Equal(t, other.ID, digests[0].UserID)

	for owner, want := range map[string]int{deleted.ID: 0, other.ID: 1, user.UserID: 1} {
		searches, err := storage.Searches.ListByUser(t.Context(), owner, 10)
		require.NoError(t, err)
		require.Len(t, searches, want)
	}
}

// create creates a subscriber with the address.
func (suite subscriberSuite) create(
	t *testing.T, subscribers jobseeker.Subscribers, email string, now time.Time,
) jobseeker.Subscriber {
	t.Helper()

	created, err := subscribers.GetOrCreate(t.Context(),
		jobseeker.Subscriber{ID: newID(), Email: email, Mailbox: email, CreatedAt: now})
	require.NoError(t, err)

	return created
}
