package conformance

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings"
)

// Feed checks the port listings.Feed, from which each process keeps its search index current. ReadOpen reads all open
// listings and returns a position in the feed. ListSince returns the changes after a position, in batches. Each batch
// contains the position at its end, and More if there are further changes.
//
// A board (see listings.go) is an organization with a service and an empty storage. post creates a listing.
func Feed(t *testing.T, open ListingsOpener) {
	for name, test := range map[string]func(*testing.T, *board){
		"open listings, the newest first":               feedOpen,
		"each change once, in the present state":        feedChanges,
		"a change that is rolled back":                  feedRollback,
		"a transaction of more than a batch":            feedLargeTransaction,
		"late commits of concurrent transactions":       feedConcurrent,
		"a position of another store or after deletion": feedPositions,
		"listings written by the loader":                feedLoader,
		"a restart":                                     feedRestart,
		"a signal after each commit":                    feedSignal,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newBoard(t, open)) })
	}
}

// feedOpen checks that ReadOpen calls its function with open listings only, the newest first,
// and returns its error.
func feedOpen(t *testing.T, b *board) {
	postNurse := func() (id string) {
		b.clk.Advance(time.Second)
		return b.post(t, listings.CreateInput{Title: "Nurse"}).ID
	}
	oldest, middle, newest := postNurse(), postNurse(), postNurse()

	b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")}) // is not open

	var read []string
	_, err := b.Feed.ReadOpen(t.Context(), func(listing *listings.Listing) error {
		read = append(read, listing.ID)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{newest, middle, oldest}, read)

	errStop := errors.New("stop")
	_, err = b.Feed.ReadOpen(t.Context(), func(*listings.Listing) error { return errStop })
	require.ErrorIs(t, err, errStop)
}

// position returns the position at the end of the feed, after all changes so far.
func (b *board) position(t testing.TB) listings.FeedPosition {
	t.Helper()

	position, err := b.Feed.ReadOpen(t.Context(), func(*listings.Listing) error { return nil })
	require.NoError(t, err)

	_, position = b.drain(t, position, 100)

	return position
}

// feedChanges checks that a batch contains each changed listing once, in its current state, and
// the ids of deleted ones.
func feedChanges(t *testing.T, b *board) {
	archived := b.post(t, listings.CreateInput{Title: "Nurse"})
	position := b.position(t)

	// After the position, one listing is created and the other is archived.
	created := b.post(t, listings.CreateInput{Title: "Midwife"})
	err := b.svc.Archive(t.Context(), admin(b.org), archived.ID)
	require.NoError(t, err)

	batch, err := b.Feed.ListSince(t.Context(), position, wholeList)
	require.NoError(t, err)
	require.False(t, batch.More)
	require.Empty(t, batch.Deleted)

	isOpen := map[string]bool{}
	for _, listing := range batch.Listings {
		isOpen[listing.ID] = listing.Open
	}

	require.Equal(t, map[string]bool{archived.ID: false, created.ID: true}, isOpen)

	// Nothing has changed since the first batch.
	second, err := b.Feed.ListSince(t.Context(), batch.Position, wholeList)
	require.NoError(t, err)
	require.Empty(t, second.Listings)

	// Both listings are deleted.
	_, err = b.Loader.DeleteByOrganizations(t.Context(), []string{b.org})
	require.NoError(t, err)

	removed, err := b.Feed.ListSince(t.Context(), second.Position, wholeList)
	require.NoError(t, err)
	require.Empty(t, removed.Listings)
	require.ElementsMatch(t, []string{archived.ID, created.ID}, removed.Deleted)
}

// feedRollback checks that a change is not in the feed if its transaction is rolled back.
func feedRollback(t *testing.T, b *board) {
	position := b.position(t)
	errRollback := errors.New("roll back")
	err := b.Tx.Do(t.Context(), func(ctx context.Context) error {
		_, err := b.svc.Create(ctx, admin(b.org), listings.CreateInput{Title: "Nurse", Description: "A good post."})
		require.NoError(t, err)
		return errRollback
	})
	require.ErrorIs(t, err, errRollback)

	batch, err := b.Feed.ListSince(t.Context(), position, wholeList)
	require.NoError(t, err)
	require.Empty(t, batch.Listings)
	require.Empty(t, batch.Deleted)
}

// feedLargeTransaction checks that several batches deliver all changes of one transaction, if it has more changes
// than a batch, and the change of the next transaction, too.
func feedLargeTransaction(t *testing.T, b *board) {
	position := b.position(t)
	const batchSize, changes = 10, 25
	var want []string
	require.NoError(t, b.Tx.Do(t.Context(), func(ctx context.Context) error {
		for range changes {
			created, err := b.svc.Create(ctx, admin(b.org), listings.CreateInput{Title: "Nurse", Description: "A good post."})
			if err != nil {
				return err
			}

			want = append(want, created.ID)
		}

		return nil
	}))

	want = append(want, b.post(t, listings.CreateInput{Title: "Midwife"}).ID)
	got, _ := b.drain(t, position, batchSize)
	require.ElementsMatch(t, want, got)
}

// drain reads the feed from the position to its end, in batches of the given size. It returns the ids of the changed
// listings in the order of their batches, and the position at the end.
func (b *board) drain(
	t testing.TB, position listings.FeedPosition, batchSize int,
) (ids []string, end listings.FeedPosition) {
	t.Helper()

	for hasMore := true; hasMore; {
		batch, err := b.Feed.ListSince(t.Context(), position, batchSize)
		require.NoError(t, err)

		for _, listing := range batch.Listings {
			ids = append(ids, listing.ID)
		}

		position, hasMore = batch.Position, batch.More
	}

	return ids, position
}

// createSlowly creates a listing in a transaction that takes a random time, so that transactions commit in another
// order than they begin. The transaction then fails with the error, unless it is nil.
func (b *board) createSlowly(errRollback error) (listing listings.Listing, err error) {
	err = b.Tx.Do(context.Background(), func(ctx context.Context) (err error) {
		input := listings.CreateInput{Title: "Nurse", Description: "A good post."}
		if listing, err = b.svc.Create(ctx, admin(b.org), input); err != nil {
			return err
		}

		for range rand.IntN(5) {
			if _, err := b.svc.Get(ctx, admin(b.org), listing.ID); err != nil {
				return err
			}
		}

		return errRollback
	})

	return listing, err
}

// feedConcurrent checks that the feed delivers each committed change once, also the change of a
// transaction that began before others and commits after them. While the feed is read, six writers run overlapping
// transactions. Every fifth transaction of a writer is rolled back.
func feedConcurrent(t *testing.T, b *board) {
	position := b.position(t)
	errRollback := errors.New("roll back")
	var mu sync.Mutex
	var want, got []string

	var writers sync.WaitGroup
	for range 6 {
		writers.Go(func() {
			for range 4 {
				for range 4 {
					listing, err := b.createSlowly(nil) // commits
					if err != nil {
						t.Error(err)
						continue
					}

					mu.Lock()
					want = append(want, listing.ID)
					mu.Unlock()
				}

				if _, err := b.createSlowly(errRollback); !errors.Is(err, errRollback) {
					t.Error(err)
				}
			}
		})
	}

	allCommitted := make(chan struct{}) // closed after the last commit
	go func() { writers.Wait(); close(allCommitted) }()

	// Read batches until one that began after the last commit is the end of the feed.
	for isComplete := false; ; {
		batch, err := b.Feed.ListSince(t.Context(), position, 7)
		require.NoError(t, err)

		for _, listing := range batch.Listings {
			got = append(got, listing.ID)
		}

		position = batch.Position
		if isComplete && !batch.More {
			break
		}

		select {
		case <-allCommitted:
			isComplete = true
		default:
		}
	}

	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got, "each change once")
}

// feedPositions checks that ListSince fails with ErrFeedPosition for an unknown position, and for a position whose
// next changes were deleted. A reader can then get a valid position from ReadOpen.
func feedPositions(t *testing.T, b *board) {
	position := b.position(t)

	// Positions of no store or of another one.
	for _, foreign := range []listings.FeedPosition{"", "x", "{}", `{"store":"another","fence":1}`} {
		_, err := b.Feed.ListSince(t.Context(), foreign, wholeList)
		require.ErrorIs(t, err, listings.ErrFeedPosition, foreign)
	}

	// After the position there are five old changes, and a recent one.
	const oldChanges = 5
	for range oldChanges {
		b.post(t, listings.CreateInput{Title: "Nurse"})
	}

	b.clk.Advance(time.Hour)

	recent := b.post(t, listings.CreateInput{Title: "Midwife"})

	// The old changes are deleted, at most three per call. The database keeps changes while an older transaction is
	// running, which may be one of another test. So the calls are repeated until all old changes are deleted.
	store, deleted := retentionOf(t, b.Retention), 0
	require.Eventually(t, func() bool {
		n, err := store.DeleteBefore(t.Context(), listings.FeedChanges, b.clk.Now().Add(-time.Minute), 3)
		deleted += n
		return err == nil && deleted == oldChanges
	}, 30*time.Second, 5*time.Millisecond)

	_, err := b.Feed.ListSince(t.Context(), position, wholeList)
	require.ErrorIs(t, err, listings.ErrFeedPosition)

	// From a new position, the reader gets the next change.
	position = b.position(t)
	err = b.svc.Archive(t.Context(), admin(b.org), recent.ID)
	require.NoError(t, err)

	got, _ := b.drain(t, position, 10)
	require.Equal(t, []string{recent.ID}, got)
}

// feedLoader checks that positions from before a bulk load are invalid, because the loader
// records no single changes.
func feedLoader(t *testing.T, b *board) {
	loaded := b.post(t, listings.CreateInput{Title: "Nurse"})
	position := b.position(t)

	loaded.ID = newID()
	ignoreProgress := func(int) {}
	require.NoError(t, b.Loader.Load(t.Context(), slices.Values([]listings.Listing{loaded}), ignoreProgress))

	_, err := b.Feed.ListSince(t.Context(), position, wholeList)
	require.ErrorIs(t, err, listings.ErrFeedPosition)
}

// feedRestart checks that Reset invalidates all earlier positions, but not those that are read afterwards.
func feedRestart(t *testing.T, b *board) {
	position := b.position(t)
	require.NoError(t, b.Feed.Reset(t.Context()))

	_, err := b.Feed.ListSince(t.Context(), position, wholeList)
	require.ErrorIs(t, err, listings.ErrFeedPosition)

	_, err = b.Feed.ListSince(t.Context(), b.position(t), wholeList)
	require.NoError(t, err)
}

// feedSignal checks that a listener of the outbox is notified when a listing is created, so that it reads the feed.
func feedSignal(t *testing.T, b *board) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	changes := b.Outbox.Notifications(ctx)
	b.post(t, listings.CreateInput{Title: "Nurse"})

	select {
	case <-changes:
	case <-time.After(10 * time.Second):
		t.Error("no notification of the commit")
	}
}
