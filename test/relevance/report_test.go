package relevance

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// maxDrop is the amount by which NDCG and recall may fall below the baseline.
	maxDrop = .005
	// maxGap is the amount by which the NDCG of the tuned queries may exceed that of the
	// held-out queries, unless the gap of the baseline is larger. A larger gap means that
	// search was fitted to the tuned queries.
	maxGap = .03
	// weak is the NDCG below which the results of a query are printed.
	weak = .9
)

// baselineFile has the report with which later ones are compared.
var baselineFile = filepath.Join("testdata", "baseline.json")

// result is the result of one query.
type result struct {
	query *query
	score score
	found []*advert // the best first
	total int       // the number of exact results
}

// summary has the scores of several queries together. NDCG (normalized discounted cumulative gain) is 1 if the
// first ten results are the best ones in the best order. Recall is the share of the right results among the first
// ten. Both are means over the queries that have an answer.
type summary struct {
	Queries   int     `json:"queries"`
	Answered  int     `json:"answered"` // queries that have an answer
	NDCG      float64 `json:"ndcg"`
	Recall    float64 `json:"recall"`
	MustNot   int     `json:"mustNot"`   // results that must not be found
	ZeroWrong int     `json:"zeroWrong"` // queries that have no answer, but exact results
}

// report is the content of the baseline file. The search is tuned with two thirds of the queries, and the others are held
// out to find over-fitting. Groups only contain tuned queries.
type report struct {
	All     summary            `json:"all"`
	Tuned   summary            `json:"tuned"`
	HeldOut summary            `json:"heldOut"`
	Groups  map[string]summary `json:"groups"`
}

// summarize returns the summary of the results whose query include accepts.
func summarize(results []result, include func(*query) bool) (s summary) {
	for _, result := range results {
		if !include(result.query) {
			continue
		}

		s.Queries++

		s.MustNot += result.score.mustNot
		if result.score.wrong {
			s.ZeroWrong++
		}

		if !result.query.findsNothing() {
			s.Answered++
			s.NDCG += result.score.ndcg
			s.Recall += result.score.recall
		}
	}

	answered := float64(max(s.Answered, 1))
	s.NDCG, s.Recall = round(s.NDCG/answered), round(s.Recall/answered)

	return s
}

// round rounds to four decimals, as scores are stored in the baseline.
func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// newReport summary up the results.
func newReport(results []result) report {
	r := report{
		All:     summarize(results, func(*query) bool { return true }),
		Tuned:   summarize(results, func(q *query) bool { return !q.isHeldOut() }),
		HeldOut: summarize(results, (*query).isHeldOut),
		Groups:  map[string]summary{},
	}
	for _, result := range results {
		group := result.query.group
		r.Groups[group] = summarize(results, func(q *query) bool { return q.group == group && !q.isHeldOut() })
	}

	return r
}

// String returns the report as a table with one row for each group.
func (r report) String() string {
	var table strings.Builder
	writeRow := func(name string, s summary) {
		ndcg, recall := "-", "-"
		if s.Answered > 0 {
			ndcg, recall = fmt.Sprintf("%.3f", s.NDCG), fmt.Sprintf("%.3f", s.Recall)
		}

		fmt.Fprintf(&table, "%-22s %7d %7s %9s %8d %10d\n", name, s.Queries, ndcg, recall, s.MustNot, s.ZeroWrong)
	}

	fmt.Fprintf(&table, "%-22s %7s %7s %9s %8s %10s\n", "group (tuned)", "queries", "NDCG@10", "recall@10", "must-not",
		"zero-wrong")

	names := make([]string, 0, len(r.Groups))
	for name := range r.Groups {
		names = append(names, name)
	}

	slices.Sort(names)

	for _, name := range names {
		writeRow(name, r.Groups[name])
	}

	writeRow("tuned", r.Tuned)
	writeRow("held out", r.HeldOut)
	writeRow("all", r.All)

	return table.String()
}

// problems describes the respects in which the report is worse than the baseline.
func (r report) problems(baseline report) (problems []string) {
	forbidDrop := func(name string, before, after float64) {
		if before-after > maxDrop {
			problems = append(problems, fmt.Sprintf("%s fell from %.4f to %.4f", name, before, after))
		}
	}

	forbidRise := func(name string, before, after int) {
		if after > before {
			problems = append(problems, fmt.Sprintf("%s rose from %d to %d", name, before, after))
		}
	}

	forbidDrop("NDCG@10", baseline.All.NDCG, r.All.NDCG)
	forbidDrop("recall@10", baseline.All.Recall, r.All.Recall)
	forbidRise("must-not", baseline.All.MustNot, r.All.MustNot)
	forbidRise("zero-wrong", baseline.All.ZeroWrong, r.All.ZeroWrong)

	gap := round(r.gap())
	limit := round(max(maxGap, baseline.gap()))

	if gap > limit {
		problems = append(problems,
			fmt.Sprintf("over-fitting: the tuned queries score %.4f more than the held-out ones (maximum %.4f)", gap,
				limit))
	}

	return problems
}

// gap returns the NDCG of the tuned queries minus that of the held-out queries.
func (r report) gap() float64 { return r.Tuned.NDCG - r.HeldOut.NDCG }

// failures describes the tuned queries with weak or wrong results, and the first results of each with their grades.
func failures(results []result) string {
	var text strings.Builder
	for _, result := range results {
		query, score := result.query, result.score
		isWrong := score.mustNot > 0 || score.wrong
		isWeak := !query.findsNothing() && score.ndcg < weak

		isFailure := isWrong || isWeak
		if !isFailure || query.isHeldOut() {
			continue
		}

		fmt.Fprintf(&text, "\n%s: %s\n  NDCG %.3f, recall %.3f, must-not %d, total %d\n", query.group, query.id(),
			score.ndcg, score.recall, score.mustNot, result.total)

		for _, advert := range result.found[:min(depth, len(result.found))] {
			grade, mustNot := query.grade(advert)

			mark := fmt.Sprint(grade)
			if mustNot {
				mark = "!"
			}

			fmt.Fprintf(&text, "  %s %s (%s, %s)\n", mark, advert.title, advert.attributes.one("role"), advert.location)
		}
	}

	return text.String()
}

// readBaseline reads the baseline file.
func readBaseline() (r report, err error) {
	raw, err := os.ReadFile(baselineFile)
	if err != nil {
		return r, err
	}

	return r, json.Unmarshal(raw, &r)
}

// writeBaseline makes the report the baseline.
func writeBaseline(r report) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}

	return os.WriteFile(baselineFile, append(raw, '\n'), 0o644)
}

// TestProblems checks which changes of the scores fail the suite: a fall beyond maxDrop, one more wrong result,
// and a gap between tuned and held-out queries that neither maxGap nor the baseline permits.
func TestProblems(t *testing.T) {
	good := summary{Queries: 10, NDCG: .9, Recall: .9, MustNot: 1, ZeroWrong: 1}

	baseline := report{All: good, Tuned: good, HeldOut: good}
	for _, test := range []struct {
		name   string
		change func(*report)
		want   []string
	}{
		{name: "equal", change: func(*report) {}, want: nil},
		{name: "small drop", change: func(r *report) { r.All.NDCG -= .004 }, want: nil},
		{name: "better", change: func(r *report) { r.All = summary{NDCG: 1, Recall: 1} }, want: nil},
		{
			name:   "lower NDCG",
			change: func(r *report) { r.All.NDCG = .89 },
			want:   []string{"NDCG@10 fell from 0.9000 to 0.8900"},
		},
		{
			name:   "lower recall",
			change: func(r *report) { r.All.Recall = .89 },
			want:   []string{"recall@10 fell from 0.9000 to 0.8900"},
		},
		{
			name:   "more must-not",
			change: func(r *report) { r.All.MustNot = 2 },
			want:   []string{"must-not rose from 1 to 2"},
		},
		{
			name:   "more zero-wrong",
			change: func(r *report) { r.All.ZeroWrong = 2 },
			want:   []string{"zero-wrong rose from 1 to 2"},
		},
		{
			name:   "gap",
			change: func(r *report) { r.HeldOut.NDCG = .86 },
			want:   []string{"over-fitting: the tuned queries score 0.0400 more than the held-out ones (maximum 0.0300)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := baseline
			test.change(&r)
			require.Equal(t, test.want, r.problems(baseline))
		})
	}

	t.Run("gap of the baseline", func(t *testing.T) {
		r := baseline
		r.HeldOut.NDCG = .86
		require.Empty(t, r.problems(r))
	})
}
