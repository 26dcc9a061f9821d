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

// trimS is the normalization of words in the tests of this package: it removes an s at the end, so that "days" and
// "day" are one word. In production, an index gets its normalization as an option.
func trimS(word string) string { return strings.TrimSuffix(word, "s") }

// countMatches returns the number of documents of a segment that match an expression. It evaluates the expression on one
// block of documents at a time, and requires the same result for each document alone.
func countMatches(t *testing.T, s *segment, expression search.Expr) int {
	t.Helper()

	node := compiler{segment: s, normalize: trimS}.node(&expression)
	var ev evaluation // has the memory for the vectors

	total := 0
	for block := range s.blocks() {
		ev.begin(s, block)

		mark := ev.mark()

		allDocs := ev.vector()
		allDocs.fill(s.blockDocs(block))

		// Set the documents of the block that match.
		matches := ev.vector()
		node.eval(&ev, allDocs, matches)

		for i := range s.blockDocs(block) {
			doc := uint32(block*blockDocs + i)
			require.Equal(t, matches.has(uint32(i)), node.has(doc), "document %d", doc)
		}

		total += matches.count()

		ev.release(mark) // frees allDocs and matches
	}

	return total
}

// randomWord returns a random word. Four of five words are one of the frequent ones, a to h and as to hs. The others
// are rare: x0, x1, … The function skewed returns small numbers more often than large ones, so that x0 is the most
// frequent of them.
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

// randomWords returns n random words. One of eight is the empty word, which separates the fields of a document.
func randomWords(random *rand.Rand, n int) []string {
	list := make([]string, n)
	for i := range list {
		if random.IntN(8) > 0 {
			list[i] = randomWord(random)
		}
	}

	return list
}

// TestPhrase_EqualsTexts compares random phrases with a search in the texts themselves. A segment of at least
// minPairDocs documents stores lists of the documents that have two frequent words side by side. It evaluates
// phrases of frequent words by these lists, and phrases with rare words by the texts of the documents. The
// random phrases are of both kinds.
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

	const phrases, maxWords = 300, 4

	for range phrases {
		phrase := search.HasPhrase()
		for range 1 + random.IntN(maxWords) {
			phrase.Words = append(phrase.Words, randomWord(random))
		}

		phrase.Title = random.IntN(3) == 0   // search the title alone
		phrase.Literal = random.IntN(2) == 0 // compare the words without normalization

		wantMatches := 0
		for _, d := range docs {
			text := d.Title
			if !phrase.Title {
				const fieldSeparator = ""

				text = slices.Concat(d.Title, []string{fieldSeparator}, d.Body)
			}

			if contains(text, phrase.Words, phrase.Literal) {
				wantMatches++
			}
		}

		require.Equal(t, wantMatches, countMatches(t, segment, phrase), "%+v", phrase)
	}
}

// contains reports whether a text has the words of the phrase side by side. If isLiteral is false, words are equal
// if they are equal after normalization. An empty word in the text separates fields and matches nothing.
func contains(text, phrase []string, isLiteral bool) bool {
	for i := range len(text) - len(phrase) + 1 {
		isEqual := slices.EqualFunc(text[i:i+len(phrase)], phrase, func(a, b string) bool {
			isFieldSeparator := a == ""
			isEqualNormalized := !isFieldSeparator && trimS(a) == trimS(b)

			return a == b || !isLiteral && isEqualNormalized
		})
		if isEqual {
			return true
		}
	}

	return false
}

// TestWithin_EqualsDistances compares two ways to find the documents within a circle: the segment looks them up in
// the cells of a grid, and the test computes the distance of each document. Half of the documents are near the north
// pole and the date line, where the grid is irregular.
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

	const circles = 300

	for range circles {
		const maxMiles = 13_000 // more than half of the circumference of the Earth, so that some circles contain all points

		center := anywhere()
		miles := float64(skewed(random, maxMiles)) // mostly short distances

		wantMatches := 0
		for _, d := range docs {
			if d.Point.Miles(center) <= miles {
				wantMatches++
			}
		}

		withinCircle := search.IsWithin(center, miles)
		require.Equal(t, wantMatches, countMatches(t, segment, withinCircle), "%v miles of %v", miles, center)
	}
}

// TestExpired_AnyOrderOfTimes checks the set of expired documents at times that go forward and back. The segment
// updates one set from query to query. Queries that run at once may have different times in any order.
func TestExpired_AnyOrderOfTimes(t *testing.T) {
	t.Parallel()

	const deadlineDays = 40 // the deadlines are on the days from firstDeadline

	firstDeadline := benchStart // any fixed date
	random := rand.New(rand.NewPCG(5, 6))

	var docs []*search.Document
	for i := range 200 {
		d := &search.Document{ID: fmt.Sprint(i)}

		hasDeadline := i%3 > 0
		if hasDeadline {
			d.Deadline = firstDeadline.AddDate(0, 0, random.IntN(deadlineDays))
		}

		docs = append(docs, d)
	}

	segment, err := build(docs, trimS)
	require.NoError(t, err)

	const queries = 200

	for range queries {
		const margin = 2 // days before the first deadline and after the last one

		now := firstDeadline.AddDate(0, 0, random.IntN(deadlineDays+2*margin)-margin).UnixMicro()

		expired := segment.expired(now) // nil if no document is expired
		for i, deadline := range segment.deadlines {
			isExpired := expired != nil && expired.has(uint32(i))
			require.Equal(t, deadline <= now, isExpired, "document %d with deadline %d at %d", i, deadline, now)
		}
	}
}

// TestFind_PhraseInManyTexts_CountsEach checks a phrase in more than minParallelTexts texts. From that number, an
// index divides the texts between two goroutines.
func TestFind_PhraseInManyTexts_CountsEach(t *testing.T) {
	t.Parallel()

	index := open(t, options(inMemory))

	changes := make([]search.Change, 3*minParallelTexts)
	for i := range changes {
		body := []string{"days", "nights"} // two thirds of the texts
		if i%3 == 0 {
			body = []string{"nights", "days"} // one third
		}

		changes[i] = search.Change{ID: fmt.Sprint(i), Version: 1, Document: &search.Document{Body: body}}
	}

	require.NoError(t, index.Apply(t.Context(), changes, "1"))
	require.Equal(t, 2*minParallelTexts, total(t, index, search.HasLiteral("days", "nights")))
	require.Equal(t, minParallelTexts, total(t, index, search.HasPhrase("Nights", "days")))
}
