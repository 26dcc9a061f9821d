package searchindex

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// benchmark is an index of synthetic listings in a folder, with what it took to build and open it. It has 100,000
// listings, or the number in the environment variable LOCUM_TEST_DOCUMENTS.
type benchmark struct {
	index    *Index
	docs     int           // the number of listings
	bytes    int64         // the size of the files
	heap     int64         // the memory in bytes that the open index takes
	building time.Duration // the time of all changes and merges
	open     time.Duration // the time of Open
}

// benchStart is the date of the newest listing, and the time at which the queries are made. Other tests of the
// package use it as any fixed date.
var benchStart = time.Date(2026, 3, 17, 0, 0, 0, 0, time.UTC)

// The numbers of distinct words, roles and other values of the documents. A few of each are frequent; see skewed.
const (
	benchWords       = 50_000
	benchTitleWords  = 500
	benchRoles       = 300
	benchSpecialties = 200
	benchPlaces      = 24_000
	benchRegions     = 100
	benchContracts   = 5
	benchEmployers   = 5000
)

// skewed returns a random number below n. Small numbers are more frequent than large ones, as with the words of texts.
func skewed(r *rand.Rand, n int) int { return int(math.Pow(float64(n), r.Float64())) - 1 }

// benchDocument returns document i of docs: 124 words, posted within 60 days, with pay in 8 of 10 cases
// and a deadline in 6 of 10.
func benchDocument(random *rand.Rand, i, docs int) *search.Document {
	role, specialty := skewed(random, benchRoles), skewed(random, benchSpecialties)

	const (
		day            = 24 * time.Hour
		period         = 60 * day // of the posting dates
		bodyWords      = 120      // the title has four more, with the separator
		fieldSeparator = ""
	)

	// A key is a property by which documents are found and counted. "@head" marks the main role of a job, and "@text"
	// a role that its description mentions.
	document := &search.Document{
		PostedAt: benchStart.Add(-time.Duration(i) * period / time.Duration(docs)),
		Title: []string{
			"word" + strconv.Itoa(skewed(random, benchTitleWords)),
			"role" + strconv.Itoa(role),
			fieldSeparator,
			"specialty" + strconv.Itoa(specialty),
		},
		Keys: []string{
			fmt.Sprint("role:", role, "@head"),
			fmt.Sprint("role:", skewed(random, benchRoles), "@text"),
			fmt.Sprint("specialty:", specialty),
			fmt.Sprint("region:", skewed(random, benchRegions)),
			fmt.Sprint("contract:", skewed(random, benchContracts)),
			fmt.Sprint("employer:", skewed(random, benchEmployers)),
		},
		SortTitle:    fmt.Sprint(role, " ", specialty),
		SortLocation: strconv.Itoa(skewed(random, benchPlaces)),
	}
	for range bodyWords {
		document.Body = append(document.Body, "word"+strconv.Itoa(skewed(random, benchWords)))
	}

	if hasPay := random.IntN(10) < 8; hasPay {
		const pence = 100 // of a pound; pay is in the smallest unit of its currency

		low := int64(20_000+random.IntN(80_000)) * pence
		currencies := []string{"GBP", "EUR", "USD"}
		currency := currencies[skewed(random, len(currencies))]
		document.Pay = &search.PayRange{Min: low, Max: low + 10_000*pence, Currency: currency}
	}

	if hasDeadline := random.IntN(10) < 6; hasDeadline {
		// The deadline is between a day before the time of the queries, which is over, and 59 days after it.
		hours := random.IntN(60*24) - 24
		document.Deadline = benchStart.Add(time.Duration(hours) * time.Hour)
	}

	// The number of a place is the seed of its coordinates, so that they are the same in every document. The places
	// are in Great Britain.
	place := rand.New(rand.NewPCG(uint64(skewed(random, benchPlaces)), 7))
	document.Point = &search.Point{Lat: 50 + 8*place.Float64(), Lon: -5 + 6*place.Float64()}

	return document
}

// openBenchmark builds the index in a temporary folder, closes it and opens it from its files. It does so once for
// all benchmarks.
var openBenchmark = sync.OnceValues(func() (*benchmark, error) {
	docs := 100_000

	var err error
	if number := os.Getenv("LOCUM_TEST_DOCUMENTS"); number != "" {
		if docs, err = strconv.Atoi(number); err != nil {
			return nil, err
		}
	}

	folder, err := os.MkdirTemp("", "searchindex")
	if err != nil {
		return nil, err
	}

	o := options(folder)
	o.Normalize = func(w string) string { return w } // the words of the documents are normalized already

	index, err := Open(o)
	if err != nil {
		return nil, err
	}

	b := &benchmark{docs: docs}
	if b.building, err = buildBenchmark(index, docs); err != nil {
		return nil, err
	}

	// Add up the sizes of the files.
	files, _ := filepath.Glob(filepath.Join(folder, "*"+segmentSuffix))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			b.bytes += info.Size()
		}
	}

	// Open the index and measure the time and the memory.
	heapBefore := heapBytes()
	start := time.Now()
	b.index, err = Open(o)
	b.open = time.Since(start)
	b.heap = int64(heapBytes()) - int64(heapBefore)
	_ = os.RemoveAll(folder) // the files stay mapped

	return b, err
})

// buildBenchmark adds the listings to the index, merges it and closes it. The time that it returns is without that of
// generating the listings.
func buildBenchmark(index *Index, docs int) (building time.Duration, err error) {
	const batchSize = 10_000

	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < docs; {
		var changes []search.Change
		for ; len(changes) < batchSize && i < docs; i++ {
			changes = append(changes, search.Change{
				ID:       fmt.Sprintf("0190%08x-%04x", i, random.Uint32N(1<<16)),
				Version:  1,
				Document: benchDocument(random, i, docs),
			})
		}

		start := time.Now()

		if err := index.Apply(context.Background(), changes, "position"); err != nil {
			return 0, err
		}

		building += time.Since(start)
	}

	start := time.Now()

	if err := index.mergeAll(context.Background()); err != nil {
		return 0, err
	}

	if err := index.Close(); err != nil {
		return 0, err
	}

	return building + time.Since(start), nil
}

// heapBytes returns the size of the live heap.
func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)

	return m.HeapAlloc
}

// benchQueries returns, by the name of a class of queries, a function that returns query i of the class. The queries of
// a class differ in their words, roles or places: with i%50, there are 50 of them in turn.
func benchQueries() map[string]func(i int) search.Query {
	// A slot is a part of a search, such as its role or its place. Its levels are alternative conditions from the best
	// to the worst. A document belongs to the first level that it satisfies, at the cost of the level.
	//
	// The slot of role n: the main role of a document is n, or a related one, or its description mentions role n.
	head := func(n int) search.Expr { return search.HasKey(fmt.Sprint("role:", n, "@head")) }
	role := func(n int) search.Slot {
		closeRole, distantRole := n+1, n+7

		return search.Slot{Levels: []search.SlotLevel{
			{Expr: head(n), Exact: true},
			{Expr: head(closeRole), Cost: 4, Exact: true},
			{Expr: search.HasKey(fmt.Sprint("role:", n, "@text")), Cost: 6},
			{Expr: head(distantRole), Cost: 8},
		}}
	}

	// The slot of place i: the document is within 10, 25 or 50 miles of one of 28 points, or in a region.
	near := func(i int) search.Point { return search.Point{Lat: 51 + float64(i%7), Lon: -3 + float64(i%4)} }
	place := func(i int) search.Slot {
		p := near(i)

		return search.Slot{Levels: []search.SlotLevel{
			{Expr: search.IsWithin(p, 10), Exact: true},
			{Expr: search.IsWithin(p, 25), Cost: 3},
			{Expr: search.IsWithin(p, 50), Cost: 5},
			{Expr: search.HasKey(fmt.Sprint("region:", i%20)), Cost: 7},
		}}
	}

	// must returns a query for the documents that satisfy all conditions.
	must := func(conditions ...search.Expr) search.Query { return search.Query{Must: conditions} }

	// word is the condition that a document contains a word. The lower the number of a word, the more documents contain
	// it.
	word := func(number int) search.Expr { return search.HasWord("word" + strconv.Itoa(number)) }

	// sorted returns the queries of a class with a sort: for a frequent word, in both directions in turn.
	sorted := func(by search.SortKey) func(int) search.Query {
		return func(i int) search.Query {
			q := must(word(i % 10))
			p := near(i)
			q.From, q.Sort = &p, search.Sort{By: by, Descending: i%2 == 0}

			return q
		}
	}

	newestFirst := search.Sort{By: search.SortDate, Descending: true}

	return map[string]func(i int) search.Query{
		"all": func(int) search.Query { return search.Query{Sort: newestFirst} },
		"latest": func(i int) search.Query {
			q := must(search.HasKey(fmt.Sprint("contract:", i%5)), search.HasKey(fmt.Sprint("region:", i%7)))
			q.Sort = newestFirst

			return q
		},
		"one-word":    func(i int) search.Query { return must(word(i % 50)) },
		"three-words": func(i int) search.Query { return must(word(i%20), word(i%30+20), word(i%40+50)) },
		// Relaxed is the number of hits that a query may add which are not exact in each slot.
		"role-place": func(i int) search.Query {
			return search.Query{Slots: []search.Slot{role(i % 40), place(i)}, Relaxed: benchPageSize, MaxCost: 12}
		},
		"place": func(i int) search.Query {
			return search.Query{Slots: []search.Slot{place(i)}, Relaxed: benchPageSize}
		},
		"exclusion":  func(i int) search.Query { return must(search.Not(word(i%20)), word(i%20+1)) },
		"rare":       func(i int) search.Query { return must(word(benchWords - 1 - i%1000)) },
		"nothing":    func(i int) search.Query { return must(word(i%50), search.HasKey("unknown")) },
		"prefix":     func(i int) search.Query { return must(search.HasPrefix("word" + strconv.Itoa(i%90+10))) },
		"radius-10":  func(i int) search.Query { return must(search.IsWithin(near(i), 10)) },
		"radius-200": func(i int) search.Query { return must(search.IsWithin(near(i), 200)) },
		"pay": func(i int) search.Query {
			const thousandPounds = 100_000 // pence

			return must(search.PaysBetween(search.PayRange{Min: int64(i%50+50) * thousandPounds, Currency: "GBP"}))
		},
		"sort-pay":      sorted(search.SortPay),
		"sort-title":    sorted(search.SortTitle),
		"sort-distance": sorted(search.SortDistance),
		"facets": func(i int) search.Query {
			q := must(word(i % 20))
			q.Facets = []string{"role:", "specialty:", "region:", "contract:"}
			return q
		},
		"facet-of-5000": func(i int) search.Query {
			q := must(word(i % 20))
			q.Facets = []string{"employer:"}
			return q
		},
		"page-50": func(i int) search.Query {
			q := must(word(i % 20))
			q.Offset = 50 * benchPageSize
			return q
		},
		"phrase-rare": func(i int) search.Query {
			return must(search.HasPhrase("word"+strconv.Itoa(i%50), "word"+strconv.Itoa(1000+i%500)))
		},
		"phrase-common": func(i int) search.Query {
			return must(search.HasLiteral("word"+strconv.Itoa(i%5), "word"+strconv.Itoa(i%7)))
		},
	}
}

// TestOpen_LargeFolder_IsCheap limits the time and the memory that it takes to open an index of 1,000,000 documents,
// the number to which the Makefile sets LOCUM_TEST_DOCUMENTS.
func TestOpen_LargeFolder_IsCheap(t *testing.T) {
	if os.Getenv("LOCUM_TEST_DOCUMENTS") == "" {
		t.Skip("LOCUM_TEST_DOCUMENTS is not set")
	}

	b, err := openBenchmark()
	if err != nil {
		t.Fatal(err)
	}

	t.Logf("%d documents opened in %v with %.1f MB of heap", b.docs, b.open, float64(b.heap)/1e6)

	const (
		maxTime = time.Second
		maxHeap = 100e6 // bytes
	)

	if b.open > maxTime || b.heap > maxHeap {
		t.Fatalf("Open took %v and %d bytes of heap, expected at most %v and %.0f bytes", b.open, b.heap, maxTime, maxHeap)
	}
}

// benchPageSize is the number of hits that a query returns.
const benchPageSize = 20

// BenchmarkFind measures each class of queries, with the mean number of hits.
func BenchmarkFind(b *testing.B) {
	bench, err := openBenchmark()
	if err != nil {
		b.Fatal(err)
	}

	for class, query := range benchQueries() {
		b.Run(class, func(b *testing.B) {
			b.ReportAllocs()

			total, i := 0, 0
			for b.Loop() {
				q := query(i)
				q.Now, q.Limit = benchStart, benchPageSize

				r, err := bench.index.Find(context.Background(), q)
				if err != nil {
					b.Fatal(err)
				}

				total += r.Total
				i++
			}

			b.ReportMetric(float64(total)/float64(i), "hits")
		})
	}
}

// BenchmarkFindMixed runs all classes with several clients at once and reports
// percentiles of the latency.
func BenchmarkFindMixed(b *testing.B) {
	bench, err := openBenchmark()
	if err != nil {
		b.Fatal(err)
	}

	queries := slices.Collect(maps.Values(benchQueries()))
	for _, clients := range []int{1, 8} {
		b.Run(strconv.Itoa(clients)+"-clients", func(b *testing.B) {
			b.ReportAllocs()

			latencies := make([]time.Duration, b.N)

			// nextQuery returns the number of a query that no other client makes.
			var begun atomic.Int64
			nextQuery := func() int { return int(begun.Add(1)) - 1 }

			// Each client makes the next of the b.N queries until none is left.
			var running sync.WaitGroup
			for range clients {
				running.Go(func() {
					for i := nextQuery(); i < b.N; i = nextQuery() {
						class := queries[i%len(queries)]
						q := class(i)
						q.Now, q.Limit = benchStart, benchPageSize
						start := time.Now()

						runtime.Gosched() // let other clients run, as a client that waits for a response does

						if _, err := bench.index.Find(context.Background(), q); err != nil {
							b.Error(err)
						}

						latencies[i] = time.Since(start)
					}
				})
			}

			running.Wait()
			slices.Sort(latencies)

			for _, percent := range []int{50, 95, 99} {
				percentile := latencies[(b.N-1)*percent/100]
				b.ReportMetric(float64(percentile.Microseconds())/1000, fmt.Sprintf("p%d-ms", percent))
			}
		})
	}
}

// BenchmarkBatch evaluates 100,000 stored queries on batches of new listings, as alerts for saved searches do. Each
// query has a role, a place within 10 miles and a contract type, with the levels that the planner of searches
// produces.
func BenchmarkBatch(b *testing.B) {
	random := rand.New(rand.NewPCG(9, 10))
	roleAt := func(n int, level string) search.Expr {
		return search.HasKey(fmt.Sprint("role:", n%benchRoles, "@", level))
	}

	const maxBatch = 64 // listings, each of which may match a query

	queries := make([]search.Query, 100_000)
	for i := range queries {
		role := skewed(random, benchRoles)
		p := search.Point{Lat: 50 + 8*random.Float64(), Lon: -5 + 6*random.Float64()}
		queries[i] = search.Query{
			Now:   benchStart,
			Limit: maxBatch,
			Must:  []search.Expr{search.Or(search.HasKey(fmt.Sprint("contract:", skewed(random, benchContracts))))},
			// The slots of the role, of the place and of the words in the title.
			Slots: []search.Slot{
				{Levels: []search.SlotLevel{
					{Expr: search.Or(roleAt(role, "head")), Exact: true},
					{Expr: search.Or(roleAt(role, "text")), Cost: 4, Exact: true},
					{Expr: search.Or(roleAt(role, "second")), Cost: 7, Exact: true},
					{Expr: search.Or(roleAt(role+1, "head"), roleAt(role+2, "head")), Cost: 13},
				}},
				{Levels: []search.SlotLevel{
					{Expr: search.Or(search.IsWithin(p, 10)), Exact: true},
					{Expr: search.Or(search.HasKey("remote:gb"), search.HasKey("remote:*")), Cost: 2, Exact: true},
					{Expr: search.IsWithin(p, 25), Cost: 6},
					{Expr: search.HasKey("country:gb"), Cost: 17},
				}},
				{Levels: []search.SlotLevel{
					{Expr: search.HasTitleWord("role" + strconv.Itoa(role)), Exact: true},
					{Expr: search.All(), Cost: 4, Exact: true},
				}},
			},
		}
	}

	for _, batchSize := range []int{1, maxBatch} {
		b.Run(strconv.Itoa(batchSize), func(b *testing.B) {
			b.ReportAllocs()

			matches := 0

			var ids []string // the memory for the matches of a query
			for b.Loop() {
				// Build a batch of new listings.
				docs := make([]*search.Document, batchSize)
				for i := range docs {
					docs[i] = benchDocument(random, i, batchSize)
					docs[i].ID = strconv.Itoa(i)
				}

				batch, err := NewBatch(docs, func(w string) string { return w })
				if err != nil {
					b.Fatal(err)
				}

				// Evaluate all queries on it.
				for i := range queries {
					ids = batch.AppendMatches(ids[:0], &queries[i])
					matches += len(ids)
				}
			}

			b.ReportMetric(float64(matches)/float64(b.N), "matches")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*batchSize), "ms/listing")
		})
	}
}

// BenchmarkBuild reports what it took to build and open the index of the other benchmarks: the times, the memory and
// the size of the files. The index is built once, so that the time per operation, ns/op, has no meaning.
func BenchmarkBuild(b *testing.B) {
	bench, err := openBenchmark()
	if err != nil {
		b.Fatal(err)
	}

	b.ReportMetric(bench.building.Seconds(), "s")
	b.ReportMetric(float64(bench.open.Milliseconds()), "ms/open")
	b.ReportMetric(float64(bench.heap)/1e6, "MB/open")
	b.ReportMetric(float64(bench.bytes)/float64(bench.docs), "B/doc")

	const omitted = 0

	b.ReportMetric(omitted, "ns/op")
}

// BenchmarkApply measures batches of one and of 100 changes to a large index.
func BenchmarkApply(b *testing.B) {
	bench, err := openBenchmark()
	if err != nil {
		b.Fatal(err)
	}

	for _, batchSize := range []int{1, 100} {
		b.Run(strconv.Itoa(batchSize), func(b *testing.B) {
			b.ReportAllocs()

			random := rand.New(rand.NewPCG(5, 6))
			for b.Loop() {
				changes := make([]search.Change, batchSize)
				for i := range changes {
					changes[i] = search.Change{
						ID:       fmt.Sprint("new ", random.IntN(10_000)), // soon, most changes replace a document
						Version:  time.Now().UnixNano(),                   // greater than that of the change before
						Document: benchDocument(random, i, 100),
					}
				}

				if err := bench.index.Apply(context.Background(), changes, "position"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
