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
// collect candidates, which are listings that may be recommended. Each query is about one or
// two properties of the user, such as the role, and returns at most 100 listings. Then
// every candidate gets points for each property that it matches (see affinity.go). The cost
// does not depend on the number of listings.

// Recommendation is a listing that may suit the user.
type Recommendation struct {
	Candidate
	// Score is from 0 to 100. It is 100 if the listing matches all data of the user that
	// recommendations depend on.
	Score int
	// Reasons are short texts about the matching properties, the most important first.
	Reasons []string
}

const (
	// candidatesPerQuery is the maximum number of listings per query.
	candidatesPerQuery = 100
	// MaxRecommendations is the maximum number of recommendations for a user.
	MaxRecommendations = 200
	// maxUsedSearches is the maximum number of saved searches that are run. The newest ones are
	// used.
	maxUsedSearches = 3
	// maxLikedTitles is the number of liked titles that are searched for. A liked title is
	// the title of a listing that the user has applied for or saved.
	maxLikedTitles = 3
	// recentListingLimit is the number of the newest applications, and of the newest
	// bookmarks, from which the liked titles are taken.
	recentListingLimit = 10
	// maxDismissed is the number of dismissals that are stored per user.
	maxDismissed = 1_000
)

// Recommend lists listings that may suit the caller, the best first. The cursor is the
// number of recommendations on the previous pages.
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
	if err != nil {
		return out, err
	}

	from = min(from, len(all))
	until := min(from+r.Size, len(all))

	out.Items, out.Total = all[from:until], len(all)
	if until < len(all) {
		out.NextCursor = strconv.Itoa(until)
	}

	return out, nil
}

// recommend returns all recommendations for the user, best first.
func (s *DashboardService) recommend(ctx context.Context, userID string) ([]Recommendation, error) {
	profile, err := s.Profiles.Get(ctx, userID)
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

	user := newAffinity(profile, searches, likedTitles)

	candidates, err := s.collectCandidates(ctx, user.queries())
	if err != nil {
		return nil, err
	}

	if candidates, err = s.excludeKnown(ctx, userID, candidates); err != nil {
		return nil, err
	}

	now := s.Clock.Now()
	recommendations := list.Map(candidates, func(c *scoredCandidate) Recommendation { return user.score(c, now) })
	slices.SortFunc(recommendations, func(a, b Recommendation) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})

	return recommendations[:min(len(recommendations), MaxRecommendations)], nil
}

// collectCandidates runs the queries and returns their candidates, each once. A candidate has the
// signals of all queries that found it. A signal is a text that the candidate matches, such as the
// user's role.
func (s *DashboardService) collectCandidates(ctx context.Context, queries []*candidateQuery) ([]*scoredCandidate, error) {
	var candidates []*scoredCandidate

	byID := map[string]*scoredCandidate{}
	for _, q := range queries {
		if q.narrower != nil && q.narrower.isFilled {
			// A wider query, whose narrower query is this one, is skipped, too.
			q.isFilled = true
			continue
		}

		results, err := s.Listings.Suggest(ctx, q.wanted, candidatesPerQuery)
		if err != nil {
			return nil, err
		}

		q.isFilled = len(results) == candidatesPerQuery
		for _, result := range results {
			candidate, exists := byID[result.ID]
			if !exists {
				candidate = &scoredCandidate{Candidate: result}
				byID[result.ID] = candidate
				candidates = append(candidates, candidate)
			}

			candidate.recordFoundBy(q, result.InTitle)
		}
	}

	return candidates, nil
}

// excludeKnown returns the candidates without those that the user knows already: listings
// that the user has saved, dismissed or applied for, including withdrawn applications.
func (s *DashboardService) excludeKnown(ctx context.Context, userID string, candidates []*scoredCandidate) ([]*scoredCandidate, error) {
	type findKnown func(ctx context.Context, userID string, listingIDs []string) (known map[string]bool, err error)
	for _, find := range []findKnown{s.Applied.FindApplied, s.Saved.FindSaved, s.findDismissed} {
		ids := list.Map(candidates, func(c *scoredCandidate) string { return c.ID })
		for chunk := range slices.Chunk(ids, listingBatchSize) {
			known, err := find(ctx, userID, chunk)
			if err != nil {
				return nil, err
			}

			candidates = slices.DeleteFunc(candidates, func(c *scoredCandidate) bool { return known[c.ID] })
		}
	}

	return candidates, nil
}

// findDismissed returns the set of the given listings that the user has dismissed.
func (s *DashboardService) findDismissed(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	dismissedIDs, err := s.Dismissals.ListByListings(ctx, userID, listingIDs)
	return list.ToMap(dismissedIDs, func(id string) (string, bool) { return id, true }), err
}

// likedTitles returns the titles of listings that the user has recently applied for or saved,
// as search queries. Applications come before saved listings.
func (s *DashboardService) likedTitles(ctx context.Context, userID string) ([]string, error) {
	bookmarks, err := s.Saved.Bookmarks.List(ctx, userID, BookmarkFilter{}, page.Request{Number: 1, Size: recentListingLimit})
	if err != nil {
		return nil, err
	}

	ids, err := s.Applied.ListRecentlyApplied(ctx, userID, recentListingLimit)
	if err != nil {
		return nil, err
	}

	ids = append(ids, list.Map(bookmarks.Items, listingOf)...)

	briefs, err := s.Listings.ListBriefs(ctx, ids)
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
	listingID, err := requireSeekerAndID(by, listingID, ErrListingNotFound)
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
