package relevance

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/adapters/searchindex"
	"github.com/locumhq/locum/modules/listings/search"
)

// lab is a board with one advert for each concept that a title can name, all of
// them in the same town, and the parser over it.
type lab struct {
	t          *testing.T
	vocabulary *search.Vocabulary
	index      search.Index
	parser     search.Parser
	// annotations maps the ids of adverts to their annotations.
	annotations map[string]search.Annotation
}

// labTown is the place of all adverts of the lab.
const labTown = "Leeds"

// newLab returns a lab with the embedded vocabulary and the gazetteer.
func newLab(t *testing.T) *lab {
	t.Helper()

	vocabulary, err := search.Load()
	require.NoError(t, err)

	index, err := searchindex.Open(searchindex.Options{Normalize: search.Normalize, Analyzer: "1"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Close()) })

	places := gazetteer.New()
	town, ok := places.Resolve(labTown)
	require.True(t, ok)

	lab := &lab{t: t, vocabulary: vocabulary, index: index, annotations: map[string]search.Annotation{}}
	lab.parser = search.Parser{Vocabulary: vocabulary, Places: places, Words: search.NewSpelling(vocabulary, index)}

	var changes []search.Change
	for _, concept := range vocabulary.Concepts() {
		if isTitled(concept) {
			changes = append(changes, search.Change{ID: concept.ID, Version: 1, Document: lab.document(concept, &town)})
		}
	}

	require.NoError(t, index.Apply(t.Context(), changes, "1"))

	return lab
}

// isTitled reports whether the lab has an advert for the concept.
func isTitled(c *search.Concept) bool {
	return (c.Kind == search.Role || c.Kind == search.Specialty) && len(c.Forms) > 0
}

// document is the advert of a concept: its name is the title.
func (l *lab) document(c *search.Concept, town *search.Place) *search.Document {
	title := c.Label
	annotation := l.vocabulary.Annotate(&search.Advert{Title: title, Description: "Join our team."})
	l.annotations[c.ID] = annotation

	return &search.Document{
		PostedAt: time.Unix(1_750_000_000, 0),
		Keys:     append(annotation.Keys(), search.PlaceKeys(town, false)...),
		Title:    search.WordsOf(title),
		Body:     search.WordsOf("Join our team.", labTown),
		Point:    &search.Point{Lat: town.Lat, Lon: town.Lon},
	}
}

// find returns the first hits of a query.
func (l *lab) find(text string) []search.Hit {
	parsed := l.parser.Parse(text)
	plan := parsed.Plan(10)
	result, err := l.index.Find(l.t.Context(), search.Query{
		Now:     time.Unix(1_750_000_000, 0),
		Must:    plan.Must,
		Slots:   plan.Slots,
		MaxCost: search.MaxCost,
		Relaxed: depth,
		Limit:   depth,
	})
	require.NoError(l.t, err, text)

	return result.Hits
}

// complete marks the last word of a query as complete: a word before a space may not be the
// beginning of a longer one.
func complete(text string) string { return text + " " }

// findsOwn reports whether a query finds what one of its readings means: the advert of the concept
// is an exact hit, or all hits of a full page are exact and about the concept, so that its advert
// may be on a later page.
func (l *lab) findsOwn(text string, readings []search.Reading) bool {
	hits := l.find(text)

	return slices.ContainsFunc(readings, func(r search.Reading) bool {
		isOwn := func(h search.Hit) bool {
			means := l.vocabulary.Concept(h.ID).Means()
			return h.Exact && (h.ID == r.Concept.ID || slices.Equal(means, r.Concept.Means()))
		}
		if slices.ContainsFunc(hits, isOwn) {
			return true
		}

		isOther := func(h search.Hit) bool { return !h.Exact || !l.isAbout(h.ID, r.Concept) }

		return len(hits) == depth && !slices.ContainsFunc(hits, isOther)
	})
}

// isAbout reports whether an advert is about all that the concept means.
func (l *lab) isAbout(id string, c *search.Concept) bool {
	annotation := l.annotations[id]

	return !slices.ContainsFunc(c.Means(), func(c *search.Concept) bool {
		_, ok := annotation.Find(c.ID)
		return !ok
	})
}

// variation is another way to write a form. Its function returns "" for a form that has none.
type variation struct {
	name  string
	write func(form string) string
	// maxFailures is the number of forms per thousand that may fail.
	maxFailures int
}

// variations are the ways to write a form. The limits are a little above the present results; they may only
// fall.
var variations = []variation{
	{name: "as it is", write: func(form string) string { return form }, maxFailures: 1},
	{name: "capitals", write: strings.ToUpper, maxFailures: 1},
	{name: "plural", write: plural, maxFailures: 4},
	{name: "other spelling", write: otherSpelling, maxFailures: 2},
	{name: "typo", write: typo, maxFailures: 5},
	{name: "with a place", write: func(form string) string { return form + " in " + labTown }, maxFailures: 1},
}

// plural adds an s to the last word. Abbreviations, codes and words with another plural have none.
func plural(form string) string {
	last := form[strings.LastIndexByte(form, ' ')+1:]
	if len(last) < 4 || strings.ContainsAny(last, "0123456789/&") || strings.ContainsAny(last[len(last)-1:], "sygxhz") {
		return ""
	}

	return form + "s"
}

// otherSpelling returns the form in American instead of British spelling, or the reverse.
func otherSpelling(form string) string {
	words := strings.Fields(form)
	for i, word := range words {
		words[i] = search.Normalize(word)
	}

	if other := strings.Join(words, " "); other != form {
		return other
	}

	return ""
}

// typo leaves out, doubles or swaps a letter inside the longest word, as a hash
// of the form decides.
func typo(form string) string {
	words := strings.Fields(form)

	longest := 0
	for i, word := range words {
		if len(word) > len(words[longest]) {
			longest = i
		}
	}

	word := words[longest]
	if len(word) < 6 || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return ""
	}

	h := fnv.New32a()
	_, _ = h.Write([]byte(form))
	seed := int(h.Sum32() >> 1)

	at := 2 + seed%(len(word)-4) // neither of the first two letters nor of the last one
	switch seed / 100 % 3 {
	case 0:
		word = word[:at] + word[at+1:]
	case 1:
		word = word[:at] + word[at:at+1] + word[at:]
	default:
		word = word[:at] + word[at+1:at+2] + word[at:at+1] + word[at+2:]
	}

	words[longest] = word

	return strings.Join(words, " ")
}

// TestVocabulary_Variations_FindTheSame writes every name of every role and
// specialty in other ways: each of them finds the adverts of its own concept.
func TestVocabulary_Variations_FindTheSame(t *testing.T) {
	t.Parallel()

	lab := newLab(t)
	for _, variation := range variations {
		t.Run(variation.name, func(t *testing.T) {
			var failed []string

			tried := 0
			for _, form := range lab.vocabulary.Forms() {
				text := variation.write(strings.ToLower(form.Text))
				if text == "" || !isTitled(form.Readings[0].Concept) {
					continue
				}

				tried++

				if !lab.findsOwn(complete(text), form.Readings) {
					failed = append(failed, fmt.Sprintf("%s (%s)", text, form.Readings[0].Concept.ID))
				}
			}

			t.Logf("%d of %d forms do not find their own advert", len(failed), tried)
			require.LessOrEqual(t, len(failed)*1000, tried*variation.maxFailures, "%s", strings.Join(failed, "\n"))
		})
	}
}

// TestVocabulary_Child_DoesNotFindItsParent searches for every role by name:
// adverts for a wider role are not exact results.
func TestVocabulary_Child_DoesNotFindItsParent(t *testing.T) {
	t.Parallel()

	lab := newLab(t)

	var failed []string
	for _, concept := range lab.vocabulary.Concepts() {
		if concept.Kind != search.Role || concept.Same != nil {
			continue
		}

		for _, hit := range lab.find(complete(concept.Label)) {
			if slices.ContainsFunc(concept.Parents, func(parent search.Link) bool { return hit.Exact && parent.To.ID == hit.ID }) {
				failed = append(failed, concept.ID+" finds "+hit.ID)
			}
		}
	}

	require.Empty(t, failed)
}

// TestVocabulary_NonClinicalForm_FindsNoClinicalPostFirst checks that a search for a non-clinical
// role, such as a porter, does not find the advert of a clinical role first. It skips searches
// without exact hits, whose first hits are only related.
func TestVocabulary_NonClinicalForm_FindsNoClinicalPostFirst(t *testing.T) {
	t.Parallel()

	lab := newLab(t)
	nonClinical := lab.vocabulary.Concept("non-clinical")

	var failed []string
	for _, form := range lab.vocabulary.Forms() {
		concept := form.Readings[0].Concept
		if len(form.Readings) > 1 || concept.Kind != search.Role || !concept.IsA(nonClinical) {
			continue
		}

		hits := lab.find(complete(form.Text))
		if len(hits) == 0 || !hits[0].Exact {
			continue
		}

		// The advert of a specialty alone is for the profession that staffs it.
		if first := lab.vocabulary.Concept(hits[0].ID); first.Kind == search.Role && !first.IsA(nonClinical) {
			failed = append(failed, form.Text+" finds "+hits[0].ID)
		}
	}

	require.Empty(t, failed)
}
