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
	// maxCompletions is the number of completions.
	maxCompletions = 10
	// maxCandidates is how many of a kind are counted.
	maxCandidates = 12
	// maxNames is how many names of places and employers are compared.
	maxNames = 500
)

// Complete returns completions of an unfinished text that have results, those with
// the most first.
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
		c := completer{g: g, now: search.Query{Now: s.Clock.Now()}, out: out}
		out, err = c.complete(ctx, text, s.Gazetteer)
		return err
	})
	return out, err
}

// completer counts candidates in an index.
type completer struct {
	g   *generation
	now search.Query
	out []Completion
}

func (c *completer) complete(ctx context.Context, text string, places Gazetteer) ([]Completion, error) {
	for _, concept := range c.g.parser.Vocabulary.Complete(text, maxCandidates) {
		if err := c.add(ctx, concept.Slot(), concept.Label, search.Is(concept)); err != nil {
			return nil, err
		}
	}
	for _, name := range c.names(keyPlaceName, text) {
		p, ok := places.Resolve(name)
		if !ok {
			continue
		}
		if err := c.add(ctx, search.SlotPlace, name, search.PlaceExpr(p, DefaultRadius)); err != nil {
			return nil, err
		}
	}
	for _, name := range c.names(keyEmployerName, text) {
		if err := c.add(ctx, "employer", name, search.HasKey(nameKey(keyEmployerName, name))); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(c.out, func(a, b Completion) int { return b.Total - a.Total })
	return c.out[:min(len(c.out), maxCompletions)], nil
}

// names returns the most frequent names that begin with the text.
func (c *completer) names(prefix, text string) []string {
	type name struct {
		text  string
		count int
	}
	var found []name
	for key, n := range c.g.index.Keys(prefix + foldedName(text)) {
		if _, text, ok := strings.Cut(key, nameSeparator); ok {
			found = append(found, name{text, n})
		}
		if len(found) == maxNames {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b name) int { return b.count - a.count })
	return list.Map(found[:min(len(found), maxCandidates)], func(n name) string { return n.text })
}

func (c *completer) add(ctx context.Context, kind, text string, e search.Expr) error {
	q := c.now
	q.Must = []search.Expr{e}
	r, err := c.g.index.Find(ctx, q)
	if err == nil && r.Total > 0 {
		c.out = append(c.out, Completion{Kind: kind, Text: text, Total: r.Total})
	}
	return err
}
