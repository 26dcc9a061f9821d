package mailboxes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/mailboxes"
)

// TestKey_SpellingsOfOneMailbox_AreEqual checks that a user cannot register the same mailbox
// twice by another spelling: case, Unicode normalization, or Punycode of the domain. Dots and
// tags are not ignored, because only some providers do so.
func TestKey_SpellingsOfOneMailbox_AreEqual(t *testing.T) {
	t.Parallel()

	for _, same := range [][]string{
		{"jo@example.org", "Jo@EXAMPLE.org"},
		{"zo\u00eb@example.org", "zoe\u0308@example.org", "ZOE\u0308@example.org"},
		{"jo@m\u00fcnchen.example", "jo@mu\u0308nchen.example", "jo@xn--mnchen-3ya.example", "jo@XN--MNCHEN-3YA.example"},
	} {
		for _, email := range same {
			require.Equal(t, same[0], mailboxes.Keys{}.Key(email))
		}
	}

	require.NotEqual(t, mailboxes.Keys{}.Key("a.b@example.org"), mailboxes.Keys{}.Key("ab@example.org"), "dots count")
	require.NotEqual(t, mailboxes.Keys{}.Key("a+b@example.org"), mailboxes.Keys{}.Key("a@example.org"), "tags count")
	require.Equal(t, "jo@xn--a.example", mailboxes.Keys{}.Key("jo@xn--a.example"), "no valid label")
}
