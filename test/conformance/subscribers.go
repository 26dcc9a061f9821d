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

// Subscribers checks the port jobseeker.Subscribers. A subscriber is a person without an account who gets job alerts at an
// e-mail address.
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

// getOrCreate checks that different addresses of one mailbox belong to one subscriber, who keeps the address that was
// stored first.
func (suite subscriberSuite) getOrCreate(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	first := jobseeker.Subscriber{ID: newID(), Email: "Zoë+jobs@example.org", Mailbox: "zoë@example.org", CreatedAt: now}

	second := jobseeker.Subscriber{ID: newID(), Email: "zoë@example.org", Mailbox: first.Mailbox, CreatedAt: now}
	for _, requested := range []jobseeker.Subscriber{first, second} {
		got, err := storage.Subscribers.GetOrCreate(t.Context(), requested)
		require.NoError(t, err)
		require.Equal(t, first, got)
	}
}

// getOrCreateConcurrently checks that eight concurrent calls with an address return the same
// subscriber.
func (suite subscriberSuite) getOrCreateConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	results := make([]jobseeker.Subscriber, 8)

	var calls sync.WaitGroup
	for i := range results {
		calls.Go(func() {
			var err error
			results[i], err = storage.Subscribers.GetOrCreate(
				context.Background(),
				jobseeker.Subscriber{ID: newID(), Email: "jo@example.org", Mailbox: "jo@example.org", CreatedAt: now},
			)
			assert.NoError(t, err)
		})
	}

	calls.Wait()

	for _, subscriber := range results {
		require.Equal(t, results[0], subscriber)
	}
}

// getByIDs checks that subscribers are returned by their ids, and unknown ids are omitted. A call may have 2,000 ids, or
// none.
func (suite subscriberSuite) getByIDs(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	ann := suite.create(t, storage.Subscribers, "ann@example.org", now)
	bob := suite.create(t, storage.Subscribers, "bob@example.org", now)
	found, err := storage.Subscribers.GetByIDs(t.Context(), []string{ann.ID, bob.ID, newID()})
	require.NoError(t, err)
	require.Equal(t, map[string]jobseeker.Subscriber{ann.ID: ann, bob.ID: bob}, found)

	unknownIDs := newIDs(1_999)
	found, err = storage.Subscribers.GetByIDs(t.Context(), append(unknownIDs, ann.ID))
	require.NoError(t, err)
	require.Len(t, found, 1)

	found, err = storage.Subscribers.GetByIDs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

// delete checks that a subscriber is deleted with the saved searches and their matches. Other subscribers keep theirs. A
// user also has saved searches, but is no subscriber: the id of a user deletes nothing.
func (suite subscriberSuite) delete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	deleted := suite.create(t, storage.Subscribers, "a@example.org", now)

	other := suite.create(t, storage.Subscribers, "b@example.org", now)
	for _, subscriber := range []jobseeker.Subscriber{deleted, other} {
		search := newSearch(subscriber.ID, true, now)
		storeSearches(t, storage, search)
		storeMatches(t, storage, newMatch(search, newID(), now))
	}

	ofUser := newSearch(newID(), true, now)
	storeSearches(t, storage, ofUser)

	// A second deletion is no error.
	for _, id := range []string{deleted.ID, deleted.ID, ofUser.UserID} {
		require.NoError(t, storage.Subscribers.Delete(t.Context(), id))
	}

	found, err := storage.Subscribers.GetByIDs(t.Context(), []string{deleted.ID, other.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]jobseeker.Subscriber{other.ID: other}, found)

	// Only the other subscriber has a match for a digest.
	nextDigest := now // no later digest is assigned, so that no interval is needed
	digests, _ := assignDigests(t, storage, 10, now, nextDigest)
	require.Len(t, digests, 1)
	require.Equal(t, other.ID, digests[0].UserID)

	for owner, wantSearches := range map[string]int{deleted.ID: 0, other.ID: 1, ofUser.UserID: 1} {
		searches, err := storage.Searches.ListByUser(t.Context(), owner, 10)
		require.NoError(t, err)
		require.Len(t, searches, wantSearches)
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
