package gazetteer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAliases_Each_NamesAPlace checks that no row of the table of aliases is useless: its target is in the
// table of towns, and its name has the form in which names are looked up.
func TestAliases_Each_NamesAPlace(t *testing.T) {
	t.Parallel()

	tab := unpack()
	for name, to := range tab.aliases {
		_, ok := tab.findAlias(name)
		require.True(t, ok, "%s -> %v", name, to)
	}

	for name := range rows(aliasesFile) {
		require.Equal(t, name[0], normalize(name[0]), "aliases are stored in the form in which they are looked up")
	}
}
