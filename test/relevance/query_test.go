package relevance

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// query is a request with the rules that grade its results. The grade 3 means that a job is an answer to the query, 2
// that it is close to one, and 1 that it is only related.
type query struct {
	group, text string
	params      url.Values
	grades      [4]rule // by grade; grades[0] matches adverts that must not be found
}

// heldOut reports whether the query is held out. Developers tune the search with the other queries only and do not look
// at the results of those held out. If only the scores of the other queries rise, the search was fitted to them. The
// remainder of a hash selects about a third of the queries, the same ones in every run.
func (q *query) heldOut() bool { return hash(q.id())%3 == 0 }

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

// condition is one requirement, with the attribute and values that it is about.
type condition struct {
	key, operator string
	values        []string
	matches       func(*advert) bool
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

// parseQuery reads "TEXT ? PARAMETERS | 3 RULE | 2 RULE | 1 RULE | ! RULE".
func parseQuery(b *board, line string) (*query, error) {
	parts := strings.Split(line, " | ")
	text, params, _ := strings.Cut(parts[0], " ? ")
	query := &query{text: strings.TrimSpace(text)}

	var err error
	if query.params, err = url.ParseQuery(strings.TrimSpace(params)); err != nil {
		return nil, err
	}

	for _, part := range parts[1:] {
		mark, text, _ := strings.Cut(strings.TrimSpace(part), " ")

		grade := strings.Index("!123", mark) // "!" is the rule for adverts that must not be found, grades[0]
		if grade < 0 || len(mark) != 1 || query.grades[grade] != nil {
			return nil, fmt.Errorf("unknown or repeated grade %q", mark)
		}

		if query.grades[grade], err = parseRule(b, text); err != nil {
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
			c, err := parseCondition(b, word)
			if err != nil {
				return nil, err
			}

			conditions = append(conditions, c)
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

	operatorAt := strings.IndexAny(word, "!<>=")
	if operatorAt < 0 {
		return condition{}, fmt.Errorf("unknown condition %q", word)
	}

	condition := condition{key: word[:operatorAt], operator: "="}
	if word[operatorAt] != '=' { // the others have two characters: != <= >=
		condition.operator = word[operatorAt : operatorAt+2]
	}

	value := word[operatorAt+len(condition.operator):]
	condition.values = strings.Split(value, ",")

	// Conditions on text, title and attributes have the operator = or !=. With != the condition is negated. The other
	// operators belong to conditions on pay, which do not use isPositive.
	isPositive := condition.operator == "="
	switch condition.key {
	case "within":
		return parseWithin(b, condition, value)
	case "pay":
		return parsePayCondition(condition, value)
	case "text", "title":
		words := strings.ReplaceAll(value, "_", " ")
		condition.matches = func(advert *advert) bool {
			searched := strings.ToLower(advert.title)
			if condition.key == "text" {
				searched += "\n" + advert.text()
			}

			return strings.Contains(searched, words) == isPositive
		}

		return condition, nil
	}

	isWanted := func(value string) bool { return slices.Contains(condition.values, value) }
	condition.matches = func(advert *advert) bool {
		hasWanted := slices.ContainsFunc(advert.attributes[condition.key], isWanted)
		return hasWanted == isPositive
	}

	return condition, nil
}

// parseWithin completes a condition "within=PLACE:MILES".
func parseWithin(b *board, condition condition, value string) (condition, error) {
	key, radius, _ := strings.Cut(value, ":")

	limit, err := strconv.ParseFloat(radius, 64)
	if err != nil {
		return condition, err
	}

	center := b.places[key]
	if center == nil {
		return condition, fmt.Errorf("unknown place %q", key)
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

		return high > 0 && low <= limit
	}

	return condition, nil
}
