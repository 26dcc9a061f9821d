package gazetteer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAliases_Each_NamesAPlace checks that no row of the table of aliases is useless: its target is in the
// table of towns, and its name has the form in which names are looked up.
func TestAliases_Each_NamesAPlace(t *testing.T) {
	t.Parallel()

	tables := unpack()
	for alias, target := range tables.aliases {
		_, isFound := tables.findAlias(alias)
		require.True(t, isFound, "%s -> %v", alias, target)
	}

	for row := range rows(aliasesFile) {
		alias := row[0] // the first column
		require.Equal(t, normalize(alias), alias, "aliases are stored in the form in which they are looked up")
	}
}
