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
// listings and returns a position in the feed. ListSince returns the changes after a position, in batches, each with
// the position at its end.
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
	var want []string
	for range 3 {
		want = append([]string{b.post(t, listings.CreateInput{Title: "Nurse"}).ID}, want...)
		b.clk.Advance(time.Second)
	}

	b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})
	var read []string
	_, err := b.Feed.ReadOpen(t.Context(), func(listing *listings.Listing) error {
		read = append(read, listing.ID)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, want, read)

	errStop := errors.New("stop")
	_, err = b.Feed.ReadOpen(t.Context(), func(*listings.Listing) error { return errStop })
	require.ErrorIs(t, err, errStop)
}

// position returns the position at the end of the feed.
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

	batch, err := b.Feed.ListSince(t.Context(), position, 10)
	require.NoError(t, err)
	require.False(t, batch.More)
	require.Empty(t, batch.Deleted)

	isOpen := map[string]bool{}
	for _, listing := range batch.Listings {
		isOpen[listing.ID] = listing.Open
	}

	require.Equal(t, map[string]bool{archived.ID: false, created.ID: true}, isOpen)

	// Nothing changes, and then both are deleted.
	second, err := b.Feed.ListSince(t.Context(), batch.Position, 10)
	require.NoError(t, err)
	require.Empty(t, second.Listings)

	_, err = b.Loader.DeleteByOrganizations(t.Context(), []string{b.org})
	require.NoError(t, err)

	removed, err := b.Feed.ListSince(t.Context(), second.Position, 10)
	require.NoError(t, err)
	require.Empty(t, removed.Listings)
	require.ElementsMatch(t, []string{archived.ID, created.ID}, removed.Deleted)
}

// feedRollback checks that a rolled back change is not in the feed.
func feedRollback(t *testing.T, b *board) {
	position := b.position(t)
	undone := errors.New("undone")
	require.ErrorIs(t, b.Tx.Do(t.Context(), func(ctx context.Context) error {
		_, err := b.svc.Create(ctx, admin(b.org), listings.CreateInput{Title: "Nurse", Description: "A good post."})
		require.NoError(t, err)
		return undone
	}), undone)

	batch, err := b.Feed.ListSince(t.Context(), position, 10)
	require.NoError(t, err)
	require.Empty(t, batch.Listings)
	require.Empty(t, batch.Deleted)
}

// feedLargeTransaction checks that batches of ten deliver all 25 changes of one transaction.
func feedLargeTransaction(t *testing.T, b *board) {
	position := b.position(t)
	var want []string
	require.NoError(t, b.Tx.Do(t.Context(), func(ctx context.Context) error {
		for range 25 {
			l, err := b.svc.Create(ctx, admin(b.org), listings.CreateInput{Title: "Nurse", Description: "A good post."})
			if err != nil {
				return err
			}

			want = append(want, l.ID)
		}

		return nil
	}))

	want = append(want, b.post(t, listings.CreateInput{Title: "Midwife"}).ID)
	got, _ := b.drain(t, position, 10)
	require.ElementsMatch(t, want, got)
}

// drain reads the feed to its end and returns the ids in the order of their batches.
func (b *board) drain(t testing.TB, position listings.FeedPosition, n int) (ids []string, end listings.FeedPosition) {
	t.Helper()

	for more := true; more; {
		batch, err := b.Feed.ListSince(t.Context(), position, n)
		require.NoError(t, err)

		for _, l := range batch.Listings {
			ids = append(ids, l.ID)
		}

		position, more = batch.Position, batch.More
	}

	return ids, position
}

// feedConcurrent checks that the feed delivers each committed change once, also the change of a
// transaction that began before others and commits after them. The transactions overlap, take
// different times, and a fifth of them is rolled back, while the feed is read.
func feedConcurrent(t *testing.T, b *board) {
	position := b.position(t)
	errUndone := errors.New("undone")
	var mu sync.Mutex
	var want, got []string

	var writers sync.WaitGroup
	for range 6 {
		writers.Go(func() {
			for i := range 20 {
				var listing listings.Listing

				err := b.Tx.Do(context.Background(), func(ctx context.Context) (err error) {
					if listing, err = b.svc.Create(ctx, admin(b.org), listings.CreateInput{
						Title:       "Nurse",
						Description: "A good post.",
					}); err != nil {
						return err
					}

					for range rand.IntN(5) { // so that commits come in another order
						if _, err := b.svc.Get(ctx, admin(b.org), listing.ID); err != nil {
							return err
						}
					}

					if i%5 == 4 {
						return errUndone
					}

					return nil
				})
				if err == nil {
					mu.Lock()
					want = append(want, listing.ID)
					mu.Unlock()
				} else if !errors.Is(err, errUndone) {
					t.Error(err)
				}
			}
		})
	}

	written := make(chan struct{})
	go func() { writers.Wait(); close(written) }()

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
		case <-written:
			isComplete = true
		default:
		}
	}

	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got, "each change once")
}

// feedPositions checks that a reader whose position is unknown, or whose next changes were
// deleted, gets ErrFeedPosition, after which it reads all open listings again.
func feedPositions(t *testing.T, b *board) {
	position := b.position(t)
	for _, foreign := range []listings.FeedPosition{"", "x", "{}", `{"store":"another","fence":1}`} {
		_, err := b.Feed.ListSince(t.Context(), foreign, 10)
		require.ErrorIs(t, err, listings.ErrFeedPosition, foreign)
	}

	for range 5 {
		b.post(t, listings.CreateInput{Title: "Nurse"})
	}

	b.clk.Advance(time.Hour)

	kept := b.post(t, listings.CreateInput{Title: "Midwife"})

	// The five old changes are deleted, at most three per call. They stay while an older transaction, of any
	// other test on the database, is running: hence the repetition.
	store, deleted := retentionOf(t, b.Retention), 0
	require.Eventually(t, func() bool {
		n, err := store.DeleteBefore(t.Context(), listings.FeedChanges, b.clk.Now().Add(-time.Minute), 3)
		deleted += n
		return err == nil && deleted == 5
	}, 30*time.Second, 5*time.Millisecond)

	_, err := b.Feed.ListSince(t.Context(), position, 10)
	require.ErrorIs(t, err, listings.ErrFeedPosition)

	position = b.position(t)
	err = b.svc.Archive(t.Context(), admin(b.org), kept.ID)
	require.NoError(t, err)

	got, _ := b.drain(t, position, 10)
	require.Equal(t, []string{kept.ID}, got)
}

// feedLoader checks that positions from before a bulk load are invalid, because the loader
// records no single changes.
func feedLoader(t *testing.T, b *board) {
	l := b.post(t, listings.CreateInput{Title: "Nurse"})
	position := b.position(t)
	l.ID = newID()
	require.NoError(t, b.Loader.Load(t.Context(), slices.Values([]listings.Listing{l}), func(int) {}))

	_, err := b.Feed.ListSince(t.Context(), position, 10)
	require.ErrorIs(t, err, listings.ErrFeedPosition)
}

// feedRestart checks that Reset invalidates all positions.
func feedRestart(t *testing.T, b *board) {
	position := b.position(t)
	require.NoError(t, b.Feed.Reset(t.Context()))

	_, err := b.Feed.ListSince(t.Context(), position, 10)
	require.ErrorIs(t, err, listings.ErrFeedPosition)

	_, err = b.Feed.ListSince(t.Context(), b.position(t), 10)
	require.NoError(t, err)
}

// feedSignal checks that listeners are notified of a commit.
func feedSignal(t *testing.T, b *board) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	changes := b.Outbox.Notifications(ctx)
	b.post(t, listings.CreateInput{Title: "Nurse"})

	select {
	case <-changes:
	case <-time.After(10 * time.Second):
		t.Error("no signal")
	}
}
