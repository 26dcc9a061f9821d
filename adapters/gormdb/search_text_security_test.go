package gormdb

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings"
)

// Each look at a listing's words fetches them anew from outside of its row:
// sixty excluded words are one look.
func TestExclusionsAreOneLookAtAListingsWords(t *testing.T) {
	t.Parallel()
	var m matcher
	for range 60 {
		m.none = append(m.none, literal{expr: "'q'"})
	}
	require.Equal(t, 1, strings.Count(m.beside(postgres, anywhere).sql, "@@"))
	require.Equal(t, 1, strings.Count(m.beside(sqlite, anywhere).sql, "MATCH"))
	m.none = append(m.none, literal{"('a' <-> 'b')", "a b"}, literal{"('c' <-> 'd')", "c d"})
	c := m.beside(postgres, anywhere)
	require.Equal(t, 4, strings.Count(c.sql, "@@"))
	require.Contains(t, c.args, "(('a' <-> 'b') | ('c' <-> 'd'))", "first whether any of the phrases may be there at all")
}

// Each phrase reads the whole text of every listing that has its words.
func TestATextOfNothingButPhrasesLooksForTheFirstFew(t *testing.T) {
	t.Parallel()
	for _, d := range []dialect{sqlite, postgres} {
		s := search{Searches: Searches{DB: &DB{dialect: d}}}
		same := listings.Clause{Terms: []listings.Term{{Words: []string{"nurse"}, Adjacent: true, Literal: "nurse"}}}
		once := s.matcher(listings.Text{Clauses: []listings.Clause{same}})
		text := listings.Text{Clauses: slices.Repeat([]listings.Clause{same}, 20)}
		require.Equal(t, once, s.matcher(text))
		for i := range 20 {
			w := "w" + strconv.Itoa(i)
			text.Clauses = append(text.Clauses, listings.Clause{Not: i%2 == 0, Terms: []listings.Term{{Words: []string{w}, Adjacent: true, Literal: w}}})
		}
		c := s.matcher(text).body(&s)
		require.Equal(t, maxLiterals, strings.Count(c.sql, "LIKE"))
	}
}
