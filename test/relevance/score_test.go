package relevance

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// depth is the number of results of a query that are graded.
const depth = 10

// minRelevantGrade is the lowest grade of an advert that is relevant. The grade 1 is for jobs that are only related.
const minRelevantGrade = 2

// score is the quality of one query's results.
type score struct {
	ndcg, recall float64
	// mustNot counts results that must not be there.
	mustNot int
	// wrong reports that a query without an answer has exact results.
	wrong bool
}

// evaluate scores the adverts that a search found, the best first. total is the number of exact
// results.
func evaluate(q *query, adverts, found []*advert, total int) score {
	var ideal, actual []int
	for _, advert := range adverts {
		if grade, _ := q.grade(advert); grade > 0 {
			ideal = append(ideal, grade)
		}
	}

	result := score{wrong: q.findsNothing() && total > 0}
	for _, advert := range found[:min(depth, len(found))] {
		grade, mustNot := q.grade(advert)
		actual = append(actual, grade)

		if mustNot {
			result.mustNot++
		}
	}

	result.ndcg, result.recall = ndcg(actual, ideal), recall(actual, ideal)

	return result
}

// ndcg is the normalized discounted cumulative gain with the gain 2^grade-1.
func ndcg(actual, ideal []int) float64 {
	ideal = slices.Clone(ideal)
	slices.Sort(ideal)
	slices.Reverse(ideal)

	best := dcg(ideal)
	if best == 0 {
		return 1
	}

	return dcg(actual) / best
}

// dcg is the discounted cumulative gain of the first ten grades: later ones count less.
func dcg(grades []int) (sum float64) {
	for i, grade := range grades[:min(depth, len(grades))] {
		sum += (math.Exp2(float64(grade)) - 1) / math.Log2(float64(i)+2)
	}

	return sum
}

// recall is the share of the relevant adverts (grade 2 and 3) that are found,
// as far as they fit into the first ten.
func recall(actual, ideal []int) float64 {
	relevant := func(grades []int) (n int) {
		for _, grade := range grades {
			if grade >= minRelevantGrade {
				n++
			}
		}

		return min(n, depth)
	}
	if relevant(ideal) == 0 {
		return 1
	}

	return float64(relevant(actual)) / float64(relevant(ideal))
}

// TestNDCG checks values that can be computed by hand. The gains of the grades 1 to 3 are 1, 3 and 7, divided
// by 1 at the first place and by the binary logarithm of 3 at the second.
func TestNDCG(t *testing.T) {
	for _, test := range []struct {
		name          string
		actual, ideal []int
		want          float64
	}{
		{name: "perfect", actual: []int{3, 2, 1}, ideal: []int{1, 2, 3}, want: 1},
		{name: "nothing found", actual: nil, ideal: []int{3}, want: 0},
		{name: "nothing to find", actual: []int{0}, ideal: nil, want: 1},
		{name: "best is second", actual: []int{0, 3}, ideal: []int{3}, want: 1 / math.Log2(3)},
		{
			name:   "swapped",
			actual: []int{1, 3},
			ideal:  []int{3, 1},
			want:   (1 + 7/math.Log2(3)) / (7 + 1/math.Log2(3)),
		},
		{name: "beyond the tenth", actual: []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, ideal: []int{3}, want: 0},
	} {
		t.Run(test.name, func(t *testing.T) { require.InDelta(t, test.want, ndcg(test.actual, test.ideal), 1e-9) })
	}
}

// TestRecall checks that only the grades 2 and 3 are relevant, and that ten of more than ten are all.
func TestRecall(t *testing.T) {
	for _, test := range []struct {
		name          string
		actual, ideal []int
		want          float64
	}{
		{name: "all", actual: []int{2, 3}, ideal: []int{3, 2, 1}, want: 1},
		{name: "half", actual: []int{3, 1}, ideal: []int{3, 2, 1}, want: .5},
		{
			name:   "more than ten relevant",
			actual: []int{3, 3, 3, 3, 3},
			ideal:  []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3},
			want:   .5,
		},
		{name: "nothing relevant", actual: nil, ideal: []int{1}, want: 1},
	} {
		t.Run(test.name, func(t *testing.T) { require.InDelta(t, test.want, recall(test.actual, test.ideal), 1e-9) })
	}
}

// TestEvaluate_MustNotAndExactResults_Counted checks the errors that NDCG and recall do not show: results that
// must not be found, and exact results of a query without an answer. An advert that has a grade does not count as one
// that must not be found, even if it also meets the rule after "!".
func TestEvaluate_MustNotAndExactResults_Counted(t *testing.T) {
	nurse := &advert{attributes: attributes{"role": {"nurse"}}}
	porter := &advert{attributes: attributes{"role": {"porter"}}}
	query, err := parseQuery(&board{}, "nurse | 3 role=nurse | ! role=porter,nurse")
	require.NoError(t, err)
	require.Equal(t, score{ndcg: 1, recall: 1, mustNot: 1},
		evaluate(query, []*advert{nurse, porter}, []*advert{nurse, porter}, 2))

	// A query without grades has no answer, so that one exact result is wrong and none is right.
	nothing, err := parseQuery(&board{}, "astronaut")
	require.NoError(t, err)
	require.Equal(t, score{ndcg: 1, recall: 1, wrong: true}, evaluate(nothing, []*advert{nurse}, []*advert{nurse}, 1))
	require.False(t, evaluate(nothing, []*advert{nurse}, []*advert{nurse}, 0).wrong)
}
