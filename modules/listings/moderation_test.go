package listings

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCase_IsHiddenByOperator checks when a listing may be shown by an operator alone: while it is hidden by
// the decision of one, which has no moderator. A new report does not change that; the decision of a
// moderator, and hiding with the organization, do.
func TestCase_IsHiddenByOperator(t *testing.T) {
	t.Parallel()

	const byOperator, noNote = "", ""

	now := time.Now()
	hidden := &Listing{HiddenAt: &now}
	shown := &Listing{}
	moderationCase := Case{}
	require.False(t, moderationCase.isHiddenByOperator(hidden), "no decision")

	// An operator takes the listing down.
	moderationCase.decide(CaseTakenDown, byOperator, noNote, now)
	require.True(t, moderationCase.isHiddenByOperator(hidden))
	require.False(t, moderationCase.isHiddenByOperator(shown), "shown again")

	// A new report opens the case again.
	moderationCase.open("1", now)
	require.True(t, moderationCase.isHiddenByOperator(hidden))

	// The listing is hidden with its organization, and then by a moderator.
	moderationCase.Held = true
	require.False(t, moderationCase.isHiddenByOperator(hidden), "hidden with its organization")
	moderationCase.decide(CaseTakenDown, "moderator", noNote, now)
	require.False(t, moderationCase.isHiddenByOperator(hidden), "hidden by a moderator")
}
