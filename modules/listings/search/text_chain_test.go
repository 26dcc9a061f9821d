package search

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTokens_LongChain_TakesLinearTime checks that texts in which every part might join the next one to
// a word are read in linear time. In quadratic time, one request with such a text would occupy a
// processor for minutes.
func TestTokens_LongChain_TakesLinearTime(t *testing.T) {
	t.Parallel()

	// A text of many links takes milliseconds in linear time, and minutes in quadratic time.
	const linksOfText, maxDuration = 50_000, 5 * time.Second

	for _, link := range []string{
		"a & ", "a&", "a.", "a/", "a-", "a'", "a’", "a+", "1,", "é & ", "é.", "&", "\u0301", "a", "A ", "...",
	} {
		startedAt := time.Now()

		Tokens(strings.Repeat(link, linksOfText))
		require.Less(t, time.Since(startedAt), maxDuration, link)
	}
}
