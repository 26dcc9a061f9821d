package listings

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCase_IsHiddenByOperator(t *testing.T) {
	t.Parallel()
	now := time.Now()
	hidden := &Listing{HiddenAt: &now}
	c := Case{}
	require.False(t, c.isHiddenByOperator(hidden), "no decision")
	c.decide(CaseTakenDown, "", "", now)
	require.True(t, c.isHiddenByOperator(hidden))
	require.False(t, c.isHiddenByOperator(&Listing{}), "shown again")
	c.open("1", now)
	require.True(t, c.isHiddenByOperator(hidden), "opened again")
	c.Held = true
	require.False(t, c.isHiddenByOperator(hidden), "hidden with its organization")
	c.decide(CaseTakenDown, "moderator", "", now)
	require.False(t, c.isHiddenByOperator(hidden))
}
