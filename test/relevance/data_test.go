package relevance

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBoard_Size_IsSufficient checks that the board remains a realistic one: many employers in three
// countries, and many jobs outside of care (distractors), which a search for clinicians must not confuse with
// theirs.
func TestBoard_Size_IsSufficient(t *testing.T) {
	board, err := readBoard()
	require.NoError(t, err)

	distractors := 0
	countries := map[string]bool{}
	employers := map[string]bool{}

	for _, advert := range board.adverts {
		countries[advert.place.country] = true
		employers[advert.employer.key] = true

		if advert.attributes.one("clinical") == "no" {
			distractors++
		}
	}

	require.GreaterOrEqual(t, len(board.adverts), 800, "adverts")
	require.GreaterOrEqual(t, distractors, 150, "adverts for work outside of care")
	require.GreaterOrEqual(t, len(employers), 60, "employers with an advert")
	require.ElementsMatch(t, []string{"uk", "ie", "us"}, slices.Collect(maps.Keys(countries)))
}

// TestBoard_Adverts_AreUnique checks that title and employer identify an advert, by which the results of
// two databases are compared.
func TestBoard_Adverts_AreUnique(t *testing.T) {
	board, err := readBoard()
	require.NoError(t, err)

	seen := map[string]bool{}
	for _, advert := range board.adverts {
		key := advert.title + " | " + advert.employer.key
		require.False(t, seen[key], "%s is posted twice", key)

		seen[key] = true
		require.NotEmpty(t, advert.employer.boilerplate, "employer %s has no boilerplate", advert.employer.key)
	}
}

// TestQueries_Number_IsSufficient checks that there are enough queries, and that about a third of them are
// held out (see query.isHeldOut).
func TestQueries_Number_IsSufficient(t *testing.T) {
	queries := mustReadQueries(t)

	heldOut := 0
	for _, query := range queries {
		require.NotEmpty(t, query.group)

		if query.isHeldOut() {
			heldOut++
		}
	}

	// A hash decides which queries are held out, so that their share is only about a third.
	const tolerance = .07

	require.GreaterOrEqual(t, len(queries), 300, "queries")
	require.InDelta(t, 1./3, float64(heldOut)/float64(len(queries)), tolerance, "the share of held-out queries")
}

// TestQueries_Texts_AreUnique checks that no query counts twice.
func TestQueries_Texts_AreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, query := range mustReadQueries(t) {
		require.False(t, seen[query.id()], "%s is defined twice", query.id())

		seen[query.id()] = true
	}
}

// TestQueries_EachGrade_MatchesAnAdvert checks the rules of the queries: a rule that no advert meets is usually
// a typing error and would not be noticed in the scores.
func TestQueries_EachGrade_MatchesAnAdvert(t *testing.T) {
	board, err := readBoard()
	require.NoError(t, err)

	for _, query := range mustReadQueries(t) {
		var counts [4]int // adverts by grade; counts[0] are those that must not be found
		for _, advert := range board.adverts {
			if grade, mustNot := query.grade(advert); grade > 0 || mustNot {
				counts[grade]++
			}
		}

		for grade, rule := range query.grades {
			// A query without an answer may forbid adverts that the board does not have.
			mayMatchNone := grade == 0 && query.findsNothing()
			if rule != nil && !mayMatchNone {
				assert.Positive(t, counts[grade], "%s: %s: no advert has the grade %d", query.group, query.id(), grade)
			}
		}

		assert.Equal(t, query.group == "nothing to find", query.findsNothing(), "%s: %s", query.group, query.id())
	}
}

// TestQueries_ConditionValues_AreKnown checks that at least one advert has each value that a condition names. A value that
// no advert has is usually a typing error.
func TestQueries_ConditionValues_AreKnown(t *testing.T) {
	board, err := readBoard()
	require.NoError(t, err)

	known := map[string]bool{} // as "key=value"
	for _, advert := range board.adverts {
		for key, values := range advert.attributes {
			for _, value := range values {
				known[key+"="+value] = true
			}
		}
	}

	for _, query := range mustReadQueries(t) {
		for _, rule := range query.grades {
			for _, conditions := range rule {
				for _, condition := range conditions {
					// The conditions any (without a key), within, pay, text and title are not about attributes.
					if slices.Contains([]string{"", "within", "pay", "text", "title"}, condition.key) {
						continue
					}

					for _, value := range condition.values {
						assert.True(t, known[condition.key+"="+value], "%s: %s: no advert has %s=%s", query.group, query.id(),
							condition.key, value)
					}
				}
			}
		}
	}
}

// mustReadQueries returns the queries of all files.
func mustReadQueries(t *testing.T) []*query {
	t.Helper()

	board, err := readBoard()
	require.NoError(t, err)

	queries, err := readQueries(board)
	require.NoError(t, err)

	return queries
}
