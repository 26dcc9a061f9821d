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

// wired starts the services of a command and sets the targets.
func wired(t *testing.T, cfg *config.Config, r role, targets ...any) {
	t.Helper()

	r.isCommand = true
	a := wire(t.Context(), cfg, newRegistry(nil), r, slog.New(slog.DiscardHandler), fx.Populate(targets...))
	require.NoError(t, a.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, a.Stop(context.Background())) })
}

// openSeeded returns a database with demo data and n listings.
func openSeeded(t *testing.T, n int) (*config.Config, adapters.Storage) {
	t.Helper()

	cfg := testConfig(t, nil)
	migrate(t, cfg)
	var storage adapters.Storage
	var hiringSvc *hiring.Service
	clock := &pastClock{}
	wired(t, cfg, role{clock: clock, newID: clock.newID}, &storage, &hiringSvc)
	var told atomic.Int64
	accounts, err := seed(t.Context(), storage, hiringSvc, clock, n, func(n int) { told.Add(int64(n)) })
	require.NoError(t, err)
	require.Len(t, accounts, len(demoAccounts))
	require.EqualValues(t, n, told.Load())

	return cfg, storage
}

// noAccounts answers questions about organizations and seekers that do not exist.
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

	read := func() string {
		_, storage := openSeeded(t, 300)

		var b strings.Builder
		for n := 1; n <= 3; n++ {
			r, err := searchOver(
				t,
				storage,
			).Find(t.Context(), auth.Actor{}, listings.FindInput{Page: page.Request{Number: n, Size: 100}, Full: true})
			require.NoError(t, err)

			for _, h := range r.Items {
				b.WriteString(h.Listing.ID + h.Listing.Title + h.Listing.Company + h.Listing.Description + "\n")
			}
		}

		require.ErrorIs(t,
			checkDemoAllowed(t.Context(), &config.Config{HTTP: config.HTTP{PublicURL: "http://localhost:8080"}}, storage, false),
			errHasUsers)

		u, err := storage.Identity.Users.GetByEmail(t.Context(), demoAccounts[1].Email)
		require.NoError(t, err)

		m, err := storage.Identity.Members.GetByUser(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, identity.Recruiter, m.Role)

		return b.String()
	}

	day := func() int { return time.Now().UTC().YearDay() }

	first, second := "", ""
	for begun := -1; begun != day(); { // they are of the day, which may end
		begun = day()
		first, second = read(), read()
	}

	require.Equal(t, first, second)
	require.NotContains(t, first, "{")
	require.NotContains(t, first, "  ")
}

// TestSeed_Listings_AreInOrderOfPosting checks that ids, which lists are sorted by, agree with
// the dates of listings in the past, and that a new listing is the first one.
func TestSeed_Listings_AreInOrderOfPosting(t *testing.T) {
	t.Parallel()

	_, s := openSeeded(t, 600)
	svc := searchOver(t, s)
	_, err := svc.Create(t.Context(),
		auth.Actor{OrganizationID: newID(), Permissions: []auth.Permission{auth.Manage}},
		listings.CreateInput{Title: "Nurse of today", Description: "x"})
	require.NoError(t, err)

	r, err := svc.Find(t.Context(), auth.Actor{}, listings.FindInput{Sort: "date", Page: page.Request{Number: 1, Size: 100}})
	require.NoError(t, err)
	require.Equal(t, "Nurse of today", r.Items[0].Listing.Title)

	for i := 1; i < len(r.Items); i++ {
		require.False(t, r.Items[i].Listing.PostedAt.After(*r.Items[i-1].Listing.PostedAt))
	}
}

// TestSeed_Applications_BelongToBothSides checks that the demo clinician and the demo employer
// see the same applications, one in each status, and an interview that is in the future.
func TestSeed_Applications_BelongToBothSides(t *testing.T) {
	t.Parallel()

	cfg, storage := openSeeded(t, 200)
	var desk *hiring.Service
	wired(t, cfg, role{}, &desk)

	ctx, deps := t.Context(), newDeps(cfg, slog.New(slog.DiscardHandler))
	who := func(account int) auth.Actor {
		u, err := storage.Identity.Users.GetByEmail(ctx, demoAccounts[account].Email)
		require.NoError(t, err)

		m, err := storage.Identity.Members.GetByUser(ctx, u.ID)
		require.NoError(t, err)

		return identity.Principal{User: u, Membership: m}.Actor()
	}

	mine, err := desk.MyApplications(ctx, who(3), page.Request{Number: 1, Size: 50})
	require.NoError(t, err)

	received, err := desk.ReceivedApplications(ctx, who(1), page.Request{Number: 1, Size: 50})
	require.NoError(t, err)
	require.Equal(t, 5, mine.Total)
	require.Equal(t, 9, received.Total)

	standing := map[hiring.Status]int{}
	for _, a := range mine.Items {
		standing[a.Status]++
		require.True(t, a.ChangedAt.Before(deps.Clock.Now()))
	}

	require.Equal(t,
		map[hiring.Status]int{hiring.Pending: 1, hiring.Review: 1, hiring.Interviewing: 1, hiring.Accepted: 1, hiring.Rejected: 1},
		standing)

	ahead, err := desk.Interviews(ctx, who(1), "", page.Request{Number: 1, Size: 50})
	require.NoError(t, err)
	require.Len(t, ahead.Items, 1)
	require.Equal(t, who(3).UserID, ahead.Items[0].ApplicantID)
	require.True(t, ahead.Items[0].Interview.ScheduledAt.After(deps.Clock.Now()))
}

// TestSeed_FewListings_NoApplications checks that a seed with fewer listings than the demo
// applications need succeeds.
func TestSeed_FewListings_NoApplications(t *testing.T) {
	t.Parallel()
	openSeeded(t, 1)
}
