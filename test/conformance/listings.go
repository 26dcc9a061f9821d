package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// ListingsOpener returns an empty storage with the current schema, whose time is that
// of the clock.
type ListingsOpener = func(t testing.TB, clk clock.Clock) adapters.ListingsStorage

// admin returns an actor with every permission in the organization.
func admin(organizationID string) auth.Actor {
	return auth.Actor{OrganizationID: organizationID, Permissions: []auth.Permission{auth.Manage}}
}

// Listings checks the storage of modules/listings.
func Listings(t *testing.T, open ListingsOpener) {
	t.Run("listings", func(t *testing.T) { ListingsRepository(t, open) })
	t.Run("views", func(t *testing.T) { Views(t, open) })
	t.Run("cases", func(t *testing.T) { Cases(t, open) })
	t.Run("feed", func(t *testing.T) { Feed(t, open) })
}

// ListingsRepository checks the ports listings.Repository, listings.PublicRepository
// and listings.Loader.
func ListingsRepository(t *testing.T, open ListingsOpener) {
	for name, test := range map[string]func(*testing.T, *board){
		"create and get":               createAndGetListing,
		"update":                       updateListing,
		"other owner":                  listingOfOtherOwner,
		"update of a stale listing":    updateOfStaleListing,
		"batch with a stale listing":   batchWithStaleListing,
		"visibility":                   listingVisibility,
		"pages and counts":             listingPagesAndCounts,
		"states":                       listingStates,
		"export":                       listingExport,
		"briefs in every status":       briefsInEveryStatus,
		"closing listings by deadline": listingsClosingInPeriod,
		"posted listings":              postedListings,
		"open listings by publication": openListings,
		"expired listings":             expiredListings,
		"listings without a name":      listingsWithoutName,
		"renamed organization":         renamedOrganization,
		"organization renamed again":   organizationRenamedAgain,
		"hidden listing":               hiddenListing,
		"titles in every status":       titlesInEveryStatus,
		"rollback":                     rolledBackListing,
		"batch of 100":                 batchOf100Listings,
		"concurrent sweeps":            concurrentSweeps,
		"unusual text":                 unusualText,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newBoard(t, open)) })
	}
}

// board is a storage of listings with a service and a search engine. It also takes the place of the other modules:
// the service gets from it the names and settings of organizations, the homes of jobseekers and the numbers of
// applications.
type board struct {
	adapters.ListingsStorage
	clk *fakeClock
	svc *listings.Service
	// org is the organization whose listings the tests post.
	org string
	// home is the home location of every jobseeker.
	home string
	// company is the name of every organization. CompanyName first returns each of the earlier
	// names once, for a test of an organization that is renamed meanwhile.
	company      string
	earlierNames []string
	// holds is true if the new jobs of organizations are held until a moderator has approved them.
	holds bool
}

// CompanyName implements listings.Organizations. It returns the next of the earlier names, or else the name of the
// board.
func (b *board) CompanyName(context.Context, string) (string, error) {
	if len(b.earlierNames) > 0 {
		name := b.earlierNames[0]
		b.earlierNames = b.earlierNames[1:]
		return name, nil
	}

	return b.company, nil
}

// HoldsJobs implements listings.Organizations. It returns the setting of the board for every organization.
func (b *board) HoldsJobs(context.Context, string) (bool, bool, error) { return b.holds, b.holds, nil }

// HomeLocation implements listings.Seekers. It returns the home of the board for every jobseeker.
func (b *board) HomeLocation(context.Context, string) (string, error) { return b.home, nil }

// SearchAdapters are the adapters of a search engine.
type SearchAdapters struct {
	// Index returns an empty index.
	Index func() (search.Index, error)
	// NewBatch returns a matcher that finds out which of the documents match a saved search.
	NewBatch func(docs []*search.Document) (search.Matcher, error)
	// Gazetteer finds places by their names.
	Gazetteer listings.Gazetteer
}

// naiveSearch is a simple search engine in memory.
var naiveSearch = SearchAdapters{
	Index:     func() (search.Index, error) { return newNaiveIndex(), nil },
	NewBatch:  newNaiveMatcher,
	Gazetteer: naiveGazetteer{},
}

// newBoard returns an empty board with a simple search engine.
func newBoard(t testing.TB, open ListingsOpener) *board { return newSearchBoard(t, open, naiveSearch) }

// newSearchBoard returns an empty board with the given search engine.
func newSearchBoard(t testing.TB, open ListingsOpener, with SearchAdapters) *board {
	clk := newFakeClock()
	b := &board{ListingsStorage: open(t, clk), clk: clk, org: newID(), company: "Northgate NHS Foundation Trust"}
	requirePorts(t, b.ListingsStorage)

	defaults := adapters.Storage{Listings: b.ListingsStorage}
	defaults.SetDefaults()

	b.svc = listings.New(listings.Deps{
		Tx:            b.Tx,
		Events:        b.Events,
		Audit:         discardAudit{},
		Clock:         clk,
		NewID:         newID,
		Listings:      b.Listings,
		Views:         defaults.Listings.Views,
		Engine:        startEngine(t, b.ListingsStorage, with),
		NewBatch:      with.NewBatch,
		Gazetteer:     with.Gazetteer,
		Organizations: b,
		Seekers:       b,
		Public:        b.Public,
		Cases:         b.Cases,
		Applications:  b,
		SearchTimeout: time.Minute, // long, because the machine may run many tests at once
	})

	return b
}

// startEngine returns a search engine that indexes the changes of the storage until the test ends.
func startEngine(t testing.TB, storage adapters.ListingsStorage, with SearchAdapters) *listings.Engine {
	vocabulary, err := search.Load()
	require.NoError(t, err)

	engine := listings.NewEngine(listings.EngineDeps{
		Open:          func(context.Context, bool) (search.Index, error) { return with.Index() },
		Feed:          storage.Feed,
		Notifications: storage.Outbox.Notifications,
		Changes:       storage.Changes,
		Places:        with.Gazetteer,
		Log:           slog.New(slog.DiscardHandler),
		// A search must find what the test has stored, however busy the machine is.
		CatchUpTimeout: time.Minute,
	}, vocabulary)
	require.NoError(t, engine.Open(t.Context()))

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { engine.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	require.Eventually(t, func() bool { return engine.Ping(t.Context()) == nil }, time.Minute, time.Millisecond)

	return engine
}

// discardAudit is an audit log that no suite reads.
type discardAudit struct{}

// Record implements audit.Recorder.
func (discardAudit) Record(context.Context, audit.Entry) error { return nil }

// CountByListing implements listings.Applications. No listing has applications.
func (b *board) CountByListing(context.Context, string, []string) (map[string]int, error) {
	return map[string]int{}, nil
}

// get returns the organization's listing, or listings.ErrJobNotFound.
func (b *board) get(ctx context.Context, organizationID, id string) (listings.Listing, error) {
	found, err := b.Listings.ListBySelection(ctx, organizationID, listings.Selection{IDs: []string{id}}, 1)
	return only(found, err, listings.ErrJobNotFound)
}

// public returns the listing if it is public, or listings.ErrNotFound.
func (b *board) public(ctx context.Context, id string) (listings.Listing, error) {
	found, err := b.Public.ListPublic(ctx, []string{id}, b.clk.Now())
	return only(found, err, listings.ErrNotFound)
}

// only returns the only listing that was found, or errAbsent if there is none.
func only(found []listings.Listing, err, errAbsent error) (listings.Listing, error) {
	if err != nil {
		return listings.Listing{}, err
	}

	if len(found) == 0 {
		return listings.Listing{}, errAbsent
	}

	return found[0], nil
}

// ptr returns a pointer to v.
func ptr[T any](v T) *T { return &v }

// post creates a listing of the board's organization.
func (b *board) post(t testing.TB, input listings.CreateInput) listings.Listing {
	t.Helper()

	if input.Description == "" {
		input.Description = "A good post in a good house."
	}

	listing, err := b.svc.Create(t.Context(), admin(b.org), input)
	require.NoError(t, err)

	return listing
}

// fullInput returns an input with all fields and characters that need escaping.
func fullInput() listings.CreateInput {
	return listings.CreateInput{
		Title:       "Staff Nurse – Zoë's \"Ward\" & 50% _more_",
		Description: "Line one\nLine two \U0001F469\u200d⚕️ \\ ' % _",
		Details: listings.Details{
			Department:          ptr("Cardiology"),
			ContractType:        ptr("permanent"),
			EmploymentType:      ptr("part-time"),
			Specialty:           ptr("Intensive Care"),
			Location:            ptr("Leeds"),
			Remote:              ptr(true),
			Salary:              &listings.SalaryInput{Min: ptr(18.5), Max: ptr(21.0), Currency: ptr("USD"), Period: ptr("hour")},
			Requirements:        &[]string{"NMC <PIN>", "Empathy"},
			Benefits:            &[]string{"Pension"},
			Questions:           &[]listings.QuestionInput{{ID: "pin", Text: "Your PIN?", Required: true}, {Text: "Nights?"}},
			ApplicationDeadline: ptr("2099-12-31"),
		},
	}
}

// requireSameListing requires that the stored listing is the wanted one, apart from its version, which depends on the
// number of updates.
func requireSameListing(t testing.TB, want, got listings.Listing) {
	t.Helper()

	want.Version, got.Version = 0, 0

	// The population of a place is not stored.
	if want.Place != nil && got.Place != nil {
		place := *want.Place
		place.Population = 0
		want.Place = &place
	}

	// A storage may change the white space of metadata, and stores none as an empty object.
	if len(want.Meta) == 0 {
		want.Meta = []byte("{}")
	}

	require.JSONEq(t, string(want.Meta), string(got.Meta))

	want.Meta, got.Meta = nil, nil
	require.Equal(t, want, got)
}

// createAndGetListing checks that a listing with all fields, and one with only a title and a description, are
// stored unchanged. A new listing is active and open to applications unless it is a draft.
func createAndGetListing(t *testing.T, b *board) {
	listing := b.post(t, fullInput())
	require.True(t, listing.Open, "a new listing")

	got, err := b.get(t.Context(), b.org, listing.ID)
	require.NoError(t, err)
	requireSameListing(t, listing, got)

	got, err = b.public(t.Context(), listing.ID)
	require.NoError(t, err)
	requireSameListing(t, listing, got)

	bare := b.post(t, listings.CreateInput{Title: "Bare", Status: ptr("draft")})
	got, err = b.get(t.Context(), b.org, bare.ID)
	require.NoError(t, err)
	requireSameListing(t, bare, got)
	require.Nil(t, got.PostedAt, "a draft is not posted")
	require.False(t, got.Open, "a draft")
}

// updateListing checks an update of a listing whose fields are all set. New values are stored, and empty ones clear
// their fields. A search finds the new texts only. Metadata is a JSON object of the client, and is stored without a
// change of its numbers.
func updateListing(t *testing.T, b *board) {
	listing := b.post(t, fullInput())
	b.clk.Advance(time.Minute)

	listing, err := b.svc.Update(t.Context(), admin(b.org), listing.ID, listings.UpdateInput{
		Title:       ptr("Dietitian"),
		Description: ptr("Other words"),
		Details: listings.Details{
			Location:            ptr("Cork, Ireland"),
			Salary:              &listings.SalaryInput{},
			Requirements:        &[]string{},
			Questions:           &[]listings.QuestionInput{},
			Remote:              ptr(false),
			ApplicationDeadline: ptr(""),
			Specialty:           ptr(""),
			ContractType:        ptr(""),
		},
	})
	require.NoError(t, err)

	const meta = `{"listing":{"title":"kept","n":12345678901234567890.5}}` // the number has more digits than a float64

	_, err = b.svc.PatchMeta(t.Context(), admin(b.org), listing.ID, []byte(meta))
	require.NoError(t, err)

	got, err := b.svc.Get(t.Context(), admin(b.org), listing.ID)
	require.NoError(t, err)
	require.JSONEq(t, meta, string(got.Meta))
	require.Equal(t, "Dietitian", got.Title)
	require.Nil(t, got.Salary, "cleared")
	require.Nil(t, got.Questions, "cleared")
	require.Nil(t, got.Deadline, "cleared")
	require.Equal(t, "County Cork", got.Place.Region, "the place of the new location")

	// Searches.
	require.Empty(t, b.find(t, listings.FindInput{Text: "zoe"}), "old words are not found any more")
	require.Equal(t, []string{"Dietitian"},
		b.find(t, listings.FindInput{Text: "dietitian", Filters: listings.FilterInput{Location: "Cork"}}))
}

// listingOfOtherOwner checks that a listing can be neither read, listed nor changed with the id of
// another organization.
func listingOfOtherOwner(t *testing.T, b *board) {
	listing := b.post(t, fullInput())
	otherOrg := newID()
	_, err := b.get(t.Context(), otherOrg, listing.ID)
	require.ErrorIs(t, err, listings.ErrJobNotFound)

	selected, err := b.Listings.ListBySelection(t.Context(), otherOrg, listings.Selection{IDs: []string{listing.ID}}, 1)
	require.NoError(t, err)
	require.Empty(t, selected)

	const everyStatus = ""

	listed, err := b.Listings.List(t.Context(), otherOrg, everyStatus, firstHundred)
	require.NoError(t, err)
	require.Empty(t, listed.Items)
	require.Zero(t, listed.Total)

	_, err = b.svc.Update(t.Context(), admin(otherOrg), listing.ID, listings.UpdateInput{Title: ptr("Mine now")})
	require.ErrorIs(t, err, listings.ErrJobNotFound)

	// An update by the repository itself fails as well. The runner may repeat the transaction until its context
	// ends, as it does after a version conflict.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	stolen, err := b.get(ctx, b.org, listing.ID)
	require.NoError(t, err)

	stolen.Title = "Mine now"
	require.Error(t, b.Tx.Do(ctx, func(ctx context.Context) error {
		return b.Listings.Update(ctx, otherOrg, []listings.Listing{stolen})
	}))

	got, err := b.get(ctx, b.org, listing.ID)
	require.NoError(t, err)
	requireSameListing(t, listing, got)
}

// updateOfStaleListing checks that no concurrent change is lost. Each of twenty changes adds another member to the
// metadata. A change that has read an outdated version is repeated.
func updateOfStaleListing(t *testing.T, b *board) {
	const changes = 20

	listing := b.post(t, listings.CreateInput{Title: "Counter"})
	runConcurrently(t, changes, func(i int) error {
		_, err := b.svc.PatchMeta(context.Background(), admin(b.org), listing.ID, fmt.Appendf(nil, `{"n%d":%d}`, i, i))
		return err
	})

	got, err := b.svc.Get(t.Context(), admin(b.org), listing.ID)
	require.NoError(t, err)

	for i := range changes {
		require.Contains(t, string(got.Meta), fmt.Sprintf(`"n%d":`, i))
	}
}

// batchWithStaleListing checks that a transaction that updates two listings is rolled back and repeated as a whole
// if one of them has an outdated version. The other listing is then updated once, by the second attempt.
func batchWithStaleListing(t *testing.T, b *board) {
	first := b.post(t, listings.CreateInput{Title: "One"})
	second := b.post(t, listings.CreateInput{Title: "Two"})
	attempts := 0
	require.NoError(t, b.Tx.Do(t.Context(), func(ctx context.Context) error {
		attempts++
		firstUpdate, err := b.get(ctx, b.org, first.ID)
		require.NoError(t, err)

		secondUpdate, err := b.get(ctx, b.org, second.ID)
		require.NoError(t, err)

		firstUpdate.Title, secondUpdate.Title = "One b", "Two b"
		if attempts == 1 {
			secondUpdate.Version-- // is outdated
		}

		return b.Listings.Update(ctx, b.org, []listings.Listing{firstUpdate, secondUpdate})
	}))
	require.Equal(t, 2, attempts, "attempts of the transaction")

	got, err := b.svc.Get(t.Context(), admin(b.org), first.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2), got.Version, "1 after the creation, and 2 after one update")
}

// hiddenListing checks that a listing that a moderator has hidden is not public, even after its organization renews
// it, until the moderator shows it again. Other modules learn from events that a listing is no longer public, or is
// public again.
func hiddenListing(t *testing.T, b *board) {
	listing := b.post(t, fullInput())
	b.takeEvents(t)

	// A brief is a summary of a listing for other modules. Unknown ids have none.
	briefs, err := b.Public.ListBriefs(t.Context(), []string{listing.ID, newID()}, b.clk.Now())
	require.NoError(t, err)
	require.Len(t, briefs, 1)
	require.Equal(t, b.org, briefs[0].OrganizationID)

	// isPublic reports whether guests can both read and find the listing, which is the only one.
	isPublic := func() bool {
		_, err := b.public(t.Context(), listing.ID)
		return err == nil && len(b.find(t, listings.FindInput{})) == 1
	}

	require.True(t, isPublic(), "before it is hidden")

	// A moderator hides the listing, whose status stays active for its organization.
	_, err = b.svc.Hide(t.Context(), newID())
	require.ErrorIs(t, err, listings.ErrJobNotFound)

	hidden, err := b.svc.Hide(t.Context(), listing.ID)
	require.NoError(t, err)
	require.False(t, isPublic(), "hidden")

	got, err := b.get(t.Context(), b.org, listing.ID)
	require.NoError(t, err)
	requireSameListing(t, hidden, got)
	require.Equal(t, listings.Active, got.Status)

	// The organization renews the hidden listing, which causes no event.
	const days = 30

	_, err = b.svc.Renew(t.Context(), admin(b.org), listing.ID, days)
	require.NoError(t, err)
	require.False(t, isPublic(), "hidden and renewed")
	require.Equal(t, map[string]int{"job.closed": 1, "job.moderated": 1}, b.takeEvents(t), "the events of hiding")

	// The moderator shows it again.
	_, err = b.svc.Show(t.Context(), listing.ID)
	require.NoError(t, err)
	require.True(t, isPublic(), "shown again")
	require.Equal(t, map[string]int{"job.moderated": 1, "job.updated": 1}, b.takeEvents(t))
}

// takeEvents removes the events from the outbox, where they wait to be published, and counts them by type.
func (b *board) takeEvents(t testing.TB) map[string]int {
	t.Helper()

	counts := map[string]int{}
	for {
		const limit, claimDuration = 100, time.Minute

		batch, err := b.Outbox.Claim(t.Context(), limit, claimDuration)
		require.NoError(t, err)

		if len(batch) == 0 {
			return counts
		}

		var ids []string
		for _, event := range batch {
			counts[event.Type]++
			ids = append(ids, event.ID)
		}

		require.NoError(t, b.Outbox.MarkSent(t.Context(), ids...))
	}
}

// postedBeforeRename is the number of listings that postBeforeRename posts, of which all but one are public.
const postedBeforeRename = 5

// postBeforeRename posts listings of the board's organization, the oldest first, and deletes the first of them. It removes
// the events that these changes cause.
func (b *board) postBeforeRename(t testing.TB) (posted []listings.Listing) {
	t.Helper()

	for i := range postedBeforeRename {
		if i%2 == 1 { // the others are posted at the same time as the one before
			b.clk.Advance(time.Second)
		}

		posted = append(posted, b.post(t, listings.CreateInput{Title: fmt.Sprintf("Nurse %d", i), Description: "Days"}))
	}

	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), posted[0].ID))
	b.takeEvents(t)

	return posted
}

// listingsWithoutName checks that the listings that do not have the new name of their organization are selected in pages,
// newest first, also deleted ones.
func listingsWithoutName(t *testing.T, b *board) {
	posted := b.postBeforeRename(t)

	const newName, pageSize = "Southgate Trust", 2
	var listedIDs []string
	var last *listings.Listing // of the previous page

	for {
		selection := listings.Selection{NotCompany: newName, Before: last}
		page, err := b.Listings.ListBySelection(t.Context(), b.org, selection, pageSize)
		require.NoError(t, err)

		if len(page) == 0 {
			break
		}

		for _, listing := range page {
			listedIDs = append(listedIDs, listing.ID)
		}

		last = &page[len(page)-1]
	}

	var wantIDs []string
	for _, listing := range slices.Backward(posted) {
		wantIDs = append(wantIDs, listing.ID)
	}

	require.Equal(t, wantIDs, listedIDs)
}

// renamedOrganization checks that the new name of an organization is written into all of its listings, also deleted
// ones, and into the search index. Events are recorded for public listings only.
func renamedOrganization(t *testing.T, b *board) {
	ctx := t.Context()
	posted := b.postBeforeRename(t)
	deletedID := posted[0].ID

	const publicListings = postedBeforeRename - 1

	foreign, err := b.svc.Create(ctx, admin(newID()), listings.CreateInput{Title: "Porter", Description: "Nights"})
	require.NoError(t, err)
	b.takeEvents(t)

	const newName = "Southgate Trust"

	b.company = newName
	b.clk.Advance(time.Second)
	require.NoError(t, b.svc.OnOrganizationRenamed(ctx, event.OrganizationRenamed{OrganizationID: b.org}))
	require.Equal(t, map[string]int{"job.updated": publicListings}, b.takeEvents(t), "only public listings cause events")

	for _, listing := range posted {
		stored, err := b.get(ctx, b.org, listing.ID)
		require.NoError(t, err)
		require.Equal(t, newName, stored.Company, listing.Title)
		require.Equal(t, listing.Title, stored.Title)
		require.Equal(t, listing.ID == deletedID, stored.DeletedAt != nil, "%s: only the first is deleted", listing.Title)
	}

	require.Len(t, b.find(t, listings.FindInput{Text: "southgate"}), publicListings, "searches find the new name")

	// The listing of another organization keeps its name.
	storedForeign, err := b.get(ctx, foreign.OrganizationID, foreign.ID)
	require.NoError(t, err)
	require.Equal(t, foreign.Company, storedForeign.Company)

	// A second event about the same name changes nothing.
	require.NoError(t, b.svc.OnOrganizationRenamed(ctx, event.OrganizationRenamed{OrganizationID: b.org}))
	require.Empty(t, b.takeEvents(t))
}

// organizationRenamedAgain checks that all listings get the newest name if the organization is renamed again while its
// listings are written: the service first gets the name Eastgate Trust, and Westgate Trust whenever it asks again.
func organizationRenamedAgain(t *testing.T, b *board) {
	posted := b.postBeforeRename(t)

	const publicListings = postedBeforeRename - 1

	b.earlierNames, b.company = []string{"Eastgate Trust"}, "Westgate Trust"
	require.NoError(t, b.svc.OnOrganizationRenamed(t.Context(), event.OrganizationRenamed{OrganizationID: b.org}))
	require.Equal(t, map[string]int{"job.updated": publicListings}, b.takeEvents(t), "only the newest name causes events")

	for _, listing := range posted {
		stored, err := b.get(t.Context(), b.org, listing.ID)
		require.NoError(t, err)
		require.Equal(t, "Westgate Trust", stored.Company, listing.Title)
	}
}

// rolledBackListing checks that a listing whose transaction fails after its creation is neither stored nor found, and
// causes no event.
func rolledBackListing(t *testing.T, b *board) {
	errRollback := errors.New("roll back")
	var id string
	require.ErrorIs(t, b.Tx.Do(t.Context(), func(ctx context.Context) error {
		listing, err := b.svc.Create(ctx, admin(b.org), listings.CreateInput{Title: "Phantom nurse", Description: "x"})
		require.NoError(t, err)

		id = listing.ID

		return errRollback
	}), errRollback)

	_, err := b.svc.Get(t.Context(), admin(b.org), id)
	require.ErrorIs(t, err, listings.ErrJobNotFound)
	require.Empty(t, b.find(t, listings.FindInput{Text: "phantom"}))
	require.Empty(t, b.takeEvents(t))
}

// unusualText checks that texts with operators of SQL and of query languages, and texts in several scripts, can be
// stored, and can be searched for without an error.
func unusualText(t *testing.T, b *board) {
	const decomposedEclair = "e\u0301clair" // the accent is a character of its own (Unicode NFD)
	unusualTitles := []string{
		`'; DROP TABLE listings; --`, `a " OR * NEAR(b) ^ :* !`, `\' & | <-> 'x':1A`, "看護師 募集",
		"ＦＵＬＬ ｗｉｄｔｈ", "🏥", "NOT AND OR", decomposedEclair,
	}

	// Descriptions contain a word that is longer than the text of any search.
	const maxSearchText = 200 // characters

	longWord := strings.Repeat("x", 10*maxSearchText)
	for _, title := range unusualTitles {
		b.post(t, listings.CreateInput{Title: title, Description: title + " " + longWord})
	}

	require.Len(t, b.find(t, listings.FindInput{}), len(unusualTitles))

	for _, text := range []string{
		`"`, `""`, `'`, `\`, `*`, `:`, `^`, `-`, `--`, `- -`, `"" ""`, `(`, `)`, `%`, `_`, `,`, `,,,`, `|`, `a|b`, "\x01", `\x00`,
		`OR`, `OR OR`, `a OR`, `-OR`, `NEAR(a b)`, `title:x`, `{title}`, `a*`, `a AND`, `NOT`, `x:*`, `<->`, `!a`, `a & b`,
		`"unclosed`, `-"unclosed`, `"a"b"c"`, `看護師`, `"🏥"`, `-🏥`, `"of the"`, `the`, `in`, `in in in`, `at`,
		longWord[:maxSearchText],
		strings.Repeat("x ", 100),
		strings.Repeat("q OR ", 40),
		strings.Repeat("-x ", 5),
		strings.Repeat(`"x y" `, 3),
		strings.Repeat("nurse ", 33),
		strings.Repeat("in leeds ", 22),
	} {
		_, err := b.svc.Find(t.Context(), noActor, listings.FindInput{Text: text, Page: firstHundred})
		require.NoError(t, err, "%q", text)
	}

	require.Equal(t, []string{"看護師 募集"}, b.find(t, listings.FindInput{Text: "看護師"}))
	require.Equal(t, []string{decomposedEclair}, b.find(t, listings.FindInput{Text: "Éclair"}))
	require.Empty(t, b.find(t, listings.FindInput{Text: "???"}), "a text without a word finds nothing")
}
