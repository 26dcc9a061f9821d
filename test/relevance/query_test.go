package relevance

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file reads the queries of the suite and the rules that grade their results. A line of a file in testdata/queries
// is a query, and a line "@ NAME" begins a group of queries. An example of both:
//
//	@ grades
//	band 5 nurse ? sort=salary | 3 kind=nurse band=5 | 2 kind=nurse band=4,6 / role=staff-nurse | ! clinical=no
//
// The line of a query has the text, which the suite searches for, and further parameters of the request after " ? ". Then
// follow rules, each with its grade. A rule has alternatives, separated by " / ", of which an advert must meet one. An
// alternative has conditions, which an advert must meet all.

// query is a request with the rules that grade its results. The grade 3 means that a job is an answer to the query, 2
// that it is close to one, and 1 that it is only related.
type query struct {
	group  string     // the kind of query, such as "typos", for which the report has a line
	text   string     // the words that are searched for
	params url.Values // further parameters of the request
	grades [4]rule    // by grade; grades[0] matches adverts that must not be found
}

// isHeldOut reports whether the query is held out. Developers tune the search with the other queries only and do not look
// at the results of those held out. If only the scores of the other queries rise, the search was fitted to them. The
// remainder of a hash selects about a third of the queries, the same ones in every run.
func (q *query) isHeldOut() bool { return hash(q.id())%3 == 0 }

// id identifies the query.
func (q *query) id() string {
	if len(q.params) == 0 {
		return q.text
	}

	return q.text + " ? " + q.params.Encode()
}

// findsNothing reports whether no advert is an answer to the query.
func (q *query) findsNothing() bool { return q.grades[3] == nil }

// grade returns the advert's grade for the query, 0 to 3: that of the first rule that matches, from the best one on. An
// advert that no rule for a grade matches has the grade 0. mustNot is true for such an advert if it must not be found.
func (q *query) grade(advert *advert) (grade int, mustNot bool) {
	for grade = 3; grade > 0; grade-- {
		if q.grades[grade].matches(advert) {
			return grade, false
		}
	}

	return 0, q.grades[0].matches(advert)
}

// rule is a list of alternatives, each with conditions that must all be met.
type rule [][]condition

// condition is one requirement of an advert: "band!=2,3" has the key "band", the operator "!=" and the values "2" and "3".
type condition struct {
	key      string // an attribute of adverts, or one of "within", "pay", "text" and "title"
	operator string // "=", "!=", "<=" or ">="
	values   []string
	matches  func(*advert) bool // whether the advert meets the condition
}

// matches reports whether an advert meets all conditions of one of the alternatives.
func (r rule) matches(a *advert) bool {
	isUnmet := func(condition condition) bool { return !condition.matches(a) }

	return slices.ContainsFunc(r, func(conditions []condition) bool {
		return !slices.ContainsFunc(conditions, isUnmet)
	})
}

// readQueries reads the queries of all files. A line "@ NAME" begins a group.
func readQueries(b *board) ([]*query, error) {
	files, err := filepath.Glob(filepath.Join("testdata", "queries", "*.txt"))
	if err != nil {
		return nil, err
	}

	var queries []*query
	for _, file := range files {
		group := ""

		err := readLines(file, func(line string) error {
			if name, ok := strings.CutPrefix(line, "@ "); ok {
				group = name
				return nil
			}

			query, err := parseQuery(b, line)
			if err == nil {
				query.group = group
				queries = append(queries, query)
			}

			return err
		})
		if err != nil {
			return nil, err
		}
	}

	return queries, nil
}

// parseQuery reads "TEXT ? PARAMETERS | 3 RULE | 2 RULE | 1 RULE | ! RULE". Parameters and rules are optional.
func parseQuery(b *board, line string) (*query, error) {
	parts := strings.Split(line, " | ")
	request, gradedRules := parts[0], parts[1:]
	text, params, _ := strings.Cut(request, " ? ")
	query := &query{text: strings.TrimSpace(text)}

	var err error
	if query.params, err = url.ParseQuery(strings.TrimSpace(params)); err != nil {
		return nil, err
	}

	gradesByMark := map[string]int{"!": 0, "1": 1, "2": 2, "3": 3} // "!" is for adverts that must not be found

	for _, gradedRule := range gradedRules {
		mark, rule, _ := strings.Cut(strings.TrimSpace(gradedRule), " ")

		grade, isKnown := gradesByMark[mark]
		if !isKnown || query.grades[grade] != nil {
			return nil, fmt.Errorf("unknown or repeated grade %q", mark)
		}

		if query.grades[grade], err = parseRule(b, rule); err != nil {
			return nil, err
		}
	}

	return query, nil
}

// parseRule reads alternatives, separated by " / ", each of several conditions.
func parseRule(b *board, text string) (rule, error) {
	var alternatives rule
	for _, alternative := range strings.Split(text, " / ") {
		var conditions []condition
		for _, word := range strings.Fields(alternative) {
			condition, err := parseCondition(b, word)
			if err != nil {
				return nil, err
			}

			conditions = append(conditions, condition)
		}

		if conditions == nil {
			return nil, fmt.Errorf("empty rule %q", text)
		}

		alternatives = append(alternatives, conditions)
	}

	return alternatives, nil
}

// parseCondition reads a condition. It is one of these:
//
//	any                    every advert
//	within=PLACE:MILES     the place of the advert is within a distance of the PLACE
//	pay>=N, pay<=N         a part of the advert's pay range, per year, is within the limit
//	text=SOME_WORDS        the advert has the words literally; title=SOME_WORDS: its title has them
//	KEY=VALUE,VALUE        the attribute KEY of the advert has one of the values; KEY!=VALUE,VALUE: none of them
func parseCondition(b *board, word string) (condition, error) {
	if word == "any" {
		return condition{matches: func(*advert) bool { return true }}, nil
	}

	key, operator, value, err := splitCondition(word)
	if err != nil {
		return condition{}, err
	}

	condition := condition{key: key, operator: operator, values: strings.Split(value, ",")}

	switch key {
	case "within":
		return parseWithin(b, condition, value)
	case "pay":
		return parsePayCondition(condition, value)
	case "text", "title":
		condition.matches = matchesWords(key, operator, strings.ReplaceAll(value, "_", " "))
	default:
		condition.matches = matchesAttribute(key, operator, condition.values)
	}

	return condition, nil
}

// splitCondition splits a word such as "band!=2,3" into its key, its operator and its value.
func splitCondition(word string) (key, operator, value string, err error) {
	operatorAt := strings.IndexAny(word, "!<>=")
	if operatorAt < 0 {
		return "", "", "", fmt.Errorf("unknown condition %q", word)
	}

	operatorLength := len("=")
	if word[operatorAt] != '=' {
		operatorLength = len("!=") // "<=" and ">=" have the same length
	}

	valueAt := operatorAt + operatorLength

	return word[:operatorAt], word[operatorAt:valueAt], word[valueAt:], nil
}

// matchesWords returns a condition on the words of adverts: of the title only, or with the key "text" of all texts. The
// operator is "=" or "!=".
func matchesWords(key, operator, words string) func(*advert) bool {
	return func(advert *advert) bool {
		searched := strings.ToLower(advert.title)
		if key == "text" {
			searched += "\n" + advert.text()
		}

		isFound := strings.Contains(searched, words)

		return isFound == (operator == "=")
	}
}

// matchesAttribute returns a condition on an attribute of adverts, of which one value must be among the given ones, or
// none. The operator is "=" or "!=".
func matchesAttribute(key, operator string, values []string) func(*advert) bool {
	isGiven := func(value string) bool { return slices.Contains(values, value) }

	return func(advert *advert) bool {
		hasGiven := slices.ContainsFunc(advert.attributes[key], isGiven)
		return hasGiven == (operator == "=")
	}
}

// parseWithin completes a condition "within=PLACE:MILES".
func parseWithin(b *board, condition condition, value string) (condition, error) {
	placeKey, radius, _ := strings.Cut(value, ":")

	limit, err := strconv.ParseFloat(radius, 64)
	if err != nil {
		return condition, err
	}

	center := b.places[placeKey]
	if center == nil {
		return condition, fmt.Errorf("unknown place %q", placeKey)
	}

	condition.matches = func(advert *advert) bool { return miles(center, advert.place) <= limit }

	return condition, nil
}

// parsePayCondition completes a condition "pay>=N" or "pay<=N", which an advert meets if a part of its pay range
// does. An advert without pay does not meet it.
func parsePayCondition(condition condition, value string) (condition, error) {
	limit, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return condition, err
	}

	condition.matches = func(advert *advert) bool {
		low, high := advert.pay.yearly()
		if condition.operator == ">=" {
			return high >= limit
		}

		hasPay := high > 0

		return hasPay && low <= limit
	}

	return condition, nil
}
