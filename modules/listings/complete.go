package listings

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/listings/search"
)

// Completion is a completion of an unfinished search, with the number of its results.
type Completion struct {
	Kind  string `json:"kind" sample:"role"` // a slot: role, specialty, place, employer
	Text  string `json:"text" sample:"Staff Nurse"`
	Total int    `json:"total"`
}

// SuggestInput is an unfinished search.
type SuggestInput struct {
	Query string `query:"q" validate:"max=200"`
}

const (
	// maxCompletions is the maximum number of completions.
	maxCompletions = 10
	// maxCandidates is the maximum number of candidates of each kind whose results are
	// counted.
	maxCandidates = 12
	// maxNames is the maximum number of names of places, and also of employers, that are read. The
	// most frequent of them become candidates.
	maxNames = 500
)

// Complete returns completions of an unfinished text that have results, sorted by the number
// of results in descending order.
func (s *Service) Complete(ctx context.Context, by auth.Actor, text string) ([]Completion, error) {
	if err := by.RequireScope(auth.ScopeJobsRead); err != nil {
		return nil, err
	}

	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > maxQuery {
		return nil, fault.InvalidField("q", "must have at most 200 characters")
	}

	out := []Completion{}
	if text == "" {
		return out, nil
	}

	err := s.useIndex(ctx, func(ctx context.Context, g *generation, _ bool) (err error) {
		c := completer{g: g, base: search.Query{Now: s.Clock.Now()}, completions: out}
		out, err = c.complete(ctx, text, s.Gazetteer)
		return err
	})

	return out, err
}

// completer collects completions and counts their results in an index.
type completer struct {
	g           *generation
	base        search.Query // a query for all listings that are public now
	completions []Completion
}

// complete adds the concepts of the vocabulary, places and employers whose names begin with the
// text, and returns those with the most results.
func (c *completer) complete(ctx context.Context, text string, places Gazetteer) ([]Completion, error) {
	for _, concept := range c.g.parser.Vocabulary.Complete(text, maxCandidates) {
		if err := c.add(ctx, concept.Slot(), concept.Label, search.Is(concept)); err != nil {
			return nil, err
		}
	}

	for _, name := range c.frequentNames(keyPlaceName, text) {
		p, isKnown := places.Resolve(name)
		if !isKnown {
			continue
		}

		if err := c.add(ctx, search.SlotPlace, name, search.PlaceExpr(p, DefaultRadius)); err != nil {
			return nil, err
		}
	}

	for _, name := range c.frequentNames(keyEmployerName, text) {
		if err := c.add(ctx, "employer", name, search.HasKey(nameKey(keyEmployerName, name))); err != nil {
			return nil, err
		}
	}

	slices.SortStableFunc(c.completions, func(a, b Completion) int { return b.Total - a.Total })

	return c.completions[:min(len(c.completions), maxCompletions)], nil
}

// frequentNames returns the most frequent names that begin with the text. prefix is the prefix
// of the keys that contain names of the kind, such as keyEmployerName.
func (c *completer) frequentNames(prefix, text string) []string {
	type name struct {
		text  string
		count int
	}

	var found []name
	for key, n := range c.g.index.Keys(prefix + foldedName(text)) {
		// A key consists of the folded name and the name as it is written (nameKey).
		if _, written, hasName := strings.Cut(key, nameSeparator); hasName {
			found = append(found, name{text: written, count: n})
		}

		if len(found) == maxNames {
			break // a short text begins very many names
		}
	}

	slices.SortStableFunc(found, func(a, b name) int { return b.count - a.count })

	return list.Map(found[:min(len(found), maxCandidates)], func(n name) string { return n.text })
}

// add adds a completion if the expression has results.
func (c *completer) add(ctx context.Context, kind, text string, e search.Expr) error {
	q := c.base
	q.Must = []search.Expr{e}

	r, err := c.g.index.Find(ctx, q)
	if err == nil && r.Total > 0 {
		c.completions = append(c.completions, Completion{Kind: kind, Text: text, Total: r.Total})
	}

	return err
}
