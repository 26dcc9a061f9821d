package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// queries generates searches of the demo data, all different.
type queries struct {
	*rand.Rand
	roles       []string        // names of the roles that demo listings have
	rareRoles   []string        // names of the other roles of the vocabulary
	specialties []string        // names of the specialties of the vocabulary
	duties      [][]string      // texts of the demo listings, as lists of words
	words       []string        // the words of all duties that have at least minWordLength letters
	generated   map[string]bool // paths of the searches so far
}

const (
	longPhrase    = 4 // the minimum number of words of a long phrase
	minWordLength = 4 // excludes words such as "and" and "the"
)

// newQueries reads the names of roles and specialties from the vocabulary, and the roles and texts
// of listings from the demo data.
func newQueries(tb testing.TB) *queries {
	tb.Helper()

	file, err := os.ReadFile("../../bootstrap/seed.json")
	require.NoError(tb, err)

	var demo struct {
		Roles []struct{ Concept string }
		Texts struct {
			Families map[string]struct{ Duties []string }
		}
	}
	require.NoError(tb, json.Unmarshal(file, &demo))

	q := &queries{Rand: rand.New(rand.NewPCG(3, 4)), generated: map[string]bool{}}

	advertised := map[string]bool{} // concepts of roles
	for _, role := range demo.Roles {
		advertised[role.Concept] = true
	}

	for _, family := range slices.Sorted(maps.Keys(demo.Texts.Families)) {
		for _, duty := range demo.Texts.Families[family].Duties {
			words := strings.Fields(duty)

			hasPlaceholder := strings.Contains(duty, "{")
			if len(words) >= longPhrase && !hasPlaceholder {
				q.duties = append(q.duties, words)
				q.words = append(q.words, words...)
			}
		}
	}

	slices.Sort(q.words)

	isShort := func(word string) bool { return len(word) < minWordLength }
	q.words = slices.DeleteFunc(slices.Compact(q.words), isShort)

	vocabulary, err := search.Load()
	require.NoError(tb, err)

	for _, form := range vocabulary.Forms() {
		concept := form.Readings[0].Concept
		switch {
		case concept.Kind == search.Role && advertised[concept.ID]:
			q.roles = append(q.roles, form.Text)
		case concept.Kind == search.Role:
			q.rareRoles = append(q.rareRoles, form.Text)
		case concept.Kind == search.Specialty:
			q.specialties = append(q.specialties, form.Text)
		}
	}

	return q
}

func (q *queries) pick(list []string) string { return list[q.IntN(len(list))] }
func (q *queries) role() string              { return q.pick(q.roles) }
func (q *queries) specialty() string         { return q.pick(q.specialties) }
func (q *queries) town() string              { return q.pick(searchTowns) }
func (q *queries) word() string              { return q.pick(q.words) }
func (q *queries) contract() string          { return q.pick([]string{"permanent", "temporary", "contract"}) }

// phrase returns at least minWords consecutive words of a duty.
func (q *queries) phrase(minWords int) string {
	words := q.duties[q.IntN(len(q.duties))]
	start := q.IntN(len(words) - minWords + 1)
	minEnd := start + minWords
	end := minEnd + q.IntN(len(words)-minEnd+1)

	return strings.Join(words[start:end], " ")
}

// misspell swaps two adjacent letters of the longest word. The first letter of the word stays, and a
// text without a word of four letters is returned unchanged.
func (q *queries) misspell(text string) string {
	longest := slices.MaxFunc(strings.Fields(text), func(a, b string) int { return len(a) - len(b) })

	letters := []rune(longest)
	if len(letters) < 4 {
		return text
	}

	i := 1 + q.IntN(len(letters)-2) // not the first letter, and not the last
	letters[i], letters[i+1] = letters[i+1], letters[i]

	return strings.Replace(text, longest, string(letters), 1)
}

// parameters are the query parameters of a search.
type parameters map[string]any

// shapes are the kinds of searches.
var shapes = []struct {
	name string
	next func(q *queries) parameters
}{
	{"role", func(q *queries) parameters { return parameters{"search": q.role()} }},
	{"role in place", func(q *queries) parameters { return parameters{"search": q.role() + " in " + q.town()} }},
	{"role, misspelt", func(q *queries) parameters { return parameters{"search": q.misspell(q.role()) + " " + q.town()} }},
	{"rare role", func(q *queries) parameters { return parameters{"search": q.pick(q.rareRoles)} }},
	{"unknown word", func(q *queries) parameters {
		return parameters{"search": fmt.Sprintf("%s qx%dz", q.role(), q.IntN(1000))}
	}},
	{"unfinished word", func(q *queries) parameters {
		role := []rune(q.role())
		withoutEnd := string(role[:len(role)-len(role)/4])
		return parameters{"search": q.town() + " " + withoutEnd}
	}},
	{"common words", func(q *queries) parameters { return parameters{"search": q.word() + " " + q.word()} }},
	{"common words that never meet", func(q *queries) parameters {
		return parameters{"search": fmt.Sprintf("%s %s %s %s", q.word(), q.word(), q.word(), q.specialty())}
	}},
	{"sentence", func(q *queries) parameters {
		return parameters{
			"search": fmt.Sprintf("I am looking for a %s job as a band %d %s in %s near %s with nights",
				q.contract(), 3+q.IntN(6), q.role(), q.specialty(), q.town()),
		}
	}},
	{"either role", func(q *queries) parameters { return parameters{"search": q.role() + " OR " + q.role()} }},
	{"excluded words", func(q *queries) parameters {
		return parameters{"search": fmt.Sprintf("%s -%s -%s", q.role(), q.word(), q.word())}
	}},
	{"phrase", func(q *queries) parameters {
		return parameters{"search": fmt.Sprintf("%q %s", q.phrase(2), q.word())}
	}},
	{"long phrase", func(q *queries) parameters {
		return parameters{"search": fmt.Sprintf("%q", q.phrase(longPhrase)), "salary_min": q.IntN(40_000)}
	}},
	{"latest", func(q *queries) parameters {
		return parameters{"contractType": q.contract(), "salary_min": 10_000 + q.IntN(50_000)}
	}},
	{"filters", func(q *queries) parameters {
		return parameters{"search": q.role(), "location": q.town(), "contractType": q.contract(), "salary_min": 20_000 + q.IntN(40_000)}
	}},
	{"radius", func(q *queries) parameters {
		return parameters{"search": q.role(), "location": q.town(), "radius": 5 + q.IntN(196)}
	}},
	{"by date", func(q *queries) parameters { return parameters{"search": q.role(), "sort": "date"} }},
	{"by salary", func(q *queries) parameters {
		return parameters{"search": q.specialty(), "sort": "salary", "salary_max": 30_000 + q.IntN(50_000)}
	}},
	{"by distance, with facets", func(q *queries) parameters {
		return parameters{
			"search":   q.role(),
			"location": q.town(),
			"radius":   100,
			"sort":     "distance",
			"facets":   "role,specialty,band,contractType,employmentType,shift,region",
		}
	}},
	{"deep page", func(q *queries) parameters {
		return parameters{"search": q.pick([]string{"nurse", "doctor", "patients", "therapist", "care"}), "page": 50 + q.IntN(450)}
	}},
}

// request is a GET request for a search or for a page. shape is the name of its shape, or "job" for
// the page of a job.
type request struct{ shape, path string }

// take returns the next n searches, in rotation over all shapes. Searches that were generated before
// are skipped, so that no cache answers them.
func (q *queries) take(n int) []request {
	requests := make([]request, 0, n)
	for i := 0; len(requests) < n; i++ {
		shape := shapes[i%len(shapes)]

		values := url.Values{}
		for name, value := range shape.next(q) {
			values.Set(name, fmt.Sprint(value))
		}

		path := "/api/listings?" + values.Encode()
		if q.generated[path] {
			continue
		}

		q.generated[path] = true
		requests = append(requests, request{shape: shape.name, path: path})
	}

	return requests
}
