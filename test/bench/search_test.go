package bench

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

func ptr[T any](v T) *T { return &v }

type nobody struct{}

func (nobody) CompanyName(context.Context, string) (string, error)  { return "", nil }
func (nobody) HomeLocation(context.Context, string) (string, error) { return "", nil }

// The questions, with the longest that half of the answers may take.
var questions = []listings.FindInput{
	{},
	{Page: page.Request{Number: 100, Size: 20}},
	{Filters: listings.FilterInput{ContractType: "contract"}},
	{Filters: listings.FilterInput{Location: "Leeds"}},
	{Filters: listings.FilterInput{Location: "Truro"}},
	{Filters: listings.FilterInput{Location: "Yorkshire"}},
	{Filters: listings.FilterInput{Location: "Ireland", ContractType: "temporary"}},
	{Filters: listings.FilterInput{SalaryMin: ptr(100_000.0)}},
	{Filters: listings.FilterInput{Specialty: "cardiology"}},
	{Filters: listings.FilterInput{Remote: ptr(true)}},
	{Filters: listings.FilterInput{Location: "Leeds"}, Sort: "distance"},
	{Filters: listings.FilterInput{Location: "England"}, Sort: "salary"},
	{Text: "nurse"},
	{Text: "patients"},
	{Text: "midwife"},
	{Text: "mammography"},
	{Text: "mamography"},
	{Text: "orthodontics dublin"},
	{Text: "zebra"},
	{Text: "nurse leeds"},
	{Text: "icu nurse truro"},
	{Text: "band 5 nurse manchester permanent"},
	{Text: "staff nurse -icu"},
	{Text: "nurse OR midwife"},
	{Text: "consult"},
	{Text: `"speak up for the patient"`},
	{Text: "patients care team"},
	{Text: "patients", Sort: "date"},
	{Text: "nurse", Sort: "salary"},
	{Text: "nurse", Filters: listings.FilterInput{Location: "London"}, Sort: "distance"},
	{Text: "nurse", Page: page.Request{Number: 100, Size: 20}},
	{Text: "nurse", Filters: listings.FilterInput{Location: "Wrexham"}},
}

// TestSearchLatency shows how long searches take on a database that was seeded
// before:
//
//	locum seed --listings 1000000
//	LOCUM_TEST_BENCH_URL=postgres://… go test ./test/bench -run Latency -v
func TestSearchLatency(t *testing.T) {
	url := os.Getenv("LOCUM_TEST_BENCH_URL")
	if url == "" {
		t.Skip("LOCUM_TEST_BENCH_URL names no seeded database")
	}
	ctx := t.Context()
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	s, err := gormdb.Open(ctx, url, adapters.Deps{Clock: clock.System{}, NewID: newID, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	svc := listings.New(listings.Needs{
		Tx: s.Tx, Events: s.Events, Clock: clock.System{}, NewID: newID, Listings: s.Listings, Search: s.ListingSearch,
		Gazetteer: gazetteer.New(), Organizations: nobody{}, Seekers: nobody{},
	})
	const runs = 15
	for _, q := range questions {
		if w := os.Getenv("LOCUM_BENCH_ONLY"); w != "" && !strings.Contains(q.Text, w) {
			continue
		}
		if q.Page.Size == 0 {
			q.Page = page.Request{Number: 1, Size: 20}
		}
		took := make([]time.Duration, 0, runs)
		var r page.Result[listings.Hit]
		for range runs {
			began := time.Now()
			r, err = svc.Find(ctx, auth.Actor{}, q)
			took = append(took, time.Since(began))
			require.NoError(t, err)
		}
		slices.Sort(took)
		t.Logf("%8.2f ms p50 %8.2f ms p95 %6d%s  %q %s page %d %s",
			float64(took[runs/2].Microseconds())/1000, float64(took[runs*95/100].Microseconds())/1000, r.Total, map[bool]string{true: "+"}[r.TotalIsEstimate],
			q.Text, q.Filters.Location, q.Page.Number, q.Sort)
	}
}
