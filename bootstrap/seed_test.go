package bootstrap

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
)

func openSeeded(t *testing.T, url string, n int) adapters.Storage {
	t.Helper()
	s, err := gormdb.Open(t.Context(), url, newDeps(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	_, err = s.Schema.Up(t.Context())
	require.NoError(t, err)
	var told atomic.Int64
	accounts, err := Seed(t.Context(), s, n, func(n int) { told.Add(int64(n)) })
	require.NoError(t, err)
	require.Len(t, accounts, len(demoAccounts))
	require.EqualValues(t, n, told.Load())
	return s
}

type nobody struct{}

func (nobody) CompanyName(context.Context, string) (string, error)  { return "", nil }
func (nobody) HomeLocation(context.Context, string) (string, error) { return "", nil }

func searchOver(s adapters.Storage) *listings.Service {
	return listings.New(listings.Needs{
		Tx: s.Tx, Events: s.Events, Clock: newDeps(slog.New(slog.DiscardHandler)).Clock, NewID: newID, Listings: s.Listings, Search: s.ListingSearch,
		Gazetteer: gazetteer.New(), Organizations: nobody{}, Seekers: nobody{},
	})
}

func TestTheDemoDataIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	read := func() string {
		s := openSeeded(t, "sqlite:"+t.TempDir()+"/a.db", 300)
		defer func() { require.NoError(t, s.Close()) }()
		var b strings.Builder
		for n := 1; n <= 3; n++ {
			r, err := searchOver(s).Find(t.Context(), auth.Actor{}, listings.FindInput{Page: page.Request{Number: n, Size: 100}, Full: true})
			require.NoError(t, err)
			for _, h := range r.Items {
				b.WriteString(h.Listing.ID + h.Listing.Title + h.Listing.Company + h.Listing.Description + "\n")
			}
		}
		require.ErrorIs(t, mayHoldDemo(t.Context(), &config.Config{HTTP: config.HTTP{PublicURL: "http://localhost:8080"}}, s, false), errHasUsers)
		u, err := s.Users.FindByEmail(t.Context(), demoAccounts[1].Email)
		require.NoError(t, err)
		m, err := s.Organizations.MembershipOf(t.Context(), u.ID)
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

func TestSeededListingsAreInTheOrderOfPostingAlsoBesideOthers(t *testing.T) {
	t.Parallel()
	s := openSeeded(t, "sqlite:"+t.TempDir()+"/a.db", 600)
	defer func() { require.NoError(t, s.Close()) }()
	svc := searchOver(s)
	_, err := svc.Create(t.Context(), newID(), listings.CreateInput{Title: "Nurse of today", Description: "x"})
	require.NoError(t, err)
	r, err := svc.Find(t.Context(), auth.Actor{}, listings.FindInput{Text: "nurse", Sort: "date", Page: page.Request{Number: 1, Size: 100}})
	require.NoError(t, err)
	require.Equal(t, "Nurse of today", r.Items[0].Listing.Title)
	for i := 1; i < len(r.Items); i++ {
		require.False(t, r.Items[i].Listing.PostedAt.After(*r.Items[i-1].Listing.PostedAt))
	}
}

// At a size where the planner has a choice, no search reads the whole table.
func TestSearchesOnPostgresAreServedFromIndexes(t *testing.T) {
	t.Parallel()
	url := kit.PostgresURL(t)
	s := openSeeded(t, url, 20_000)
	require.NoError(t, s.Close())
	scans := func() (n int) {
		db, err := sql.Open("pgx", url)
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		db.SetMaxOpenConns(1)
		// Backends leave their numbers behind when they end, after their clients have left.
		require.Eventually(t, func() bool {
			err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&n)
			return err == nil && n == 0
		}, 30*time.Second, 10*time.Millisecond)
		require.NoError(t, db.QueryRow("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'listings'").Scan(&n))
		return n
	}
	before := scans()
	s, err := gormdb.Open(t.Context(), url, newDeps(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	svc := searchOver(s)
	leeds := listings.FilterInput{Location: "Leeds"}
	amount := 50_000.0
	for _, q := range []listings.FindInput{
		{}, {Page: page.Request{Number: 40, Size: 20}}, {Sort: "salary"}, {Filters: leeds}, {Filters: leeds, Sort: "distance"},
		{Filters: listings.FilterInput{ContractType: "contract"}}, {Filters: listings.FilterInput{Location: "Ireland", ContractType: "temporary"}},
		{Filters: listings.FilterInput{Location: "Yorkshire"}}, {Filters: listings.FilterInput{SalaryMin: &amount}}, {Filters: listings.FilterInput{Specialty: "cardiology"}},
		{Filters: listings.FilterInput{Location: "nowhere at all"}}, {Filters: listings.FilterInput{EmploymentType: "bank"}},
		{Text: "nurse"}, {Text: "nurse", Sort: "date"}, {Text: "nurse", Sort: "salary"}, {Text: "midwife"}, {Text: "zebra"}, {Text: "nurse leeds"}, {Text: "icu nurse truro"},
		{Text: "patients"}, {Text: "staff nurse -icu"}, {Text: `"speak up for the patient"`}, {Text: "consult"}, {Text: "-nurse"}, {Text: "band 5 nurse manchester permanent"},
		{Text: "nurse", Filters: leeds, Sort: "distance"}, {Text: "nurse", Page: page.Request{Number: 40, Size: 20}},
	} {
		if q.Page.Size == 0 {
			q.Page = page.Request{Number: 1, Size: 20}
		}
		r, err := svc.Find(t.Context(), auth.Actor{}, q)
		require.NoError(t, err, "%+v", q)
		if r.NextCursor != "" {
			q.Page = page.Request{Number: 1, Size: 20, Cursor: r.NextCursor}
			_, err = svc.Find(t.Context(), auth.Actor{}, q)
			require.NoError(t, err, "%+v", q)
		}
	}
	require.NoError(t, s.Close())
	require.Equal(t, before, scans(), "the table was read from end to end")
}

func TestTheDemoHasApplicationsOnBothSides(t *testing.T) {
	t.Parallel()
	s := openSeeded(t, "sqlite:"+t.TempDir()+"/a.db", 200)
	defer func() { require.NoError(t, s.Close()) }()
	ctx, d, c := t.Context(), newDeps(slog.New(slog.DiscardHandler)), &config.Config{}
	people := newIdentity(c, s, d, nil, nil, nil)
	desk := newHiring(c, s, d, newListings(c, s, d, people), people, nil, nil, nil, nil)
	who := func(account int) auth.Actor {
		u, err := s.Users.FindByEmail(ctx, demoAccounts[account].Email)
		require.NoError(t, err)
		m, err := s.Organizations.MembershipOf(ctx, u.ID)
		require.NoError(t, err)
		return identity.Principal{User: u, Membership: m}.Actor()
	}
	mine, err := desk.Mine(ctx, who(3), page.Request{Number: 1, Size: 50})
	require.NoError(t, err)
	received, err := desk.Received(ctx, who(1), page.Request{Number: 1, Size: 50})
	require.NoError(t, err)
	require.Equal(t, 5, mine.Total)
	require.Equal(t, 9, received.Total)
	standing := map[hiring.Status]int{}
	for _, a := range mine.Items {
		standing[a.Status]++
		require.True(t, a.ChangedAt.Before(d.Clock.Now()))
	}
	require.Equal(t, map[hiring.Status]int{hiring.Pending: 1, hiring.Review: 1, hiring.Interview: 1, hiring.Accepted: 1, hiring.Rejected: 1}, standing)
	ahead, err := desk.Interviews(ctx, who(1), "", page.Request{Number: 1, Size: 50})
	require.NoError(t, err)
	require.Len(t, ahead.Items, 1)
	require.Equal(t, who(3).UserID, ahead.Items[0].ApplicantID)
	require.True(t, ahead.Items[0].Interview.ScheduledAt.After(d.Clock.Now()))
}

func TestABoardTooSmallForApplicationsGoesWithout(t *testing.T) {
	t.Parallel()
	require.NoError(t, openSeeded(t, "sqlite:"+t.TempDir()+"/a.db", 1).Close())
}
