package jobseeker

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Recommendations are found in two steps. A handful of questions, each about one
// thing that is known of the person and each answered from an index with at most
// a hundred listings, gathers candidates. Then every candidate gets points for
// each thing that is known, see taste.go. So what a page costs depends on the
// person alone and not on how many listings there are.

// Recommendation is a listing that may suit somebody.
type Recommendation struct {
	Candidate
	// Score is from 0 to 100: how much of what is known of the person it meets.
	Score int
	// Reasons say in a few words what it meets, the weightiest first.
	Reasons []string
}

const (
	// candidatesEach is how many listings one question brings at most.
	candidatesEach = 100
	// MaxRecommendations is how many somebody is shown at most.
	MaxRecommendations = 200
	// likedAtMost and searchesAtMost are how many of the latest bookmarks,
	// applications and searches say something about what somebody likes.
	likedAtMost    = 3
	searchesAtMost = 3
	lookedBack     = 10
	// maxDismissed is how many listings somebody can wave away before the first
	// of them may come again.
	maxDismissed = 1_000
)

// Recommended are recommendations, the best first.
type Recommended struct {
	Items []Recommendation
	// Total is how many there are on all pages.
	Total int
	// NextCursor is where the next page begins, empty at the end.
	NextCursor string
}

// Recommend lists what may suit the caller.
func (s *Service) Recommend(ctx context.Context, by auth.Actor, r page.Request) (Recommended, error) {
	if !by.Seeker {
		return Recommended{}, fault.ErrForbidden
	}
	from := r.Offset()
	if r.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(r.Cursor); err != nil || from < 0 || from > MaxRecommendations {
			return Recommended{}, fault.InvalidField("cursor", "is not a cursor of this list")
		}
	}
	all, err := s.recommend(ctx, by.UserID)
	if err != nil {
		return Recommended{}, err
	}
	out := Recommended{Items: []Recommendation{}, Total: len(all)}
	if from < len(all) {
		out.Items = all[from:min(from+r.Size, len(all))]
		if from+r.Size < len(all) {
			out.NextCursor = strconv.Itoa(from + r.Size)
		}
	}
	return out, nil
}

// recommend is all that may suit the user, in one order.
func (s *Service) recommend(ctx context.Context, userID string) ([]Recommendation, error) {
	p, err := s.Profiles.Find(ctx, userID)
	if err != nil {
		return nil, err
	}
	searches, err := s.Searches.Of(ctx, userID, searchesAtMost)
	if err != nil {
		return nil, err
	}
	liked, err := s.liked(ctx, userID)
	if err != nil {
		return nil, err
	}
	taste := newTaste(p, searches, liked)
	var found []*sighting
	seen := map[string]*sighting{}
	for _, q := range taste.questions() {
		if q.filled = q.unless != nil && q.unless.filled; q.filled {
			continue
		}
		candidates, err := s.Listings.Suggest(ctx, q.wanted, candidatesEach)
		if err != nil {
			return nil, err
		}
		q.filled = len(candidates) == candidatesEach
		for _, c := range candidates {
			at, known := seen[c.ID]
			if !known {
				at = &sighting{Candidate: c}
				seen[c.ID] = at
				found = append(found, at)
			}
			at.note(q, c.InTitle)
		}
	}
	if found, err = s.withoutKnown(ctx, userID, found); err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	out := make([]Recommendation, len(found))
	for i, f := range found {
		out[i] = taste.judge(f, now)
	}
	slices.SortFunc(out, func(a, b Recommendation) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), MaxRecommendations)], nil
}

// withoutKnown takes out what the person has dealt with: applied for, withdrawn
// ones included, kept, or waved away.
func (s *Service) withoutKnown(ctx context.Context, userID string, found []*sighting) ([]*sighting, error) {
	for _, among := range []func(context.Context, string, []string) (map[string]bool, error){s.Applied.Among, s.Bookmarks.Among, s.Dismissals.Among} {
		for chunk := range slices.Chunk(idsOf(found), listingsAtOnce) {
			known, err := among(ctx, userID, chunk)
			if err != nil {
				return nil, err
			}
			found = slices.DeleteFunc(found, func(f *sighting) bool { return known[f.ID] })
		}
	}
	return found, nil
}

func idsOf(found []*sighting) []string {
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return ids
}

// liked are the titles of what the person kept or applied for last.
func (s *Service) liked(ctx context.Context, userID string) ([]string, error) {
	kept, err := s.Bookmarks.Page(ctx, userID, page.Request{Number: 1, Size: lookedBack})
	if err != nil {
		return nil, err
	}
	ids, err := s.Applied.Lately(ctx, userID, lookedBack)
	if err != nil {
		return nil, err
	}
	for _, b := range kept.Items {
		ids = append(ids, b.ListingID)
	}
	titles, err := s.Listings.Titles(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		if t := plainWords(titles[id]); t != "" && !slices.Contains(out, t) && len(out) < likedAtMost {
			out = append(out, t)
		}
	}
	return out, nil
}

// Dismiss takes a listing out of the caller's recommendations.
func (s *Service) Dismiss(ctx context.Context, by auth.Actor, listingID string) error {
	if !by.Seeker {
		return fault.ErrForbidden
	}
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return ErrListingNotFound
	}
	briefs, err := s.Listings.Briefs(ctx, []string{listingID})
	if err != nil {
		return err
	}
	if !briefs[listingID].Public {
		return ErrListingNotFound
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Dismissals.Add(ctx, by.UserID, listingID, s.Clock.Now(), maxDismissed)
	})
}
