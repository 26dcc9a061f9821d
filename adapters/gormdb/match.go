package gormdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings"
)

// Matchers implements listings.Matcher. It holds listings against queries by
// the same words, stems and corrections as the searches do; what those say in
// SQL is said here about sets of listings in memory.
type Matchers struct {
	*DB
	words *vocabulary
}

// bitset is a set of listings by their position.
type bitset []uint64

func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) or(o bitset) {
	for i := range o {
		b[i] |= o[i]
	}
}

func (b bitset) and(o bitset) {
	for i := range b {
		b[i] &= o[i]
	}
}

func (b bitset) without(o bitset) {
	for i := range o {
		b[i] &^= o[i]
	}
}

func (b bitset) none() bool { return !slices.ContainsFunc(b, func(w uint64) bool { return w != 0 }) }

// matched is one listing as queries look at it.
type matched struct {
	listings.Listing
	// text is all that is written in it, in small letters of ASCII, once some
	// phrase was looked for.
	text               string
	specialty          string
	place              string // its location in small letters
	lowest, highest    int64
	paid               bool
	requirements, perk jsonText
}

// posting is where a stem stands.
type posting struct {
	in bitset
	at map[int][]int // by listing, the positions
}

// listingIndex implements listings.Index.
type listingIndex struct {
	Matchers
	all   bitset
	docs  []matched
	stems map[string]*posting
	// sorted are the stems in alphabetical order.
	sorted []string
	// own are the words of these listings alone.
	own *vocabulary
	// near and forms remember places and words that were asked for.
	near  map[string]bitset
	forms map[string]form
}

// form is a word in all of its forms: where it stands, and how many words had
// to be corrected for that.
type form struct {
	in        bitset
	corrected int
}

// mostRemembered bounds what an index remembers of each kind.
const mostRemembered = 8_192

// Index implements listings.Matcher.
func (d Matchers) Index(ctx context.Context, ls []listings.Listing) (listings.Index, error) {
	if err := d.words.refresh(ctx, true); err != nil {
		return nil, err
	}
	x := &listingIndex{Matchers: d, docs: make([]matched, len(ls)), stems: map[string]*posting{}, near: map[string]bitset{}, forms: map[string]form{}, own: &vocabulary{}}
	seen := map[string]struct{}{}
	x.all = x.set()
	for i := range ls {
		x.all.add(i)
		m := matched{Listing: ls[i], specialty: strings.Join(listings.Words(ls[i].Specialty), " "), place: strings.ToLower(ls[i].Location)}
		var err error
		if m.requirements, err = toJSON(orEmpty(ls[i].Requirements)); err != nil {
			return nil, err
		}
		if m.perk, err = toJSON(orEmpty(ls[i].Benefits)); err != nil {
			return nil, err
		}
		if s := ls[i].Salary; s != nil {
			m.paid = true
			m.lowest, m.highest = s.Yearly()
		}
		x.docs[i] = m
		doc := documentOf(&ls[i])
		maps.Copy(seen, doc.words)
		for at, stem := range doc.body {
			p := x.stems[stem]
			if p == nil {
				p = &posting{in: x.set(), at: map[int][]int{}}
				x.stems[stem] = p
			}
			p.in.add(i)
			p.at[i] = append(p.at[i], at)
		}
	}
	for stem := range x.stems {
		x.sorted = append(x.sorted, stem)
	}
	slices.Sort(x.sorted)
	for w := range seen {
		x.own.words = append(x.own.words, entry{word: w, letters: letters(w)})
	}
	return x, nil
}

// set is an empty set.
func (x *listingIndex) set() bitset { return make(bitset, (len(x.docs)+63)/64) }

// where is the set of the listings of which something is true.
func (x *listingIndex) where(holds func(m *matched) bool) bitset {
	out := x.set()
	for i := range x.docs {
		if holds(&x.docs[i]) {
			out.add(i)
		}
	}
	return out
}

// Matching implements listings.Index.
func (x *listingIndex) Matching(q listings.Query) []int {
	if q.Text.Nothing || len(x.docs) == 0 {
		return nil
	}
	m := match{listingIndex: x, search: search{Searches: Searches{DB: x.DB, words: x.words}, q: q}}
	found := slices.Clone(x.all)
	// In the order in which the search reads them, since only the first few
	// phrases and misspelt words of a text count: first the words alone.
	for _, c := range q.Text.Clauses {
		if c.Plain() {
			if holds, asked := m.plain(c); asked && c.Not {
				found.without(holds)
			} else if asked {
				found.and(holds)
			}
		}
	}
	if !found.none() {
		m.filter(found)
	}
	for _, c := range q.Text.Clauses {
		if !c.Plain() && !found.none() {
			found.and(m.mixed(c))
		}
	}
	var out []int
	for i := range x.docs {
		if found.has(i) {
			out = append(out, i)
		}
	}
	return out
}

// match is one query under way.
type match struct {
	*listingIndex
	search search
}

// plain are the listings that have one of the clause's terms. asked is false
// if there is nothing in it to look for.
func (m *match) plain(c listings.Clause) (holds bitset, asked bool) {
	holds = m.set()
	for _, t := range c.Terms {
		if has, ok := m.term(t); ok {
			holds.or(has)
			asked = true
		}
	}
	return holds, asked
}

// term are the listings that have the term; false for one of which nothing is
// left without its stop words.
func (m *match) term(t listings.Term) (bitset, bool) {
	phrase := m.search.literally(t.Literal)
	holds, ok := m.said(t)
	if phrase == "" {
		return holds, ok
	}
	if !ok {
		holds = slices.Clone(m.all)
	}
	if ascii(phrase) {
		for i := range m.docs {
			if holds.has(i) && !m.docs[i].says(phrase) {
				holds[i/64] &^= 1 << (i % 64)
			}
		}
	}
	return holds, true
}

// said is what the text index decides of a term.
func (m *match) said(t listings.Term) (bitset, bool) {
	words := slices.DeleteFunc(slices.Clone(t.Words), listings.StopWord)
	if len(words) == 0 {
		return nil, false
	}
	if t.Adjacent {
		return m.adjacent(words), true
	}
	holds := slices.Clone(m.all)
	for i, w := range words {
		holds.and(m.word(w, t.Fuzzy, t.Prefix && i == len(words)-1))
	}
	return holds, true
}

// word are the listings that have the word in one of its forms.
func (m *match) word(w string, fuzzy, prefix bool) bitset {
	key := fmt.Sprintf("%s %t %t", w, fuzzy && m.search.corrected < maxCorrected, prefix)
	if known, ok := m.forms[key]; ok {
		m.search.corrected += known.corrected
		return known.in
	}
	out, before := m.set(), m.search.corrected
	// What a typo is one of is looked for among all words there are. Among those
	// of these listings first: if none is near, neither is one that helps.
	hopeless := fuzzy && !m.words.knows(w) && len(m.own.corrections(w)) == 0
	stems, beginning := m.search.stems(w, fuzzy && !hopeless, prefix)
	if hopeless && m.search.corrected < maxCorrected && (!beginning || len(m.words.completions(w)) == 0) {
		m.search.corrected++ // as the search counts
	}
	for _, s := range stems {
		if p := m.stems[s]; p != nil {
			out.or(p.in)
		}
	}
	if beginning {
		i, _ := slices.BinarySearch(m.sorted, w)
		for ; i < len(m.sorted) && strings.HasPrefix(m.sorted[i], w); i++ {
			out.or(m.stems[m.sorted[i]].in)
		}
	}
	if len(m.forms) >= mostRemembered {
		clear(m.forms)
	}
	m.forms[key] = form{in: out, corrected: m.search.corrected - before}
	return out
}

// adjacent are the listings in which the words stand side by side.
func (m *match) adjacent(words []string) bitset {
	out := m.set()
	places := make([]*posting, len(words))
	for i, w := range words {
		if places[i] = m.stems[stem(w)]; places[i] == nil {
			return out
		}
	}
	for i := range m.docs {
		if slices.ContainsFunc(places[0].at[i], func(first int) bool {
			for n, p := range places[1:] {
				if _, there := slices.BinarySearch(p.at[i], first+1+n); !there {
					return false
				}
			}
			return true
		}) {
			out.add(i)
		}
	}
	return out
}

// says looks for a phrase word for word, as says in SQL does.
func (m *matched) says(phrase string) bool {
	if m.text == "" {
		m.text = lowerASCII(strings.Join([]string{m.Title, m.Specialty, m.Department, m.Company, m.Location, string(m.requirements), string(m.perk), m.Description}, " "))
	}
	rest := m.text
	for _, run := range strings.FieldsFunc(phrase, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		_, after, found := strings.Cut(rest, run)
		if !found {
			return false
		}
		rest = after
	}
	return true
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// mixed are the listings of which one of the clause's parts is true.
func (m *match) mixed(c listings.Clause) bitset {
	out, asked := m.set(), false
	either := func(part bitset) {
		out.or(part)
		asked = true
	}
	for i := range c.Near {
		either(m.nearby(&c.Near[i]))
	}
	if len(c.ContractTypes) > 0 {
		either(m.where(func(l *matched) bool { return slices.Contains(c.ContractTypes, l.ContractType) }))
	}
	if len(c.EmploymentTypes) > 0 {
		either(m.where(func(l *matched) bool { return slices.Contains(c.EmploymentTypes, l.EmploymentType) }))
	}
	if c.Remote {
		either(m.where(func(l *matched) bool { return l.Remote }))
	}
	for _, t := range c.Terms {
		has, ok := m.term(t)
		var open bitset
		switch t.Unstated {
		case listings.NoContractType:
			open = m.where(func(l *matched) bool { return l.ContractType == "" })
		case listings.NoEmploymentType:
			open = m.where(func(l *matched) bool { return l.EmploymentType == "" })
		case listings.Stated:
		}
		switch {
		case open != nil && ok:
			open.and(has)
			either(open)
		case open != nil:
			either(open)
		case ok:
			either(has)
		}
	}
	if !asked {
		return m.all
	}
	return out
}
