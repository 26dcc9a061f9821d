package identity_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/identity"
)

// TestConfirmSecondFactor_GuessedCodes_AreLimited checks that an attacker with a stolen session can
// guess ten codes to enable a second factor that the owner of the account has enrolled.
func TestConfirmSecondFactor_GuessedCodes_AreLimited(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	enrolled, err := env.EnrollSecondFactor(t.Context(), env.actor(jo))
	require.NoError(t, err)

	for range allowedFailures {
		require.Equal(t, fault.Invalid, fault.KindOf(env.confirm(jo, invalidCode)))
	}

	// Now the right code is refused, too.
	err = env.confirm(jo, env.currentCode(enrolled.Secret))
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Positive(t, fault.Of(err).RetryAfter)

	status, err := env.MySecondFactor(t.Context(), env.actor(jo))
	require.NoError(t, err)
	require.False(t, status.Enabled)

	// After 15 minutes, the right code is accepted. The access token has expired by then.
	env.clock.Advance(failureWindow)

	jo, err = env.login("jo@example.org", password)
	require.NoError(t, err)
	require.NoError(t, env.confirm(jo, env.currentCode(enrolled.Secret)))
}

// slowTx is a tx.Runner whose first transaction waits until the function meanwhile has returned.
type slowTx struct {
	tx.Runner
	once      *sync.Once
	meanwhile func()
}

// Do calls meanwhile before its first transaction.
func (s slowTx) Do(ctx context.Context, fn func(context.Context) error) error {
	s.once.Do(s.meanwhile)
	return s.Runner.Do(ctx, fn)
}

// TestSecondFactor_ConcurrentGuesses_RightOneIsRefused checks that concurrent codes are counted
// as strictly as consecutive ones. The right code is refused if ten wrong ones have failed while the
// transaction of its sign-in waited.
func TestSecondFactor_ConcurrentGuesses_RightOneIsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	secret, _ := env.enroll(env.jobseeker("jo@example.org"))
	env.clock.Advance(codePeriod) // enroll has used the code before

	// The sign-in with the right code waits at the start of its transaction. Meanwhile, a client in
	// another network guesses ten codes.
	usual := env.Tx
	failTenTimes := func() {
		env.Tx = usual // the wrong codes do not wait

		for range allowedFailures {
			input := identity.LoginInput{Email: "jo@example.org", Password: password, TOTP: invalidCode}
			_, err := env.Login(t.Context(), input, identity.Client{Address: "192.0.2.1"})
			require.ErrorIs(t, err, identity.ErrSecondFactorInvalid)
		}
	}
	env.Tx = slowTx{Runner: usual, once: &sync.Once{}, meanwhile: failTenTimes}

	_, err := env.loginWithCode("jo@example.org", password, env.currentCode(secret))
	require.ErrorIs(t, err, fault.ErrRateLimit)
}
