package searchindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// trimS is the normalization of the tests: it removes an s at the end.
func trimS(word string) string { return strings.TrimSuffix(word, "s") }

// countMatches returns the number of documents of a segment that match an expression. It evaluates the expression on one
// block of documents at a time, and requires the same result for each document alone.
func countMatches(t *testing.T, s *segment, expression search.Expr) int {
	t.Helper()

	node := compiler{segment: s, normalize: trimS}.node(&expression)
	var ev evaluation

	total := 0
	for block := range s.blocks() {
		ev.begin(s, block)

		allDocs := ev.vector()
		allDocs.fill(s.blockDocs(block))

		matches := ev.vector()
		node.eval(&ev, allDocs, matches)

		for i := range s.blockDocs(block) {
			doc := uint32(block*blockDocs + i)
			require.Equal(t, matches.has(uint32(i)), node.has(doc))
		}

		total += matches.count()

		const allVectors = 0
		ev.release(allVectors)
	}

	return total
}

// randomWord returns a random word. Four of five words are one of the frequent ones, a to h and as to hs. The others
// are rare: x0, x1, …
func randomWord(random *rand.Rand) string {
	if random.IntN(5) == 0 {
		return fmt.Sprint("x", skewed(random, 400))
	}

	letter := string(rune('a' + random.IntN(8)))
	if random.IntN(2) == 1 {
		return letter + "s"
	}

	return letter
}

// randomWords returns n random words. One of eight is empty, which separates fields.
func randomWords(random *rand.Rand, n int) []string {
	list := make([]string, n)
	for i := range list {
		if random.IntN(8) > 0 {
			list[i] = randomWord(random)
		}
	}

	return list
}

// TestPhrase_EqualsTexts compares random phrases with a search in the texts themselves. The segment is
// just large enough to have lists of pairs of frequent words, so that phrases of frequent, of rare and
// of both kinds of words are evaluated in different ways.
func TestPhrase_EqualsTexts(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(1, 2))

	var docs []*search.Document
	for i := range minPairDocs + 500 {
		docs = append(docs, &search.Document{
			ID:    fmt.Sprint(i),
			Title: randomWords(random, random.IntN(5)),
			Body:  randomWords(random, random.IntN(20)),
		})
	}

	segment, err := build(docs, trimS)
	require.NoError(t, err)
	require.NotEmpty(t, segment.pairReferences)

	for range 300 {
		phrase := search.HasPhrase()
		for range 1 + random.IntN(4) {
			phrase.Words = append(phrase.Words, randomWord(random))
		}

		phrase.Title = random.IntN(3) == 0
		phrase.Literal = random.IntN(2) == 0

		want := 0
		for _, d := range docs {
			text := d.Title
			if !phrase.Title {
				text = slices.Concat(d.Title, []string{""}, d.Body)
			}

			if contains(text, phrase.Words, phrase.Literal) {
				want++
			}
		}

		require.Equal(t, want, countMatches(t, segment, phrase), "%+v", phrase)
	}
}

// contains reports whether a text has the words of the phrase side by side. An empty word separates
// fields and matches nothing.
func contains(text, phrase []string, literal bool) bool {
	for i := range len(text) - len(phrase) + 1 {
		isEqual := slices.EqualFunc(text[i:i+len(phrase)], phrase, func(a, b string) bool {
			return a == b || !literal && a != "" && trimS(a) == trimS(b)
		})
		if isEqual {
			return true
		}
	}

	return false
}

// TestWithin_EqualsDistances compares circles, which are evaluated by the cells of a grid, with the
// distance of each document. The grid is irregular at the poles and the date line, where half of the
// documents are. 13,000 miles is more than half of the circumference of the Earth.
func TestWithin_EqualsDistances(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(3, 4))
	anywhere := func() search.Point {
		return search.Point{Lat: random.Float64()*180 - 90, Lon: random.Float64()*360 - 180}
	}

	var docs []*search.Document
	for i := range 5000 {
		p := anywhere()
		if i%2 == 0 { // near the north pole and the date line
			p = search.Point{Lat: 75 + 15*random.Float64(), Lon: 170 + 20*random.Float64()}
		}

		docs = append(docs, &search.Document{ID: fmt.Sprint(i), Point: &p})
	}

	segment, err := build(docs, trimS)
	require.NoError(t, err)

	for range 300 {
		center := anywhere()
		miles := float64(skewed(random, 13_000))

		want := 0
		for _, d := range docs {
			if d.Point.Miles(center) <= miles {
				want++
			}
		}

		require.Equal(t, want, countMatches(t, segment, search.IsWithin(center, miles)), "%v miles of %v", miles, center)
	}
}

// TestExpired_AnyOrderOfTimes checks the set of expired documents, which is reused from query to query,
// at times that go forward and back: queries that run at once may have different times.
func TestExpired_AnyOrderOfTimes(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(5, 6))

	var docs []*search.Document
	for i := range 200 {
		d := &search.Document{ID: fmt.Sprint(i)}
		if i%3 > 0 { // a third of the documents has no deadline
			d.Deadline = benchStart.AddDate(0, 0, random.IntN(40))
		}

		docs = append(docs, d)
	}

	segment, err := build(docs, trimS)
	require.NoError(t, err)

	for range 200 {
		// From two days before the first deadline to two days after the last one.
		now := benchStart.AddDate(0, 0, random.IntN(44)-2).UnixMicro()

		expired := segment.expired(now) // nil for none
		for i, deadline := range segment.deadlines {
			isExpired := expired != nil && expired.has(uint32(i))
			require.Equal(t, deadline <= now, isExpired)
		}
	}
}

// TestFind_PhraseInManyTexts_CountsEach checks a phrase in so large a number of texts that two goroutines
// read them.
func TestFind_PhraseInManyTexts_CountsEach(t *testing.T) {
	t.Parallel()

	index := open(t, options(""))

	changes := make([]search.Change, 3*minParallelTexts)
	for i := range changes {
		body := []string{"days", "nights"}
		if i%3 == 0 { // a third of the texts
			body = []string{"nights", "days"}
		}

		changes[i] = search.Change{ID: fmt.Sprint(i), Version: 1, Document: &search.Document{Body: body}}
	}

	require.NoError(t, index.Apply(t.Context(), changes, "1"))
	require.Equal(t, 2*minParallelTexts, total(t, index, search.HasLiteral("days", "nights")))
	require.Equal(t, minParallelTexts, total(t, index, search.HasPhrase("Nights", "days")))
}
