package gormdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
