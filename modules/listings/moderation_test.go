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

	now := time.Now()
	hidden := &Listing{HiddenAt: &now}
	moderationCase := Case{}
	require.False(t, moderationCase.isHiddenByOperator(hidden), "no decision")
	moderationCase.decide(CaseTakenDown, "", "", now)
	require.True(t, moderationCase.isHiddenByOperator(hidden))
	require.False(t, moderationCase.isHiddenByOperator(&Listing{}), "shown again")
	moderationCase.open("1", now)
	require.True(t, moderationCase.isHiddenByOperator(hidden), "opened again")

	moderationCase.Held = true
	require.False(t, moderationCase.isHiddenByOperator(hidden), "hidden with its organization")
	moderationCase.decide(CaseTakenDown, "moderator", "", now)
	require.False(t, moderationCase.isHiddenByOperator(hidden))
}
