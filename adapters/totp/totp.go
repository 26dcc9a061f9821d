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
	// skew is how many time steps the clock of a device may be off.
	skew = 1
)

// Codes makes secrets and checks codes.
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

// Match returns the time step that the code belongs to, which is that of now or
// one beside it. It is false for every other code.
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
