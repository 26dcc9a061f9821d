package listings

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A description of A & A & A … took a fifth of a second, and a batch has fifty.
func TestAChainOfLettersIsReadInOneGo(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	words := Words(strings.Repeat("a & ", 50_000))
	require.Less(t, time.Since(begin), time.Second)
	for _, w := range words {
		require.LessOrEqual(t, len(w), maxChain+1)
	}
	require.Equal(t, []string{"ae", "nurse", "to", "abcd"}, Words("A & E nurse, T & O, A&B & C & D"))
}
