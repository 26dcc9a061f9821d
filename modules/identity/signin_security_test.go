package identity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// slowHasher does something while the right password is being verified.
type slowHasher struct {
	identity.PasswordHasher
	meanwhile func()
}

func (s slowHasher) Verify(ctx context.Context, verifier, tried string) (ok, stale bool, err error) {
	if tried == password {
		s.meanwhile()
	}
	return s.PasswordHasher.Verify(ctx, verifier, tried)
}

// Who guesses many at once gets no more guesses than who guesses one by one.
func TestARightGuessAmongTooManyAtOnceIsRefusedToo(t *testing.T) {
	h := sqlite(t)
	h.jobseeker("jo@example.org")
	h.Hasher = slowHasher{h.hasher, func() {
		for range 10 {
			_, err := h.login("jo@example.org", "Wrong-Passw0rd")
			require.ErrorIs(t, err, identity.ErrBadCredentials)
		}
	}}
	_, err := h.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrRateLimit)
	h.Hasher = h.hasher
	_, err = h.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrRateLimit, "and it does not clear the count")
}
