package relevance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/adapters/searchindex"
	"github.com/locumhq/locum/modules/listings/search"
)

// A concept is a role or a specialty in the vocabulary of the search. Its forms are the names by which users search for
// it; a form with several meanings has several readings. A metamorphic test needs no list of right results: it changes
// the way in which a query is written, and requires the same result.

// lab is an index with one advert for each concept that a title can name, all of
// them in the same town, and the parser of queries over it.
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

	// The id of the advert is that of its concept.
	var changes []search.Change
	for _, concept := range vocabulary.Concepts() {
		if isTitled(concept) {
			document := lab.newDocument(concept, &town)
			changes = append(changes, search.Change{ID: concept.ID, Version: 1, Document: document})
		}
	}

	require.NoError(t, index.Apply(t.Context(), changes, "1"))

	return lab
}

// isTitled reports whether the lab has an advert for the concept.
func isTitled(concept *search.Concept) bool {
	return (concept.Kind == search.Role || concept.Kind == search.Specialty) && len(concept.Forms) > 0
}

// labTime is the time of all adverts and searches of the lab.
var labTime = time.Unix(1_750_000_000, 0)

// newDocument returns the advert of a concept, whose title is the name of the concept, and stores its annotation.
func (l *lab) newDocument(concept *search.Concept, town *search.Place) *search.Document {
	title := concept.Label
	annotation := l.vocabulary.Annotate(&search.Advert{Title: title, Description: "Join our team."})
	l.annotations[concept.ID] = annotation

	return &search.Document{
		PostedAt: labTime,
		Keys:     append(annotation.Keys(), search.PlaceKeys(town, false)...),
		Title:    search.WordsOf(title),
		Body:     search.WordsOf("Join our team.", labTown),
		Point:    &search.Point{Lat: town.Lat, Lon: town.Lon},
	}
}

// find returns the first hits of a query, exact ones before related ones. Their number is at most depth, the number of
// results that the suite grades.
func (l *lab) find(text string) []search.Hit {
	const radius = 10 // miles, the default of the API

	parsed := l.parser.Parse(text)
	plan := parsed.Plan(radius)
	result, err := l.index.Find(l.t.Context(), search.Query{
		Now:     labTime,
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

	return slices.ContainsFunc(readings, func(reading search.Reading) bool {
		concept := reading.Concept

		isOwn := func(hit search.Hit) bool {
			hasSameMeaning := slices.Equal(l.vocabulary.Concept(hit.ID).Means(), concept.Means())
			return hit.Exact && (hit.ID == concept.ID || hasSameMeaning)
		}
		if slices.ContainsFunc(hits, isOwn) {
			return true
		}

		isOffTopic := func(hit search.Hit) bool { return !hit.Exact || !l.isAbout(hit.ID, concept) }
		isFullPage := len(hits) == depth

		return isFullPage && !slices.ContainsFunc(hits, isOffTopic)
	})
}

// isAbout reports whether an advert is about all that the concept means. A concept such as a paediatric nurse means
// several: the role and the specialty.
func (l *lab) isAbout(advertID string, concept *search.Concept) bool {
	annotation := l.annotations[advertID]

	return !slices.ContainsFunc(concept.Means(), func(meant *search.Concept) bool {
		_, isFound := annotation.Find(meant.ID)
		return !isFound
	})
}

// variation is another way to write a form. Its function returns "" for a form that has none.
type variation struct {
	name  string
	write func(form string) string
	// maxFailures is the number of forms per thousand that may fail.
	maxFailures int
}

// variations are the ways to write a form. Each limit is a little above the number of forms that fail at present, and may
// only be lowered.
var variations = []variation{
	{name: "as it is", write: func(form string) string { return form }, maxFailures: 1},
	{name: "capitals", write: strings.ToUpper, maxFailures: 1},
	{name: "plural", write: plural, maxFailures: 4},
	{name: "other spelling", write: otherSpelling, maxFailures: 2},
	{name: "typo", write: typo, maxFailures: 5},
	{name: "with a place", write: func(form string) string { return form + " in " + labTown }, maxFailures: 1},
}

// plural adds an s to the last word. Abbreviations, codes and words with another plural (or none, such as nursing)
// have none.
func plural(form string) string {
	last := form[strings.LastIndexByte(form, ' ')+1:]
	isAbbreviationOrCode := len(last) < 4 || strings.ContainsAny(last, "0123456789/&")
	hasOtherPlural := strings.TrimRight(last, "sygxhz") != last

	if isAbbreviationOrCode || hasOtherPlural {
		return ""
	}

	return form + "s"
}

// otherSpelling returns the form in the spelling to which the search normalizes words, American or British. A
// form that is written in it has no other spelling.
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
// of the form decides. Words of fewer than six letters, and words with other characters, have none.
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

	seed := hash(form)
	// The letter at this position is not one of the first two letters, and not one of the last two.
	at := 2 + seed%(len(word)-4)
	before, letter, next, after := word[:at], word[at:at+1], word[at+1:at+2], word[at+2:]

	switch seed / 100 % 3 { // another part of the seed than the position
	case 0: // leave out the letter
		word = before + next + after
	case 1: // double the letter
		word = before + letter + letter + next + after
	default: // swap the letter and the next one
		word = before + next + letter + after
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
			isHit := func(parent search.Link) bool { return parent.To.ID == hit.ID }
			if hit.Exact && slices.ContainsFunc(concept.Parents, isHit) {
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
