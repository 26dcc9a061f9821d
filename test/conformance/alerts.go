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

// A jobseeker saves searches, to be alerted to new listings. A match is a listing that a saved search has found. A
// digest is an e-mail with the matches of a user since the previous digest. A search is resolved once, which means
// that typos in its text are corrected. Then all listings are matched with the same terms.

// The values of Search.EmailAlerts: only matches of a search with alerts get into a digest.
const withAlerts, withoutAlerts = true, false

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

// manyUsers is more than the number of users of a test.
const manyUsers = 20

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
	suite := savedSearchSuite{open: open}
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
	older := newSearch(user, withAlerts, now)
	newer := newSearch(user, withoutAlerts, now.Add(time.Second))
	foreign := newSearch(newID(), withAlerts, now)

	// The user has one search, and then two.
	storeSearches(t, storage, older)
	storeSearches(t, storage, newer, older)
	storeSearches(t, storage, foreign)
	require.Equal(t, []jobseeker.Search{newer, older}, suite.byUser(t, storage, user, wholeList))
	require.Equal(t, []jobseeker.Search{newer}, suite.byUser(t, storage, user, 1))

	// The newer search is deleted, and then the older one, too.
	storeSearches(t, storage, older)
	require.Equal(t, []jobseeker.Search{older}, suite.byUser(t, storage, user, wholeList))
	withProfile(t, storage, user, func(ctx context.Context) error { return storage.Searches.Replace(ctx, user, nil) })
	require.Empty(t, suite.byUser(t, storage, user, wholeList))

	require.Equal(t, []jobseeker.Search{foreign}, suite.byUser(t, storage, foreign.UserID, wholeList), "of another user")
}

// otherOwner checks that a user cannot store a search with the id of another user's search.
func (suite savedSearchSuite) otherOwner(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), withAlerts, now)
	storeSearches(t, storage, search)

	stolen := search
	stolen.UserID, stolen.EmailAlerts = newID(), withoutAlerts
	require.Error(t, tryWithProfile(storage, stolen.UserID, func(ctx context.Context) error {
		return storage.Searches.Replace(ctx, stolen.UserID, []jobseeker.Search{stolen})
	}))
	require.Equal(t, []jobseeker.Search{search}, suite.byUser(t, storage, search.UserID, wholeList))
}

// listAfterId checks that List returns the searches of all users in the order of their ids. Each call gets the id
// of the last search of the previous call. Together the calls return each search once.
func (suite savedSearchSuite) listAfterId(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	const limit = 3

	var want, got []string
	for range 7 {
		search := newSearch(newID(), withoutAlerts, now)
		storeSearches(t, storage, search)

		want = append(want, search.ID)
	}

	slices.Sort(want)

	for last := ""; ; last = got[len(got)-1] {
		found, err := storage.Searches.List(context.Background(), jobseeker.SearchFilter{AfterID: last}, limit)
		require.NoError(t, err)

		for _, search := range found {
			got = append(got, search.ID)
		}

		if len(found) < limit {
			break
		}
	}

	require.Equal(t, want, got)
}

// unresolved checks that the filter Unresolved finds the searches with a text whose resolved text is not stored. A
// later change by a caller that has read the search before does not remove the resolved text.
func (suite savedSearchSuite) unresolved(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	resolved := newSearch(newID(), withoutAlerts, now)
	first := newSearch(newID(), withoutAlerts, now)
	second := newSearch(newID(), withoutAlerts, now)
	textless := newSearch(newID(), withoutAlerts, now) // has no text to resolve
	textless.Query = ""
	first.Resolved = ""
	second.Resolved = ""
	textless.Resolved = ""

	for _, search := range []jobseeker.Search{resolved, first, second, textless} {
		storeSearches(t, storage, search)
	}

	unresolved := jobseeker.SearchFilter{Unresolved: true}
	got, err := storage.Searches.List(context.Background(), unresolved, wholeList)
	require.NoError(t, err)
	require.ElementsMatch(t, []jobseeker.Search{first, second}, got)

	got, err = storage.Searches.List(context.Background(), unresolved, 1)
	require.NoError(t, err)
	require.Len(t, got, 1)

	// The resolved texts of two searches are stored. An unknown search is ignored.
	require.NoError(t, storage.Searches.UpdateResolved(context.Background(), nil))

	unknownID := newID()
	resolvedTexts := map[string]string{first.ID: "nurse ", resolved.ID: "'midwife' ", unknownID: "porter"}
	require.NoError(t, storage.Searches.UpdateResolved(context.Background(), resolvedTexts))

	got, err = storage.Searches.List(context.Background(), unresolved, wholeList)
	require.NoError(t, err)
	require.Equal(t, []jobseeker.Search{second}, got)

	// A copy of the first search, which was read before the update, is stored with another change.
	outdated := first
	outdated.EmailAlerts = withAlerts
	storeSearches(t, storage, outdated)

	// The first search has both changes.
	first.EmailAlerts = withAlerts
	first.Resolved = resolvedTexts[first.ID]
	resolved.Resolved = resolvedTexts[resolved.ID]

	for _, search := range []jobseeker.Search{first, resolved} {
		require.Equal(t, []jobseeker.Search{search}, suite.byUser(t, storage, search.UserID, wholeList))
	}
}

// lockedChanges checks that concurrent transactions that lock the profile see the changes of the previous ones.
// Each of twelve transactions adds a search, unless it finds three. So the user has three searches at the end.
func (suite savedSearchSuite) lockedChanges(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	const maxSearches = 3
	user := newID()

	const transactions = 12
	runConcurrently(t, transactions, func(int) error {
		return tryWithProfile(storage, user, func(ctx context.Context) error {
			stored, err := storage.Searches.ListByUser(ctx, user, wholeList)
			if err != nil || len(stored) == maxSearches {
				return err
			}

			return storage.Searches.Replace(ctx, user, append(stored, newSearch(user, withAlerts, now)))
		})
	})

	require.Len(t, suite.byUser(t, storage, user, wholeList), maxSearches)
}

// alertsTurnedOff checks that the matches of a search do not get into a digest if its alerts are turned off after
// the matches were found.
func (suite savedSearchSuite) alertsTurnedOff(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	first := newSearch(user, withAlerts, now)
	second := newSearch(user, withAlerts, now)
	other := newSearch(newID(), withAlerts, now)

	storeSearches(t, storage, first, second)
	storeSearches(t, storage, other)

	matchOfSecond := newMatch(second, newID(), now)
	storeMatches(t, storage, newMatch(first, newID(), now), matchOfSecond, newMatch(other, newID(), now))

	// The alerts of one of the user's two searches are turned off.
	first.EmailAlerts = withoutAlerts
	storeSearches(t, storage, first, second)
	require.ElementsMatch(t, []jobseeker.Search{first, second}, suite.byUser(t, storage, user, wholeList))

	// The user and the other user get digests. The user's digest has the match of the second search only.
	digests, users := assignDigests(t, storage, manyUsers, now, now.Add(time.Hour))
	require.Equal(t, 2, users)

	for _, digest := range digests {
		matches, err := storage.Matches.ListByDigest(context.Background(), digest.UserID, digest.ID, wholeList)
		require.NoError(t, err)
		require.Len(t, matches, 1)

		if digest.UserID == user {
			matchOfSecond.SearchName = second.Name // set by ListByDigest only
			require.Equal(t, matchOfSecond, matches[0])
		}
	}
}

// AlertQueue checks the port jobseeker.AlertQueue: the ids of the listings that have to be matched with the saved
// searches. An id is listed until it is deleted. A second addition of the same id changes nothing.
func AlertQueue(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()
	storage, _ := openJobseeker(t, open)
	list := func(n int) []string {
		t.Helper()

		ids, err := storage.AlertQueue.List(ctx, n)
		require.NoError(t, err)

		return ids
	}

	const queued, page = 5, 3

	want := newIDs(queued)
	for range 2 { // the event of a new listing may be delivered twice
		for _, id := range want {
			require.NoError(t, storage.AlertQueue.Add(ctx, id))
		}
	}

	first := list(page)
	require.Len(t, first, page)
	require.Equal(t, first, list(page), "reading removes no id")

	// The ids of the first page are deleted, and then all.
	require.NoError(t, storage.AlertQueue.Delete(ctx, nil))
	require.NoError(t, storage.AlertQueue.Delete(ctx, first))

	remaining := list(queued)
	require.ElementsMatch(t, want, slices.Concat(first, remaining))
	require.NoError(t, storage.AlertQueue.Delete(ctx, want))
	require.Empty(t, list(queued))
}

// Matches checks the port jobseeker.Matches.
func Matches(t *testing.T, open JobseekerOpener) {
	suite := matchSuite{open: open}
	t.Run("create", suite.create)
	t.Run("create, concurrently", suite.createConcurrently)
	t.Run("job alerts turned off", suite.jobAlertsTurnedOff)
	t.Run("digests", suite.digests)
	t.Run("next digest", suite.nextDigest)
	t.Run("digest without matches", suite.digestWithoutMatches)
	t.Run("digests, concurrently", suite.digestsConcurrently)
	t.Run("retention", suite.retention)
}

// matchSuite has the subtests of Matches.
type matchSuite struct {
	open JobseekerOpener
}

// create checks that Create stores a match of a search with a listing once, and returns only the new matches. A
// call with 2,500 matches, which an adapter has to divide into several statements, succeeds, too.
func (suite matchSuite) create(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), withAlerts, now)
	storeSearches(t, storage, search)

	first := newMatch(search, newID(), now)
	second := newMatch(search, newID(), now)
	third := newMatch(search, newID(), now)

	require.ElementsMatch(t, []jobseeker.Match{first, second}, storeMatches(t, storage, second, first))
	require.Equal(t, []jobseeker.Match{third}, storeMatches(t, storage, third, first), "the first one is stored already")
	require.Empty(t, storeMatches(t, storage), "a call without matches")

	const count = 2_500
	var many []jobseeker.Match

	for range count {
		many = append(many, newMatch(search, newID(), now))
	}

	require.Len(t, storeMatches(t, storage, many...), count)
}

// createConcurrently checks that each of twenty matches is new for one of eight concurrent transactions. Every
// second transaction stores the matches in reverse order, which must not cause a deadlock.
func (suite matchSuite) createConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), withAlerts, now)

	const matchCount, transactions = 20, 8

	var matches []jobseeker.Match
	for range matchCount {
		matches = append(matches, newMatch(search, newID(), now))
	}

	created := make([]int, transactions) // the number of new matches by transaction
	runConcurrently(t, len(created), func(i int) error {
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
	for _, newMatches := range created {
		total += newMatches
	}

	require.Equal(t, matchCount, total)
}

// jobAlertsTurnedOff checks that no match is stored for a user who has turned off all alerts in the profile
// (JobAlerts). The alerts of a user without a stored profile are on.
func (suite matchSuite) jobAlertsTurnedOff(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	// Three searches of three users: alerts off, alerts on, and no profile.
	off := newSearch(newID(), withAlerts, now)
	on := newSearch(newID(), withAlerts, now)
	withoutProfile := newSearch(newID(), withoutAlerts, now)

	for _, profile := range []jobseeker.Profile{{UserID: off.UserID}, {UserID: on.UserID, JobAlerts: true}} {
		withProfile(t, storage, profile.UserID,
			func(ctx context.Context) error { return storage.Profiles.Update(ctx, profile) })
	}

	stored := []jobseeker.Match{newMatch(on, newID(), now), newMatch(withoutProfile, newID(), now)}
	refused := newMatch(off, newID(), now)
	require.ElementsMatch(t, stored, storeMatches(t, storage, append(stored, refused)...))

	// The search of the user without a profile has no alerts. So there is one digest.
	digests, users := assignDigests(t, storage, manyUsers, now, now.Add(time.Hour))
	require.Equal(t, 1, users)
	require.Len(t, digests, 1)
	require.Equal(t, on.UserID, digests[0].UserID)
}

// listDigest returns the matches of the digest, those of recent listings first.
func (suite matchSuite) listDigest(
	t *testing.T, storage adapters.JobseekerStorage, user, digest string, limit int,
) []jobseeker.Match {
	t.Helper()

	matches, err := storage.Matches.ListByDigest(context.Background(), user, digest, limit)
	require.NoError(t, err)

	return matches
}

// digests checks which matches a digest contains.
func (suite matchSuite) digests(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, next := newID(), now.Add(24*time.Hour)

	// The user has three searches, one of them without alerts.
	first := newSearch(user, withAlerts, now)
	second := newSearch(user, withAlerts, now)
	silent := newSearch(user, withoutAlerts, now)
	second.Name = "Other"
	storeSearches(t, storage, first, second, silent)

	// An old listing matches one search. A recent listing matches all searches.
	old, recent := newID(), newID()
	storeMatches(t, storage,
		newMatch(first, old, now),
		newMatch(first, recent, now), newMatch(second, recent, now), newMatch(silent, recent, now))

	digests, users := assignDigests(t, storage, manyUsers, now, next)
	require.Equal(t, 1, users)
	require.Len(t, digests, 1)
	require.Equal(t, user, digests[0].UserID)

	// The digest has the three matches of the searches with alerts, those of the recent listing first.
	digest := digests[0].ID
	matches := suite.listDigest(t, storage, user, digest, wholeList)
	require.Len(t, matches, 3)
	require.Equal(t, []string{recent, recent, old},
		[]string{matches[0].ListingID, matches[1].ListingID, matches[2].ListingID})
	require.ElementsMatch(t, []string{first.Name, second.Name}, []string{matches[0].SearchName, matches[1].SearchName})
	require.Len(t, suite.listDigest(t, storage, user, digest, 1), 1, "at most as many as the limit")
	require.Empty(t, suite.listDigest(t, storage, newID(), digest, wholeList), "a digest of another user")
	require.Empty(t, suite.listDigest(t, storage, user, newID(), wholeList), "an unknown digest")

	// The searches change after the digest was assigned: one is deleted, and the alerts of another one are
	// turned off. Their matches leave the digest.
	storeSearches(t, storage, first, silent)
	require.Len(t, suite.listDigest(t, storage, user, digest, wholeList), 2, "without the match of the deleted search")

	first.EmailAlerts = withoutAlerts
	storeSearches(t, storage, first, silent)
	require.Empty(t, suite.listDigest(t, storage, user, digest, wholeList), "no search has alerts")
}

// nextDigest checks when the next digest of a user is assigned: at the time next or later, if there are new matches.
func (suite matchSuite) nextDigest(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	next := now.Add(24 * time.Hour)

	search := newSearch(newID(), withAlerts, now)
	storeSearches(t, storage, search)
	storeMatches(t, storage, newMatch(search, newID(), now))

	digests, _ := assignDigests(t, storage, manyUsers, now, next)
	require.Len(t, digests, 1, "the first digest")

	_, users := assignDigests(t, storage, manyUsers, next, next)
	require.Zero(t, users, "all matches are in the first digest")

	storeMatches(t, storage, newMatch(search, newID(), now))

	_, users = assignDigests(t, storage, manyUsers, next.Add(-time.Microsecond), next)
	require.Zero(t, users, "too soon after the previous digest")

	digests, _ = assignDigests(t, storage, manyUsers, next, next.Add(time.Hour))
	require.Len(t, digests, 1, "the next digest")
}

// digestWithoutMatches checks that a user whose alerts were turned off after a match is selected by AssignDigests,
// but gets no digest. The next digest of the user is then due at once, not at the time next.
func (suite matchSuite) digestWithoutMatches(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	search := newSearch(newID(), withAlerts, now)
	storeSearches(t, storage, search)
	storeMatches(t, storage, newMatch(search, newID(), now))

	off := search
	off.EmailAlerts = withoutAlerts
	storeSearches(t, storage, off)

	next := now.Add(24 * time.Hour)
	digests, users := assignDigests(t, storage, manyUsers, now, next)
	require.Empty(t, digests)
	require.Equal(t, 1, users)

	// The user saves another search with alerts, and another match is found.
	storeSearches(t, storage, off, newSearch(search.UserID, withAlerts, now))
	storeMatches(t, storage, newMatch(search, newID(), now))

	digests, _ = assignDigests(t, storage, manyUsers, now, next)
	require.Len(t, digests, 1, "the next digest is not delayed")
}

// digestsConcurrently checks that twelve users get one digest each, which six concurrent callers assign. A call may
// assign fewer digests than it could, because other calls have locked the users. So a last call assigns the
// digests that remain.
func (suite matchSuite) digestsConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	const users = 12
	next := now.Add(time.Hour)

	for i := range users {
		search := newSearch(newID(), withAlerts, now)
		search.Name = fmt.Sprint(i)
		storeSearches(t, storage, search)
		storeMatches(t, storage, newMatch(search, newID(), now))
	}

	const callers, callsOfEach, usersOfCall = 6, 4, 3

	assignedBy := make([]int, callers) // the number of digests by caller
	runConcurrently(t, callers, func(caller int) error {
		for range callsOfEach {
			assigned := 0

			err := storage.Tx.Do(context.Background(), func(ctx context.Context) error {
				digests, _, err := storage.Matches.AssignDigests(ctx, newIDs(usersOfCall), now, next)
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

	remaining, _ := assignDigests(t, storage, manyUsers, now, next)

	total := len(remaining)
	for _, assigned := range assignedBy {
		total += assigned
	}

	require.Equal(t, users, total)
}

// retention checks that the three matches that are older than a given time are deleted. There are five matches, one
// hour apart.
func (suite matchSuite) retention(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	search := newSearch(newID(), withoutAlerts, now)
	for i := range 5 {
		storeMatches(t, storage, newMatch(search, newID(), now.Add(time.Duration(i)*time.Hour)))
	}

	checkRetention(t, storage.Retention, jobseeker.MatchKind, now.Add(3*time.Hour))
}
