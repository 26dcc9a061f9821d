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

// Recommend lists listings that may suit the caller, the best first.
func (s *DashboardService) Recommend(ctx context.Context, by auth.Actor, r page.Request) (out page.Result[Recommendation], err error) {
	if err := by.RequireSeeker(); err != nil {
		return out, err
	}
	from := r.Offset()
	if r.Cursor != "" {
		if from, err = strconv.Atoi(r.Cursor); err != nil || from < 0 || from > MaxRecommendations {
			return out, fault.InvalidField("cursor", "is not a cursor of this list")
		}
	}
	all, err := s.recommend(ctx, by.UserID)
	from = min(from, len(all))
	until := min(from+r.Size, len(all))
	if out.Items, out.Total = all[from:until], len(all); until < len(all) {
		out.NextCursor = strconv.Itoa(until)
	}
	return out, err
}

// recommend returns all recommendations for the user, best first.
func (s *DashboardService) recommend(ctx context.Context, userID string) ([]Recommendation, error) {
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
func (s *DashboardService) withoutKnown(ctx context.Context, userID string, found []*scoredCandidate) ([]*scoredCandidate, error) {
	for _, among := range []func(context.Context, string, []string) (map[string]bool, error){s.Applied.Among, s.Saved.SavedAmong, s.dismissedAmong} {
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
func (s *DashboardService) dismissedAmong(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	found, err := s.Dismissals.ListByListings(ctx, userID, listingIDs)
	return list.ToMap(found, func(id string) (string, bool) { return id, true }), err
}

// liked returns the titles of listings that the user has recently applied for or saved.
func (s *DashboardService) liked(ctx context.Context, userID string) ([]string, error) {
	kept, err := s.Saved.Bookmarks.List(ctx, userID, BookmarkFilter{}, page.Request{Number: 1, Size: lookedBack})
	if err != nil {
		return nil, err
	}
	ids, err := s.Applied.Lately(ctx, userID, lookedBack)
	if err != nil {
		return nil, err
	}
	ids = append(ids, list.Map(kept.Items, listingOf)...)
	briefs, err := s.Listings.Briefs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		if t := plainWords(briefs[id].Title); t != "" && !slices.Contains(out, t) && len(out) < likedAtMost {
			out = append(out, t)
		}
	}
	return out, nil
}

// Dismiss removes a listing from the caller's recommendations.
func (s *DashboardService) Dismiss(ctx context.Context, by auth.Actor, listingID string) error {
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
