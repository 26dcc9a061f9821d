package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

const (
	savedSearches = 100_000
	newListings   = 64
)

var searchTowns = strings.Split(
	"Leeds,London,Manchester,York,Bristol,Truro,Dublin,Cork,Edinburgh,Cardiff,Sheffield,Norwich,Exeter,Belfast,Galway,Hull,Derby,Plymouth,"+
		"Swansea,Bradford,Liverpool,Birmingham,Nottingham,Leicester,Coventry,Glasgow,Aberdeen,Dundee,Inverness,Perth,Bath,Oxford,Cambridge,Ipswich,Luton,Reading,Slough,"+
		"Brighton,Hove,Portsmouth,Southampton,Poole,Bournemouth,Gloucester,Worcester,Hereford,Shrewsbury,Chester,Preston,Lancaster,Carlisle,Durham,Newcastle,Sunderland,Darlington",
	",",
)

// alertsBench is a database with saved searches.
type alertsBench struct {
	adapters.Storage
	*listings.Service
	random *rand.Rand
	roles  []string
}

// BenchmarkAlerts matches 100,000 different saved searches, which are read from PostgreSQL, with 64
// new listings. The first run parses and plans the searches; later runs use the cached plans.
func BenchmarkAlerts(b *testing.B) {
	bench := newAlertsBench(b)
	before := heap()
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			fresh := listings.New(bench.Deps)
			bench.measure(b, fresh)
		}
	})
	bench.run(b, bench.Service)
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			bench.measure(b, bench.Service)
		}
	})
	b.Logf("plans of %d searches take %.0f MB", savedSearches, float64(heap()-before)/1e6)
	runtime.KeepAlive(bench)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func newAlertsBench(b *testing.B) *alertsBench {
	clk := kit.NewClock()
	storage := stores.Postgres(b, clk)
	bench := &alertsBench{Storage: storage, random: rand.New(rand.NewPCG(1, 2))}
	bench.Service = listings.New(listings.Deps{
		Tx:            storage.Identity.Tx,
		Events:        storage.Identity.Events,
		Audit:         storage.Identity.Audit,
		Clock:         clk,
		NewID:         stores.NewID,
		Listings:      storage.Listings.Listings,
		Public:        storage.Listings.Public,
		Cases:         storage.Listings.Cases,
		Views:         storage.Listings.Views,
		Engine:        stores.Engine(b, storage),
		NewBatch:      stores.NewBatch,
		Gazetteer:     gazetteer.New(),
		Organizations: employers{},
	})
	vocabulary, err := search.Load()
	require.NoError(b, err)
	for _, f := range vocabulary.Forms() {
		if f.Readings[0].Concept.Kind == search.Role {
			bench.roles = append(bench.roles, f.Text)
		}
	}
	bench.random.Shuffle(len(bench.roles), func(i, j int) { bench.roles[i], bench.roles[j] = bench.roles[j], bench.roles[i] })
	require.NoError(b, storage.Identity.Tx.Do(b.Context(), func(ctx context.Context) error {
		for seen := map[jobseeker.Terms]bool{}; len(seen) < savedSearches; {
			terms := bench.terms()
			if seen[terms] {
				continue
			}
			seen[terms] = true
			saved := jobseeker.Search{
				ID:        stores.NewID(),
				UserID:    stores.NewID(),
				Name:      "Search",
				Terms:     terms,
				Resolved:  terms.Query,
				CreatedAt: clk.Now(),
			}
			if err := storage.Jobseeker.Searches.Replace(ctx, saved.UserID, []jobseeker.Search{saved}); err != nil {
				return err
			}
		}
		return nil
	}))
	return bench
}

// employers have one name.
type employers struct{}

func (employers) HoldsJobs(context.Context, string) (bool, bool, error) { return false, false, nil }
func (employers) CompanyName(context.Context, string) (string, error)   { return "Northgate", nil }

// role returns the name of a role. Some roles are much more frequent than others.
func (x *alertsBench) role() string {
	return x.roles[int(float64(len(x.roles))*x.random.Float64()*x.random.Float64()*x.random.Float64())]
}

func (x *alertsBench) town() string { return searchTowns[x.random.IntN(len(searchTowns))] }

// terms returns a role, a place and a contract type, in the text or as filters.
func (x *alertsBench) terms() jobseeker.Terms {
	contract := listings.ContractTypes[x.random.IntN(len(listings.ContractTypes))]
	if x.random.IntN(2) == 0 {
		return jobseeker.Terms{Query: fmt.Sprintf("%s %s in %s", contract, x.role(), x.town())}
	}
	return jobseeker.Terms{Query: x.role(), Location: x.town(), ContractType: contract}
}

// measure reports the CPU time of a run.
func (x *alertsBench) measure(b *testing.B, svc *listings.Service) {
	var start, end syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &start))
	matches := x.run(b, svc)
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &end))
	spent := time.Duration(end.Utime.Nano() + end.Stime.Nano() - start.Utime.Nano() - start.Stime.Nano())
	b.ReportMetric(float64(spent.Microseconds())/1e3/newListings, "cpu-ms/listing")
	b.ReportMetric(float64(matches), "matches")
}

// run evaluates all saved searches on new listings and returns the number of
// matches.
func (x *alertsBench) run(b *testing.B, svc *listings.Service) (matches int) {
	ctx := b.Context()
	items := make([]listings.BatchItem[listings.CreateInput], newListings)
	for i := range items {
		town := x.town()
		items[i].Input = listings.CreateInput{
			Title: x.role(), Description: "The team cares for patients on an acute ward.",
			Details: listings.Details{Location: &town, ContractType: &listings.ContractTypes[x.random.IntN(len(listings.ContractTypes))]},
		}
	}
	created, err := svc.CreateBatch(ctx, auth.Actor{OrganizationID: stores.NewID(), Permissions: []auth.Permission{auth.Manage}}, items)
	require.NoError(b, err)
	ids := make([]string, len(created))
	for i, c := range created {
		ids[i] = c.Listing.ID
	}
	gathered, err := svc.Gather(ctx, ids)
	require.NoError(b, err)
	for last := ""; ; {
		page, err := x.Jobseeker.Searches.List(ctx, jobseeker.SearchFilter{AfterID: last}, 1_000)
		require.NoError(b, err)
		for _, saved := range page {
			found, err := gathered.Matching(
				ctx,
				listings.FindKey{Text: saved.Resolved, Location: saved.Location, ContractType: saved.ContractType},
			)
			require.NoError(b, err)
			matches += len(found)
		}
		if len(page) < 1_000 {
			return matches
		}
		last = page[len(page)-1].ID
	}
}
