package gormdb

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/modules/listings"
)

// matcher is the part of a text that is about words, in the language of the
// dialect's text index.
type matcher struct {
	all      string    // every clause, empty if there is none
	none     []literal // what must not be there
	literals [][]literal
}

// literal is a term with the phrase that the text must have word for word,
// empty for a term that the index alone decides.
type literal struct{ expr, phrase string }

func (m matcher) empty() bool { return m.all == "" && len(m.literals) == 0 }

// tier is where the words stand.
type tier int

const (
	anywhere tier = iota
	inTitle
	beyondTitle // in the text and not all in the title
)

func (s *search) matcher(t listings.Text) matcher {
	var m matcher
	var all []string
	for _, c := range t.Clauses {
		if !c.Plain() {
			continue
		}
		var terms []literal
		var exprs []string
		strict := false
		for _, t := range c.Terms {
			l := literal{s.term(t), s.literally(t.Literal)}
			if l.expr == "" && l.phrase == "" || slices.Contains(terms, l) {
				continue
			}
			terms = append(terms, l)
			strict = strict || l.phrase != ""
			if l.expr != "" {
				exprs = append(exprs, l.expr)
			}
		}
		switch {
		case len(terms) == 0:
		case c.Not:
			for _, l := range terms {
				if !slices.Contains(m.none, l) {
					m.none = append(m.none, l)
				}
			}
		default:
			if expr := s.dialect.any(exprs); len(exprs) == len(terms) && !slices.Contains(all, expr) {
				all = append(all, expr)
			}
			if strict && !slices.ContainsFunc(m.literals, func(other []literal) bool { return slices.Equal(other, terms) }) {
				m.literals = append(m.literals, terms)
			}
		}
	}
	m.all = s.dialect.every(all)
	return m
}

// maxLiterals is how many phrases are looked for in a listing's whole text. Of
// a further one, the words have to stand side by side.
const maxLiterals = 3

// literally gives the phrase back if it is among the first few of its text.
func (s *search) literally(phrase string) string {
	if phrase == "" || slices.Contains(s.literals, phrase) {
		return phrase
	}
	if len(s.literals) == maxLiterals {
		return ""
	}
	s.literals = append(s.literals, phrase)
	return phrase
}

// term is a term with all the forms that it may have.
func (s *search) term(t listings.Term) string {
	var words []string
	for _, w := range t.Words {
		if !listings.StopWord(w) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return ""
	}
	if t.Adjacent {
		out := make([]string, len(words))
		for i, w := range words {
			out[i] = stem(w)
		}
		return s.dialect.phrase(out)
	}
	var every []string
	for i, w := range words {
		every = append(every, s.dialect.any(s.forms(w, t.Fuzzy, t.Prefix && i == len(words)-1)))
	}
	return s.dialect.every(every)
}

// maxCorrected is how many words of a text may be misspelt.
const maxCorrected = 8

// forms are what a word stands for, in the language of the index.
func (s *search) forms(w string, fuzzy, prefix bool) []string {
	stems, beginning := s.stems(w, fuzzy, prefix)
	forms := make([]string, 0, len(stems)+1)
	for _, stem := range stems {
		forms = append(forms, s.dialect.word(stem))
	}
	if beginning {
		forms = append(forms, s.dialect.prefix(w))
	}
	return forms
}

// stems are the stems that a word stands for. beginning says that it also
// stands for every stem that begins with it.
func (s *search) stems(w string, fuzzy, prefix bool) (stems []string, beginning bool) {
	stems = []string{stem(w)}
	add := func(words []string) {
		for _, c := range words {
			if f := stem(c); !slices.Contains(stems, f) {
				stems = append(stems, f)
			}
		}
	}
	if prefix && utf8.RuneCountInString(w) > 1 {
		// The index has stems: "nursin" is not the beginning of "nurs", but
		// "nursing" is known to begin with it.
		completions := s.words.completions(w)
		add(completions)
		if len(completions) > 0 {
			return stems, true
		}
		beginning = true
	}
	if fuzzy && s.corrected < maxCorrected && !s.words.knows(w) {
		s.corrected++
		add(s.words.corrections(w))
	}
	return stems, beginning
}

// roughly is the condition without what the planner cannot judge.
func (m matcher) roughly(d dialect, t tier) cond {
	if t == inTitle {
		return d.matches("search_title", m.all)
	}
	return d.matches("search_body", m.all)
}

// body is the condition that the text has the words somewhere.
func (m matcher) body(s *search) cond { return s.dialect.condition(m, anywhere) }

// title is the condition that the title has them.
func (m matcher) title(s *search) cond { return s.dialect.condition(m, inTitle) }

// ordered is the condition for results in the order of dates, divided into
// what SQLite's index answers in that order and the rest.
func (m matcher) ordered(s *search, t tier) (string, cond) {
	if s.pg() || m.all == "" {
		return "", s.dialect.condition(m, t)
	}
	return m.fts(t), m.beside(s.dialect, t)
}

// condition says the matcher in SQL.
func (d dialect) condition(m matcher, t tier) cond {
	var words cond
	switch {
	case m.all == "":
	case d == sqlite:
		words = cond{"l.seq IN (SELECT rowid FROM listings_fts WHERE listings_fts MATCH ?)", []any{m.fts(t)}}
	case t == inTitle:
		words = cond{"l.search_title @@ ?::tsquery", []any{m.all}}
	case t == beyondTitle:
		words = cond{"l.search_body @@ ?::tsquery AND NOT l.search_title @@ ?::tsquery", []any{m.all, m.all}}
	default:
		words = cond{"l.search_body @@ ?::tsquery", []any{m.all}}
	}
	return and(words, m.beside(d, t))
}

// fts is the whole tier in the language of FTS5.
func (m matcher) fts(t tier) string {
	switch t {
	case inTitle:
		return "{title} : (" + m.all + ")"
	case beyondTitle:
		return "({body} : (" + m.all + ")) NOT ({title} : (" + m.all + "))"
	}
	return "{body} : (" + m.all + ")"
}

// beside is what the words' index does not decide: exclusions and phrases that
// stand there word for word.
func (m matcher) beside(d dialect, t tier) cond {
	var conds []cond
	column, text := "search_body", d.wholeText()
	if t == inTitle {
		column, text = "search_title", d.titleText()
	}
	conds = append(conds, m.without(d)...)
	strictly := func(column, text string) cond {
		var every []cond
		for _, terms := range m.literals {
			var some []cond
			for _, l := range terms {
				c := cond{}
				if l.expr != "" && len(terms) > 1 { // a single one is among the words anyway
					c = d.matches(column, l.expr)
				}
				if l.phrase != "" {
					c = and(c, says(text, l.phrase))
				}
				some = append(some, c)
			}
			every = append(every, or(some...))
		}
		return and(every...)
	}
	conds = append(conds, strictly(column, text))
	if t == beyondTitle && len(m.literals) > 0 && m.all == "" {
		conds = append(conds, not(strictly("search_title", d.titleText())))
	}
	return and(conds...)
}

// without is the exclusions. All of their words are one look at the listing's,
// and only where some phrase may be there is each looked for.
func (m matcher) without(d dialect) (conds []cond) {
	var words, phrases []string
	var said []cond
	for _, n := range m.none {
		switch {
		case n.phrase == "":
			words = append(words, n.expr)
		case n.expr == "":
			conds = append(conds, not(says(d.wholeText(), n.phrase)))
		default:
			phrases = append(phrases, n.expr)
			said = append(said, and(d.matches("search_body", n.expr), says(d.wholeText(), n.phrase)))
		}
	}
	if len(words) > 0 {
		conds = append(conds, not(d.matches("search_body", d.any(words))))
	}
	if len(said) > 0 {
		conds = append(conds, not(and(d.matches("search_body", d.any(phrases)), or(said...))))
	}
	return conds
}

func (d dialect) matches(column, expr string) cond {
	if expr == "" {
		return cond{}
	}
	if d == postgres {
		return cond{"l." + column + " @@ ?::tsquery", []any{expr}}
	}
	field := "{body} : "
	if column == "search_title" {
		field = "{title} : "
	}
	return cond{"l.seq IN (SELECT rowid FROM listings_fts WHERE listings_fts MATCH ?)", []any{field + "(" + expr + ")"}}
}

const allText = `l.title || ' ' || l.specialty || ' ' || l.department || ' ' || l.company || ' ' || l.location || ' ' || l.requirements::text || ' ' || l.benefits::text || ' ' || l.description`

// says checks a phrase word for word. That its words stand side by side, the
// index has seen to; here it is about their endings, so that what lies between
// them may be anything. Letters beyond ASCII are left to the index.
func says(text, phrase string) cond {
	if !ascii(phrase) {
		return cond{sql: "1 = 1"}
	}
	var b strings.Builder
	b.WriteByte('%')
	for _, r := range phrase {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if !strings.HasSuffix(b.String(), "%") {
			b.WriteByte('%')
		}
	}
	return cond{"lower(" + text + ") LIKE ?", []any{strings.TrimRight(b.String(), "%") + "%"}}
}

// wholeText is all that is written in a listing. In the C collation, because
// only letters of ASCII are compared, ten times as fast.
func (d dialect) wholeText() string {
	if d == sqlite {
		return strings.ReplaceAll(allText, "::text", "")
	}
	return "(" + allText + `) COLLATE "C"`
}

func (d dialect) titleText() string {
	if d == sqlite {
		return "l.title"
	}
	return `l.title COLLATE "C"`
}

// The languages of the two indexes. Words are letters and digits only, so that
// quoting them is all the escaping there is.

func (d dialect) word(w string) string {
	if d == postgres {
		return "'" + w + "'"
	}
	return `"` + w + `"`
}

func (d dialect) prefix(w string) string {
	if d == postgres {
		return "'" + w + "':*"
	}
	return `"` + w + `" *`
}

func (d dialect) phrase(words []string) string {
	if d == postgres {
		return "('" + strings.Join(words, "' <-> '") + "')"
	}
	return `"` + strings.Join(words, " ") + `"`
}

func (d dialect) any(exprs []string) string {
	return d.link(exprs, " | ", " OR ")
}

func (d dialect) every(exprs []string) string {
	return d.link(exprs, " & ", " AND ")
}

func (d dialect) link(exprs []string, pg, fts string) string {
	if len(exprs) < 2 {
		return strings.Join(exprs, "")
	}
	if d == postgres {
		fts = pg
	}
	return "(" + strings.Join(exprs, fts) + ")"
}
