package listings

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// A deadline that no database or answer can hold would make every list that
// the listing stands in fail.
func TestRenewingAgainAndAgainNeverLeavesTheYearsThatCanBeKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	far := time.Date(8999, 12, 31, 0, 0, 0, 0, time.UTC)
	l := Listing{Status: Closed, Content: Content{Deadline: &far}}
	for range 3 {
		if err := l.Renew(now, 365); err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.Equal(t, "durationDays", fault.Of(err).Fields[0].Name)
			return
		}
		require.LessOrEqual(t, l.Deadline.Year(), 9000)
	}
	t.Fatal("renewed beyond the year 9000")
}
