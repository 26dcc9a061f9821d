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

// Recommendations are computed in two steps. A few queries, each about one property of
// the user and each answered by an index with at most 100 listings, return candidates.
// Then every candidate gets points for each property, see affinity.go. So the cost does not
// depend on the number of listings.

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
			at, known := seen[c.ID]
			if !known {
				at = &scoredCandidate{Candidate: c}
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
		out[i] = profile.score(f, now)
	}
	slices.SortFunc(out, func(a, b Recommendation) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), MaxRecommendations)], nil
}

// withoutKnown removes the listings that the user has applied for, even if withdrawn,
// saved or dismissed.
func (s *Service) withoutKnown(ctx context.Context, userID string, found []*scoredCandidate) ([]*scoredCandidate, error) {
	for _, among := range []func(context.Context, string, []string) (map[string]bool, error){s.Applied.Among, s.SavedAmong, s.dismissedAmong} {
		for chunk := range slices.Chunk(idsOf(found), listingsAtOnce) {
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
	out := make(map[string]bool, len(found))
	for _, id := range found {
		out[id] = true
	}
	return out, err
}

func idsOf(found []*scoredCandidate) []string {
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return ids
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
	if err := by.RequireSeeker(); err != nil {
		return err
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
		return s.Dismissals.Create(ctx, by.UserID, listingID, s.Clock.Now(), maxDismissed)
	})
}
