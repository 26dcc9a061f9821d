package bootstrap

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit/stores"
)

// Positions in demoAccounts.
const (
	demoRecruiter = 1
	demoSeeker    = 3
)

// startCommand starts the services of a command and sets the targets, which are pointers to services.
func startCommand(t *testing.T, cfg *config.Config, r role, targets ...any) {
	t.Helper()

	r.isCommand = true
	app := wire(t.Context(), cfg, newRegistry(nil), r, slog.New(slog.DiscardHandler), fx.Populate(targets...))
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, app.Stop(context.Background())) })
}

// openSeeded returns a database with the demo data, among them the given number of listings.
func openSeeded(t *testing.T, listingCount int) (*config.Config, adapters.Storage) {
	t.Helper()

	cfg := testConfig(t, nil)
	migrate(t, cfg)

	var storage adapters.Storage
	var hiringService *hiring.Service
	clock := &pastClock{}
	startCommand(t, cfg, role{clock: clock, newID: clock.newID}, &storage, &hiringService)

	var stored atomic.Int64
	countStored := func(batch int) { stored.Add(int64(batch)) }
	accounts, err := seed(t.Context(), storage, hiringService, clock, listingCount, countStored)
	require.NoError(t, err)
	require.Len(t, accounts, len(demoAccounts))
	require.EqualValues(t, listingCount, stored.Load())

	return cfg, storage
}

// noAccounts implements the ports of listings for organizations and seekers: none of them exist.
type noAccounts struct{}

func (noAccounts) HoldsJobs(context.Context, string) (bool, bool, error) { return false, false, nil }
func (noAccounts) CompanyName(context.Context, string) (string, error)   { return "", nil }
func (noAccounts) HomeLocation(context.Context, string) (string, error)  { return "", nil }

// searchOver returns a service of listings that searches the storage.
func searchOver(t *testing.T, storage adapters.Storage) *listings.Service {
	return listings.New(listings.Deps{
		Tx:            storage.Identity.Tx,
		Events:        storage.Identity.Events,
		Clock:         newDeps(&config.Config{}, slog.New(slog.DiscardHandler)).Clock,
		NewID:         newID,
		Listings:      storage.Listings.Listings,
		Public:        storage.Listings.Public,
		Cases:         storage.Listings.Cases,
		Engine:        stores.Engine(t, storage),
		Gazetteer:     gazetteer.New(),
		Organizations: noAccounts{},
		Seekers:       noAccounts{},
	})
}

// TestSeed_Twice_SameData checks that demo data are the same each time, ids included, so that
// reports of problems can be reproduced, and that a database with users is not seeded.
func TestSeed_Twice_SameData(t *testing.T) {
	t.Parallel()

	const listingCount, pageSize = 300, 100

	// seedAndRead seeds a new database and returns the text of all of its listings.
	seedAndRead := func() string {
		_, storage := openSeeded(t, listingCount)
		service := searchOver(t, storage)

		var text strings.Builder
		for number := 1; number <= listingCount/pageSize; number++ {
			input := listings.FindInput{Page: page.Request{Number: number, Size: pageSize}, Full: true}
			found, err := service.Find(t.Context(), auth.Actor{}, input)
			require.NoError(t, err)

			for _, hit := range found.Items {
				text.WriteString(hit.Listing.ID + hit.Listing.Title + hit.Listing.Company + hit.Listing.Description + "\n")
			}
		}

		// The database has users now, so that it is not seeded again.
		const isPublic = false

		local := &config.Config{HTTP: config.HTTP{PublicURL: "http://localhost:8080"}}
		require.ErrorIs(t, checkDemoAllowed(t.Context(), local, storage, isPublic), errHasUsers)

		recruiter, err := storage.Identity.Users.GetByEmail(t.Context(), demoAccounts[demoRecruiter].Email)
		require.NoError(t, err)

		membership, err := storage.Identity.Members.GetByUser(t.Context(), recruiter.ID)
		require.NoError(t, err)
		require.Equal(t, identity.Recruiter, membership.Role)

		return text.String()
	}

	today := func() int { return time.Now().UTC().YearDay() }

	// The data depend on the day. If the day ends meanwhile, both are read again.
	var first, second string
	for isSameDay := false; !isSameDay; {
		begunOn := today()
		first, second = seedAndRead(), seedAndRead()
		isSameDay = begunOn == today()
	}

	require.Equal(t, first, second)
	require.NotContains(t, first, "{", "a placeholder of a template")
	require.NotContains(t, first, "  ", "two spaces, between which a value is missing")
}

// TestSeed_Listings_AreInOrderOfPosting checks that ids, which lists are sorted by, agree with
// the dates of listings in the past, and that a new listing is the first one.
func TestSeed_Listings_AreInOrderOfPosting(t *testing.T) {
	t.Parallel()

	_, storage := openSeeded(t, 600)
	service := searchOver(t, storage)

	// Create a listing after the demo data.
	employer := auth.Actor{OrganizationID: newID(), Permissions: []auth.Permission{auth.Manage}}
	_, err := service.Create(t.Context(), employer, listings.CreateInput{Title: "Nurse of today", Description: "x"})
	require.NoError(t, err)

	newestFirst := listings.FindInput{Sort: "date", Page: page.Request{Number: 1, Size: 100}}
	found, err := service.Find(t.Context(), auth.Actor{}, newestFirst)
	require.NoError(t, err)
	require.Equal(t, "Nurse of today", found.Items[0].Listing.Title)

	for i := 1; i < len(found.Items); i++ {
		newer, older := found.Items[i-1].Listing, found.Items[i].Listing
		require.False(t, older.PostedAt.After(*newer.PostedAt), "listings %d and %d", i-1, i)
	}
}

// TestSeed_Applications_BelongToBothSides checks that the demo clinician and the demo employer
// see the same applications, one in each status, and an interview that is in the future.
func TestSeed_Applications_BelongToBothSides(t *testing.T) {
	t.Parallel()

	cfg, storage := openSeeded(t, 200)
	var service *hiring.Service
	startCommand(t, cfg, role{}, &service)

	ctx := t.Context()
	now := newDeps(cfg, slog.New(slog.DiscardHandler)).Clock.Now()
	demoActor := func(account int) auth.Actor {
		user, err := storage.Identity.Users.GetByEmail(ctx, demoAccounts[account].Email)
		require.NoError(t, err)

		membership, err := storage.Identity.Members.GetByUser(ctx, user.ID)
		require.NoError(t, err)

		return identity.Principal{User: user, Membership: membership}.Actor()
	}
	seeker, recruiter := demoActor(demoSeeker), demoActor(demoRecruiter)
	wholeList := page.Request{Number: 1, Size: 50}

	// The clinician has five applications. The employer has these, and four of others.
	mine, err := service.MyApplications(ctx, seeker, wholeList)
	require.NoError(t, err)
	require.Equal(t, 5, mine.Total)

	received, err := service.ReceivedApplications(ctx, recruiter, wholeList)
	require.NoError(t, err)
	require.Equal(t, 9, received.Total)

	countByStatus := map[hiring.Status]int{}
	for _, application := range mine.Items {
		countByStatus[application.Status]++
		require.True(t, application.ChangedAt.Before(now), "changed in the past: %s", application.Status)
	}

	oneOfEach := map[hiring.Status]int{
		hiring.Pending:      1,
		hiring.Review:       1,
		hiring.Interviewing: 1,
		hiring.Accepted:     1,
		hiring.Rejected:     1,
	}
	require.Equal(t, oneOfEach, countByStatus)

	// The employer has an interview with the clinician.
	const anyStatus = ""

	interviews, err := service.Interviews(ctx, recruiter, anyStatus, wholeList)
	require.NoError(t, err)
	require.Len(t, interviews.Items, 1)
	require.Equal(t, seeker.UserID, interviews.Items[0].ApplicantID)
	require.True(t, interviews.Items[0].Interview.ScheduledAt.After(now), "in the future")
}

// TestSeed_FewListings_NoApplications checks that a seed with fewer listings than the demo
// applications need succeeds.
func TestSeed_FewListings_NoApplications(t *testing.T) {
	t.Parallel()
	openSeeded(t, 1)
}
