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

// An alert is a saved search: jobseekers get an e-mail about each new listing that matches theirs. The service parses and
// plans the text of a saved search before it matches listings with it, and caches the plan in memory.

const (
	savedSearches = 100_000
	newListings   = 64 // in each run
)

// searchTowns are the places of generated searches and listings.
var searchTowns = strings.Split(
	"Leeds,London,Manchester,York,Bristol,Truro,Dublin,Cork,Edinburgh,Cardiff,Sheffield,Norwich,Exeter,Belfast,Galway,Hull,Derby,Plymouth,"+
		"Swansea,Bradford,Liverpool,Birmingham,Nottingham,Leicester,Coventry,Glasgow,Aberdeen,Dundee,Inverness,Perth,Bath,Oxford,Cambridge,Ipswich,Luton,Reading,Slough,"+
		"Brighton,Hove,Portsmouth,Southampton,Poole,Bournemouth,Gloucester,Worcester,Hereford,Shrewsbury,Chester,Preston,Lancaster,Carlisle,Durham,Newcastle,Sunderland,Darlington",
	",",
)

// alertsBench is a database with saved searches. The embedded Storage reads them, and the embedded Service matches new
// listings with them. After the first match of a search, the Service has its plan in the cache.
type alertsBench struct {
	adapters.Storage
	*listings.Service
	random *rand.Rand // the same in every run of the benchmark
	roles  []string   // the names of roles in saved searches and new listings, the most frequent first
}

// BenchmarkAlerts matches 100,000 different saved searches, which are read from PostgreSQL, with 64
// new listings. The first run parses and plans the searches; later runs use the cached plans.
func BenchmarkAlerts(b *testing.B) {
	bench := newAlertsBench(b)
	heapBefore := heapSize()

	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			serviceWithEmptyCache := listings.New(bench.Deps)
			bench.measure(b, serviceWithEmptyCache)
		}
	})

	// Cache the plans of all searches for the next benchmark.
	bench.matchAll(b, bench.Service)

	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			bench.measure(b, bench.Service)
		}
	})

	b.Logf("plans of %d searches take %.0f MB", savedSearches, float64(heapSize()-heapBefore)/1e6)
	runtime.KeepAlive(bench) // otherwise the garbage collector may free the plans before heapSize counts them
}

// heapSize returns the number of bytes of reachable objects on the heap.
func heapSize() uint64 {
	var stats runtime.MemStats

	runtime.GC()
	runtime.ReadMemStats(&stats)

	return stats.HeapAlloc
}

// newAlertsBench creates the database and the saved searches. No two searches have the same terms.
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

	for _, form := range vocabulary.Forms() {
		if form.Readings[0].Concept.Kind == search.Role {
			bench.roles = append(bench.roles, form.Text)
		}
	}

	bench.random.Shuffle(len(bench.roles), func(i, j int) {
		bench.roles[i], bench.roles[j] = bench.roles[j], bench.roles[i]
	})

	// Each saved search belongs to another user.
	require.NoError(b, storage.Identity.Tx.Do(b.Context(), func(ctx context.Context) error {
		created := map[jobseeker.Terms]bool{}
		for len(created) < savedSearches {
			terms := bench.terms()
			if created[terms] {
				continue
			}

			created[terms] = true

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

// employers are organizations that all have the same name.
type employers struct{}

// HoldsJobs implements listings.Organizations.
func (employers) HoldsJobs(context.Context, string) (bool, bool, error) { return false, false, nil }

// CompanyName implements listings.Organizations.
func (employers) CompanyName(context.Context, string) (string, error) { return "Northgate", nil }

// role returns the name of a role. The product of three random numbers is usually small, so that
// the first roles are much more frequent than the last ones.
func (x *alertsBench) role() string {
	share := x.random.Float64() * x.random.Float64() * x.random.Float64()
	return x.roles[int(float64(len(x.roles))*share)]
}

func (x *alertsBench) town() string { return searchTowns[x.random.IntN(len(searchTowns))] }

// terms returns the terms of a saved search for a role, a place and a contract type. In half of the cases the user has
// typed all three into the text. In the other half the place and the contract type are filters.
func (x *alertsBench) terms() jobseeker.Terms {
	contract := listings.ContractTypes[x.random.IntN(len(listings.ContractTypes))]
	if x.random.IntN(2) == 0 {
		return jobseeker.Terms{Query: fmt.Sprintf("%s %s in %s", contract, x.role(), x.town())}
	}

	return jobseeker.Terms{Query: x.role(), Location: x.town(), ContractType: contract}
}

// measure matches all saved searches once. It reports the CPU time of this process for each new listing, and
// the number of matches.
func (x *alertsBench) measure(b *testing.B, svc *listings.Service) {
	cpuBefore := cpuTime(b)
	matches := x.matchAll(b, svc)

	b.ReportMetric(ms(cpuTime(b)-cpuBefore)/newListings, "cpu-ms/listing")
	b.ReportMetric(float64(matches), "matches")
}

// cpuTime returns the CPU time that this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))

	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// matchAll creates new listings, matches all saved searches with them, and returns the number of matches.
func (x *alertsBench) matchAll(b *testing.B, svc *listings.Service) (matches int) {
	const pageSize = 1_000
	ctx := b.Context()
	listingIDs := x.createListings(b, svc)
	gathered, err := svc.Gather(ctx, listingIDs)
	require.NoError(b, err)

	afterID := "" // the id of the last search on the previous page

	for {
		page, err := x.Jobseeker.Searches.List(ctx, jobseeker.SearchFilter{AfterID: afterID}, pageSize)
		require.NoError(b, err)

		for _, saved := range page {
			found, err := gathered.Matching(ctx, listings.FindKey{
				Text:         saved.Resolved,
				Location:     saved.Location,
				ContractType: saved.ContractType,
			})
			require.NoError(b, err)

			matches += len(found)
		}

		if len(page) < pageSize {
			return matches
		}

		afterID = page[len(page)-1].ID
	}
}

// createListings creates the new listings of a run as a new organization and returns their ids.
func (x *alertsBench) createListings(b *testing.B, svc *listings.Service) (ids []string) {
	items := make([]listings.BatchItem[listings.CreateInput], newListings)
	for i := range items {
		town := x.town()
		contract := listings.ContractTypes[x.random.IntN(len(listings.ContractTypes))]
		items[i].Input = listings.CreateInput{
			Title:       x.role(),
			Description: "The team cares for patients on an acute ward.",
			Details:     listings.Details{Location: &town, ContractType: &contract},
		}
	}

	employer := auth.Actor{OrganizationID: stores.NewID(), Permissions: []auth.Permission{auth.Manage}}
	created, err := svc.CreateBatch(b.Context(), employer, items)
	require.NoError(b, err)

	for _, result := range created {
		ids = append(ids, result.Listing.ID)
	}

	return ids
}
