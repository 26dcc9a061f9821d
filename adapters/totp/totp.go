// Package totp implements time-based one-time passwords (RFC 6238) as
// authenticator apps use them: six digits, SHA-1, 30 seconds.
package totp

import (
	"crypto/subtle"
	"time"

	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

const (
	issuer = "locum"
	period = 30 // seconds
	// skew is the tolerated difference of a device's clock in time steps.
	skew = 1
)

// Codes creates secrets and checks codes.
type Codes struct{}

// NewSecret returns a secret in base 32 and its otpauth:// address, which names
// the account.
func (Codes) NewSecret(account string) (secret, url string, err error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: account, Period: period})
	if err != nil {
		return "", "", err
	}

	return key.Secret(), key.URL(), nil
}

// Match returns the time step of the code, which is the current one or one next to it. It
// returns false for every other code.
func (Codes) Match(secret, code string, now time.Time) (step int64, ok bool) {
	current := now.Unix() / period
	for candidate := current - skew; candidate <= current+skew; candidate++ {
		want, err := hotp.GenerateCode(secret, uint64(max(candidate, 0)))
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = candidate, true
		}
	}

	return step, ok
}
