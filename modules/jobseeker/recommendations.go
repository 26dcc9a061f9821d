package jobseeker

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

// Recommendations are computed in two steps. A few queries of the search index, each about
// one property of the user, return at most 100 candidates each. Then every candidate gets
// points for each property, see affinity.go. The cost does not depend on the number of
// listings.

// Recommendation is a listing that may suit the user.
type Recommendation struct {
	Candidate
	// Score is from 0 to 100: the share of the user's known properties that it matches.
	Score int
	// Reasons are short texts about the matching properties, the most important first.
	Reasons []string
}

const (
	// candidatesEach is the maximum number of listings per query.
	candidatesEach = 100
	// MaxRecommendations is the maximum number of recommendations for a user.
	MaxRecommendations = 200
	// likedAtMost and searchesAtMost are the numbers of newest titles and searches that
	// are used.
	likedAtMost    = 3
	searchesAtMost = 3
	lookedBack     = 10
	// maxDismissed is the number of dismissals that are stored per user.
	maxDismissed = 1_000
)

// Recommended is a page of recommendations, best first.
type Recommended struct {
	Items []Recommendation
	// Total is the number on all pages.
	Total int
	// NextCursor is the cursor of the next page, empty at the end.
	NextCursor string
}

// Recommend lists listings that may suit the caller.
func (s *Service) Recommend(ctx context.Context, by auth.Actor, r page.Request) (Recommended, error) {
	if err := by.RequireSeeker(); err != nil {
		return Recommended{}, err
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

// recommend returns all recommendations for the user, best first.
func (s *Service) recommend(ctx context.Context, userID string) ([]Recommendation, error) {
	p, err := s.Profiles.Get(ctx, userID)
	if err != nil {
		return nil, err
	}
	searches, err := s.Searches.ListByUser(ctx, userID, searchesAtMost)
	if err != nil {
		return nil, err
	}
	liked, err := s.liked(ctx, userID)
	if err != nil {
		return nil, err
	}
	profile := newAffinity(p, searches, liked)
	var found []*scoredCandidate
	seen := map[string]*scoredCandidate{}
	for _, q := range profile.queries() {
		if q.filled = q.unless != nil && q.unless.filled; q.filled {
			continue
		}
		candidates, err := s.Listings.Suggest(ctx, q.wanted, candidatesEach)
		if err != nil {
			return nil, err
		}
		q.filled = len(candidates) == candidatesEach
		for _, c := range candidates {
			candidate, exists := seen[c.ID]
			if !exists {
				candidate = &scoredCandidate{Candidate: c}
				seen[c.ID] = candidate
				found = append(found, candidate)
			}
			candidate.note(q, c.InTitle)
		}
	}
	if found, err = s.withoutKnown(ctx, userID, found); err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	out := list.Map(found, func(f *scoredCandidate) Recommendation { return profile.score(f, now) })
	slices.SortFunc(out, func(a, b Recommendation) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), MaxRecommendations)], nil
}

// withoutKnown removes the listings that the user has applied for, even if withdrawn,
// saved or dismissed.
func (s *Service) withoutKnown(ctx context.Context, userID string, found []*scoredCandidate) ([]*scoredCandidate, error) {
	for _, among := range []func(context.Context, string, []string) (map[string]bool, error){s.Applied.Among, s.SavedAmong, s.dismissedAmong} {
		ids := list.Map(found, func(f *scoredCandidate) string { return f.ID })
		for chunk := range slices.Chunk(ids, listingsAtOnce) {
			known, err := among(ctx, userID, chunk)
			if err != nil {
				return nil, err
			}
			found = slices.DeleteFunc(found, func(f *scoredCandidate) bool { return known[f.ID] })
		}
	}
	return found, nil
}

// dismissedAmong returns those of the listings that the user has dismissed.
func (s *Service) dismissedAmong(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	found, err := s.Dismissals.ListByListings(ctx, userID, listingIDs)
	return list.ToMap(found, func(id string) (string, bool) { return id, true }), err
}

// liked returns the titles of listings that the user has recently applied for or saved.
func (s *Service) liked(ctx context.Context, userID string) ([]string, error) {
	kept, err := s.Bookmarks.List(ctx, userID, BookmarkFilter{}, page.Request{Number: 1, Size: lookedBack})
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

// Dismiss removes a listing from the caller's recommendations.
func (s *Service) Dismiss(ctx context.Context, by auth.Actor, listingID string) error {
	listingID, err := canonical(by, listingID, ErrListingNotFound)
	if err != nil {
		return err
	}
	if _, err := s.publicBrief(ctx, listingID); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Dismissals.Create(ctx, by.UserID, listingID, s.Clock.Now(), maxDismissed)
	})
}
