package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/jobseeker"
)

// A jobseeker saves searches to be alerted to new listings. A match is a listing that a saved search has found. A
// digest is an e-mail with the matches of a user since the previous one. The text of a search is resolved once, with
// corrections of typos, so that all listings are matched with the same terms.

// newSearch returns a saved search with a name that needs escaping in SQL and JSON.
func newSearch(user string, emailAlerts bool, at time.Time) jobseeker.Search {
	return jobseeker.Search{
		ID:          newID(),
		UserID:      user,
		Name:        "Zoë's 50% \"nights\"",
		EmailAlerts: emailAlerts,
		CreatedAt:   at,
		Resolved:    "nurse -icu ",
		Terms:       jobseeker.Terms{Query: "nurse -icu", Location: "Leeds", ContractType: "permanent"},
	}
}

// newMatch returns a match of the listing with the search.
func newMatch(search jobseeker.Search, listing string, at time.Time) jobseeker.Match {
	return jobseeker.Match{
		SearchID:  search.ID,
		ListingID: listing,
		UserID:    search.UserID,
		At:        at,
		Email:     search.EmailAlerts,
	}
}

// storeSearches stores the searches, which must be of one user, and replaces all earlier ones of the user.
func storeSearches(t testing.TB, storage adapters.JobseekerStorage, searches ...jobseeker.Search) {
	t.Helper()

	userID := searches[0].UserID
	withProfile(t, storage, userID,
		func(ctx context.Context) error { return storage.Searches.Replace(ctx, userID, searches) })
}

// storeMatches stores the matches and returns those that were new.
func storeMatches(t testing.TB, storage adapters.JobseekerStorage, matches ...jobseeker.Match) []jobseeker.Match {
	t.Helper()

	created, err := storage.Matches.Create(context.Background(), matches)
	require.NoError(t, err)

	return created
}

// assignDigests assigns digests to at most n users who may get one at the time now. The same users may not get
// another one before the time next. It returns the digests and the number of users, some of whom may have no
// matches left.
func assignDigests(
	t testing.TB, storage adapters.JobseekerStorage, n int, now, next time.Time,
) (digests []jobseeker.Digest, users int) {
	t.Helper()

	digests, users, err := storage.Matches.AssignDigests(context.Background(), newIDs(n), now, next)
	require.NoError(t, err)

	return digests, users
}

// newIDs returns n new ids.
func newIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = newID()
	}

	return ids
}

// SavedSearches checks the port jobseeker.Searches.
func SavedSearches(t *testing.T, open JobseekerOpener) {
	suite := savedSearchSuite{open}
	t.Run("replace and list", suite.replaceAndList)
	t.Run("other owner", suite.otherOwner)
	t.Run("list after id", suite.listAfterId)
	t.Run("unresolved", suite.unresolved)
	t.Run("locked changes", suite.lockedChanges)
	t.Run("alerts turned off", suite.alertsTurnedOff)
}

// savedSearchSuite has the subtests of SavedSearches.
type savedSearchSuite struct {
	open JobseekerOpener
}

// byUser returns at most n searches of the user.
func (suite savedSearchSuite) byUser(
	t *testing.T, storage adapters.JobseekerStorage, user string, n int,
) []jobseeker.Search {
	t.Helper()

	got, err := storage.Searches.ListByUser(context.Background(), user, n)
	require.NoError(t, err)

	return got
}

// replaceAndList checks that Replace stores exactly the given searches of the user, and that
// lists begin with the newest.
func (suite savedSearchSuite) replaceAndList(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	older := newSearch(user, true, now)
	newer := newSearch(user, false, now.Add(time.Second))
	foreign := newSearch(newID(), true, now)

	storeSearches(t, storage, older)
	storeSearches(t, storage, newer, older)
	storeSearches(t, storage, foreign)
	require.Equal(t, []jobseeker.Search{newer, older}, suite.byUser(t, storage, user, 50))
	require.Equal(t, []jobseeker.Search{newer}, suite.byUser(t, storage, user, 1))
	storeSearches(t, storage, older)
	require.Equal(t, []jobseeker.Search{older}, suite.byUser(t, storage, user, 50))
	withProfile(t, storage, user, func(ctx context.Context) error { return storage.Searches.Replace(ctx, user, nil) })
	require.Empty(t, suite.byUser(t, storage, user, 50))
	require.Equal(t, []jobseeker.Search{foreign}, suite.byUser(t, storage, foreign.UserID, 50))
}

// otherOwner checks that a user cannot take over a search by using its id.
func (suite savedSearchSuite) otherOwner(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), true, now)
	storeSearches(t, storage, search)

	stolen := search
	stolen.UserID, stolen.EmailAlerts = newID(), false
	require.Error(t, tryWithProfile(storage, stolen.UserID, func(ctx context.Context) error {
		return storage.Searches.Replace(ctx, stolen.UserID, []jobseeker.Search{stolen})
	}))
	require.Equal(t, []jobseeker.Search{search}, suite.byUser(t, storage, search.UserID, 50))
}

// listAfterId checks that pages of three contain all searches once, in the order of id.
func (suite savedSearchSuite) listAfterId(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	var want, got []string
	for range 7 {
		search := newSearch(newID(), false, now)
		storeSearches(t, storage, search)

		want = append(want, search.ID)
	}

	slices.Sort(want)

	for last := ""; ; last = got[len(got)-1] {
		found, err := storage.Searches.List(context.Background(), jobseeker.SearchFilter{AfterID: last}, 3)
		require.NoError(t, err)

		for _, f := range found {
			got = append(got, f.ID)
		}

		if len(found) < 3 {
			break
		}
	}

	require.Equal(t, want, got)
}

// unresolved checks that searches with a text are listed until their resolved terms are stored,
// which a concurrent change with an outdated copy does not undo.
func (suite savedSearchSuite) unresolved(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	resolved := newSearch(newID(), false, now)
	first := newSearch(newID(), false, now)
	second := newSearch(newID(), false, now)
	textless := newSearch(newID(), false, now) // has no text to resolve
	textless.Query = ""
	first.Resolved = ""
	second.Resolved = ""
	textless.Resolved = ""

	for _, search := range []jobseeker.Search{resolved, first, second, textless} {
		storeSearches(t, storage, search)
	}

	unresolved := jobseeker.SearchFilter{Unresolved: true}
	got, err := storage.Searches.List(context.Background(), unresolved, 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []jobseeker.Search{first, second}, got)

	got, err = storage.Searches.List(context.Background(), unresolved, 1)
	require.NoError(t, err)
	require.Len(t, got, 1)

	// The resolved terms of two searches are stored. An unknown search is ignored.
	require.NoError(t, storage.Searches.UpdateResolved(context.Background(), nil))

	terms := map[string]string{first.ID: "nurse ", resolved.ID: "'midwife' ", newID(): "porter"}
	require.NoError(t, storage.Searches.UpdateResolved(context.Background(), terms))

	got, err = storage.Searches.List(context.Background(), unresolved, 10)
	require.NoError(t, err)
	require.Equal(t, []jobseeker.Search{second}, got)

	// A copy of the first search, which was read before the update, is stored with another change.
	stale := first
	stale.EmailAlerts = true
	storeSearches(t, storage, stale)

	first.EmailAlerts = true
	first.Resolved = terms[first.ID]
	resolved.Resolved = terms[resolved.ID]

	for _, search := range []jobseeker.Search{first, resolved} {
		require.Equal(t, []jobseeker.Search{search}, suite.byUser(t, storage, search.UserID, 10))
	}
}

// lockedChanges checks that twelve transactions that lock the profile cannot exceed a limit of
// three searches, because each sees the changes of the previous ones.
func (suite savedSearchSuite) lockedChanges(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	const maxSearches = 3
	user := newID()
	runConcurrently(t, 12, func(int) error {
		return tryWithProfile(storage, user, func(ctx context.Context) error {
			stored, err := storage.Searches.ListByUser(ctx, user, 50)
			if err != nil || len(stored) == maxSearches {
				return err
			}

			return storage.Searches.Replace(ctx, user, append(stored, newSearch(user, true, now)))
		})
	})

	require.Len(t, suite.byUser(t, storage, user, 50), maxSearches)
}

// alertsTurnedOff checks that matches of a search without alerts do not get into a digest, also
// those that were found before.
func (suite savedSearchSuite) alertsTurnedOff(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	first := newSearch(user, true, now)
	second := newSearch(user, true, now)
	other := newSearch(newID(), true, now)

	storeSearches(t, storage, first, second)
	storeSearches(t, storage, other)

	match := newMatch(second, newID(), now)
	storeMatches(t, storage, newMatch(first, newID(), now), match, newMatch(other, newID(), now))

	first.EmailAlerts = false
	storeSearches(t, storage, first, second)
	require.ElementsMatch(t, []jobseeker.Search{first, second}, suite.byUser(t, storage, user, 50))

	digests, users := assignDigests(t, storage, 10, now, now.Add(time.Hour))
	require.Equal(t, 2, users) // user and the user of other

	for _, d := range digests {
		got, err := storage.Matches.ListByDigest(context.Background(), d.UserID, d.ID, 10)
		require.NoError(t, err)
		require.Len(t, got, 1)

		if d.UserID == user {
			match.SearchName = second.Name
			require.Equal(t, match, got[0])
		}
	}
}

// AlertQueue checks the port jobseeker.AlertQueue.
func AlertQueue(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()
	storage, _ := openJobseeker(t, open)
	list := func(n int) []string {
		t.Helper()

		ids, err := storage.AlertQueue.List(ctx, n)
		require.NoError(t, err)

		return ids
	}

	want := newIDs(5)
	for range 2 { // a second delivery of the event
		for _, id := range want {
			require.NoError(t, storage.AlertQueue.Add(ctx, id))
		}
	}

	first := list(3)
	require.Len(t, first, 3)
	require.Equal(t, first, list(3), "reading does not remove them")
	require.NoError(t, storage.AlertQueue.Delete(ctx, nil))
	require.NoError(t, storage.AlertQueue.Delete(ctx, first))

	remaining := list(5)
	require.ElementsMatch(t, want, slices.Concat(first, remaining))
	require.NoError(t, storage.AlertQueue.Delete(ctx, want))
	require.Empty(t, list(5))
}

// Matches checks the port jobseeker.Matches.
func Matches(t *testing.T, open JobseekerOpener) {
	suite := matchSuite{open}
	t.Run("create", suite.create)
	t.Run("create, concurrently", suite.createConcurrently)
	t.Run("job alerts turned off", suite.jobAlertsTurnedOff)
	t.Run("digests", suite.digests)
	t.Run("digest without matches", suite.digestWithoutMatches)
	t.Run("digests, concurrently", suite.digestsConcurrently)
	t.Run("retention", suite.retention)
}

// matchSuite has the subtests of Matches.
type matchSuite struct {
	open JobseekerOpener
}

// create checks that Create stores a pair of search and listing once and returns only the new
// ones, also in a call with 2,500 matches.
func (suite matchSuite) create(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), true, now)
	storeSearches(t, storage, search)

	first := newMatch(search, newID(), now)
	second := newMatch(search, newID(), now)
	third := newMatch(search, newID(), now)

	require.ElementsMatch(t, []jobseeker.Match{first, second}, storeMatches(t, storage, second, first))
	require.Equal(t, []jobseeker.Match{third}, storeMatches(t, storage, third, first))
	require.Empty(t, storeMatches(t, storage))

	var many []jobseeker.Match
	for range 2_500 {
		many = append(many, newMatch(search, newID(), now))
	}

	require.Len(t, storeMatches(t, storage, many...), 2_500)
}

// createConcurrently checks that each match is new for one of eight transactions. They store
// the matches in different orders, which must not cause deadlocks.
func (suite matchSuite) createConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), true, now)

	var matches []jobseeker.Match
	for range 20 {
		matches = append(matches, newMatch(search, newID(), now))
	}

	created := make([]int, 8)
	runConcurrently(t, 8, func(i int) error {
		ordered := slices.Clone(matches)
		if i%2 == 0 {
			slices.Reverse(ordered)
		}

		return storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			newMatches, err := storage.Matches.Create(ctx, ordered)
			created[i] = len(newMatches)
			return err
		})
	})

	total := 0
	for _, n := range created {
		total += n
	}

	require.Equal(t, len(matches), total)
}

// jobAlertsTurnedOff checks that no match is stored for a user who has turned off alerts. A
// user without a stored profile has not.
func (suite matchSuite) jobAlertsTurnedOff(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	off := newSearch(newID(), true, now)
	on := newSearch(newID(), true, now)
	unknown := newSearch(newID(), false, now) // a user without a stored profile

	for _, profile := range []jobseeker.Profile{{UserID: off.UserID}, {UserID: on.UserID, JobAlerts: true}} {
		withProfile(t, storage, profile.UserID,
			func(ctx context.Context) error { return storage.Profiles.Update(ctx, profile) })
	}

	stored := []jobseeker.Match{newMatch(on, newID(), now), newMatch(unknown, newID(), now)}
	require.ElementsMatch(t, stored, storeMatches(t, storage, append(stored, newMatch(off, newID(), now))...))

	digests, users := assignDigests(t, storage, 10, now, now.Add(time.Hour))
	require.Equal(t, 1, users)
	require.Len(t, digests, 1)
	require.Equal(t, on.UserID, digests[0].UserID)
}

// digests checks which matches a digest contains, and that the next one is assigned at the time
// next or later.
func (suite matchSuite) digests(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, next := newID(), now.Add(24*time.Hour)
	first := newSearch(user, true, now)
	second := newSearch(user, true, now)
	silent := newSearch(user, false, now)
	second.Name = "Other"
	storeSearches(t, storage, first, second, silent)

	old, recent := newID(), newID()
	storeMatches(t, storage, newMatch(first, old, now), newMatch(first, recent, now),
		newMatch(second, recent, now), newMatch(silent, recent, now))

	digests, users := assignDigests(t, storage, 10, now, next)
	require.Equal(t, 1, users)
	require.Len(t, digests, 1)
	require.Equal(t, user, digests[0].UserID)

	digest := digests[0].ID
	list := func(user, digest string, n int) []jobseeker.Match {
		matches, err := storage.Matches.ListByDigest(context.Background(), user, digest, n)
		require.NoError(t, err)
		return matches
	}

	// The digest has the matches of both searches with alerts, those of the latest listing first.
	matches := list(user, digest, 10)
	require.Len(t, matches, 3)
	require.Equal(t, []string{recent, recent, old},
		[]string{matches[0].ListingID, matches[1].ListingID, matches[2].ListingID})
	require.ElementsMatch(t, []string{first.Name, "Other"}, []string{matches[0].SearchName, matches[1].SearchName})
	require.Len(t, list(user, digest, 1), 1)
	require.Empty(t, list(newID(), digest, 10))
	require.Empty(t, list(user, newID(), 10))

	// The next digest.
	_, users = assignDigests(t, storage, 10, next, next)
	require.Zero(t, users, "nothing is pending")
	storeMatches(t, storage, newMatch(first, newID(), now))

	_, users = assignDigests(t, storage, 10, next.Add(-time.Microsecond), next)
	require.Zero(t, users, "too soon after the previous digest")

	digests, _ = assignDigests(t, storage, 10, next, next.Add(time.Hour))
	require.Len(t, digests, 1)

	// Changes of the searches after the first digest was assigned.
	storeSearches(t, storage, first, silent)
	require.Len(t, list(user, digest, 10), 2, "without the matches of a deleted search")

	first.EmailAlerts = false
	storeSearches(t, storage, first, silent)
	require.Empty(t, list(user, digest, 10))
}

// digestWithoutMatches checks that a user whose alerts are off counts as handled, but that the
// next digest may follow at once.
func (suite matchSuite) digestWithoutMatches(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), true, now)
	storeSearches(t, storage, search)
	storeMatches(t, storage, newMatch(search, newID(), now))

	off := search
	off.EmailAlerts = false
	storeSearches(t, storage, off)

	digests, users := assignDigests(t, storage, 10, now, now.Add(24*time.Hour))
	require.Empty(t, digests)
	require.Equal(t, 1, users)
	storeSearches(t, storage, off, newSearch(search.UserID, true, now))
	storeMatches(t, storage, newMatch(search, newID(), now))

	digests, _ = assignDigests(t, storage, 10, now, now.Add(24*time.Hour))
	require.Len(t, digests, 1, "the next digest is not delayed")
}

// digestsConcurrently checks that twelve users get one digest each from six concurrent callers.
func (suite matchSuite) digestsConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	for i := range 12 {
		search := newSearch(newID(), true, now)
		search.Name = fmt.Sprint(i)
		storeSearches(t, storage, search)
		storeMatches(t, storage, newMatch(search, newID(), now))
	}

	assignedBy := make([]int, 6) // the number of digests by caller
	runConcurrently(t, len(assignedBy), func(caller int) error {
		for range 4 {
			assigned := 0

			err := storage.Tx.Do(context.Background(), func(ctx context.Context) error {
				digests, _, err := storage.Matches.AssignDigests(ctx, newIDs(3), now, now.Add(time.Hour))
				assigned = len(digests)
				return err
			})
			if err != nil {
				return err
			}

			assignedBy[caller] += assigned
		}

		return nil
	})

	remaining, _ := assignDigests(t, storage, 100, now, now.Add(time.Hour))

	total := len(remaining)
	for _, assigned := range assignedBy {
		total += assigned
	}

	require.Equal(t, 12, total)
}

// retention checks that old matches are deleted, with five matches that are one hour apart.
func (suite matchSuite) retention(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	search := newSearch(newID(), false, now)
	for i := range 5 {
		storeMatches(t, storage, newMatch(search, newID(), now.Add(time.Duration(i)*time.Hour)))
	}

	checkRetention(t, storage.Retention, jobseeker.MatchKind, now.Add(3*time.Hour))
}
