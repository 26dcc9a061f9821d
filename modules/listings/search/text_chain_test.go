package search

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A scan in quadratic time would take minutes.
func TestTokens_LongChain_TakesLinearTime(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"a & ", "a&", "a.", "a/", "a-", "a'", "a’", "a+", "1,", "é & ", "é.", "&", "\u0301", "a", "A ", "..."} {
		start := time.Now()
		Tokens(strings.Repeat(link, 50_000))
		require.Less(t, time.Since(start), 5*time.Second, link)
	}
}
