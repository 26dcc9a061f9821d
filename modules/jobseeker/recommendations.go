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

// Recommendations are computed in two steps. First, a few queries of the search index
// collect candidates: each query is about one property of the user, such as the role or the
// place, and returns at most 100 listings. Then every candidate gets points for each
// property that it matches (see affinity.go). The cost does not depend on the number of
// listings.

// Recommendation is a listing that may suit the user.
type Recommendation struct {
	Candidate
	// Score is from 0 to 100: the share of the user's known properties that the listing
	// matches.
	Score int
	// Reasons are short texts about the matching properties, the most important first.
	Reasons []string
}

const (
	// candidatesPerQuery is the maximum number of listings per query.
	candidatesPerQuery = 100
	// MaxRecommendations is the maximum number of recommendations for a user.
	MaxRecommendations = 200
	// maxLikedTitles is the number of titles, of listings that the user has applied for or
	// saved, that are searched for. maxUsedSearches is the number of saved searches that
	// are run. The newest ones are used.
	maxLikedTitles  = 3
	maxUsedSearches = 3
	// recentListingLimit is the number of applications, and of bookmarks, among which
	// distinct titles are looked for.
	recentListingLimit = 10
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
		from, err = strconv.Atoi(r.Cursor)
		if err != nil || from < 0 || from > MaxRecommendations {
			return out, fault.InvalidField("cursor", "is not a cursor of this list")
		}
	}

	all, err := s.recommend(ctx, by.UserID)
	from = min(from, len(all))
	until := min(from+r.Size, len(all))

	out.Items, out.Total = all[from:until], len(all)
	if until < len(all) {
		out.NextCursor = strconv.Itoa(until)
	}

	return out, err
}

// recommend returns all recommendations for the user, best first.
func (s *DashboardService) recommend(ctx context.Context, userID string) ([]Recommendation, error) {
	// Read the data of the user.
	p, err := s.Profiles.Get(ctx, userID)
	if err != nil {
		return nil, err
	}

	searches, err := s.Searches.ListByUser(ctx, userID, maxUsedSearches)
	if err != nil {
		return nil, err
	}

	likedTitles, err := s.likedTitles(ctx, userID)
	if err != nil {
		return nil, err
	}

	// Collect the candidates of all queries, each candidate once.
	profile := newAffinity(p, searches, likedTitles)
	var found []*scoredCandidate

	candidatesByID := map[string]*scoredCandidate{}
	for _, q := range profile.queries() {
		if q.unless != nil && q.unless.isFilled {
			q.isFilled = true // for the queries that depend on this one
			continue
		}

		candidates, err := s.Listings.Suggest(ctx, q.wanted, candidatesPerQuery)
		if err != nil {
			return nil, err
		}

		q.isFilled = len(candidates) == candidatesPerQuery
		for _, c := range candidates {
			candidate, exists := candidatesByID[c.ID]
			if !exists {
				candidate = &scoredCandidate{Candidate: c}
				candidatesByID[c.ID] = candidate
				found = append(found, candidate)
			}

			candidate.recordFoundBy(q, c.InTitle)
		}
	}

	if found, err = s.excludeKnown(ctx, userID, found); err != nil {
		return nil, err
	}

	// Rate the candidates, and return the best ones.
	now := s.Clock.Now()
	recommendations := list.Map(found, func(f *scoredCandidate) Recommendation { return profile.score(f, now) })
	slices.SortFunc(recommendations, func(a, b Recommendation) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})

	return recommendations[:min(len(recommendations), MaxRecommendations)], nil
}

// excludeKnown removes the listings that the user has saved, dismissed or applied for,
// including withdrawn applications.
func (s *DashboardService) excludeKnown(ctx context.Context, userID string, found []*scoredCandidate) ([]*scoredCandidate, error) {
	type findKnown func(ctx context.Context, userID string, listingIDs []string) (known map[string]bool, err error)
	for _, knownAmong := range []findKnown{s.Applied.Among, s.Saved.SavedAmong, s.dismissedAmong} {
		ids := list.Map(found, func(f *scoredCandidate) string { return f.ID })
		for chunk := range slices.Chunk(ids, listingBatchSize) {
			known, err := knownAmong(ctx, userID, chunk)
			if err != nil {
				return nil, err
			}

			found = slices.DeleteFunc(found, func(f *scoredCandidate) bool { return known[f.ID] })
		}
	}

	return found, nil
}

// dismissedAmong returns the set of the given listings that the user has dismissed.
func (s *DashboardService) dismissedAmong(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	found, err := s.Dismissals.ListByListings(ctx, userID, listingIDs)
	return list.ToMap(found, func(id string) (string, bool) { return id, true }), err
}

// likedTitles returns the titles of listings that the user has recently applied for or saved.
func (s *DashboardService) likedTitles(ctx context.Context, userID string) ([]string, error) {
	bookmarks, err := s.Saved.Bookmarks.List(ctx, userID, BookmarkFilter{}, page.Request{Number: 1, Size: recentListingLimit})
	if err != nil {
		return nil, err
	}

	ids, err := s.Applied.Lately(ctx, userID, recentListingLimit)
	if err != nil {
		return nil, err
	}

	ids = append(ids, list.Map(bookmarks.Items, listingOf)...)

	briefs, err := s.Listings.Briefs(ctx, ids)
	if err != nil {
		return nil, err
	}

	var titles []string
	for _, id := range ids {
		title := plainWords(briefs[id].Title)
		if title != "" && !slices.Contains(titles, title) && len(titles) < maxLikedTitles {
			titles = append(titles, title)
		}
	}

	return titles, nil
}

// Dismiss removes a listing from the caller's recommendations.
func (s *DashboardService) Dismiss(ctx context.Context, by auth.Actor, listingID string) error {
	listingID, err := canonicalID(by, listingID, ErrListingNotFound)
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
