package identity

import (
	"cmp"
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/limit"
)

// failureWindow is the time for which a failed sign-in counts.
const failureWindow = 15 * time.Minute

// failuresPerAccount limits the failed sign-ins to an account from one network. Failures in
// one network do not lock out the owner of the account in another network.
var failuresPerAccount = limit.Rule{Name: "login.account", Max: 10, Per: failureWindow}

// failedCodes limits the wrong codes of an account's second factor, from all networks
// together. A code is checked only after the right password.
var failedCodes = limit.Rule{Name: "login.totp", Max: 10, Per: failureWindow}

// networkRules limit the failed sign-ins from a network, for IPv6 (false) and IPv4 (true), by
// prefixes of different lengths: an internet provider assigns an IPv6 customer a /56 or /48,
// which contains many /64. The last rule refuses every sign-in from the network. The other
// rules refuse only accounts with a recent failure, because many users of an office or proxy
// may have the same address.
var networkRules = map[bool][]networkRule{
	false: {
		{64, limit.Rule{Name: "login.network", Max: 100, Per: failureWindow}},
		{56, limit.Rule{Name: "login.56", Max: 300, Per: failureWindow}},
		{48, limit.Rule{Name: "login.site", Max: 1000, Per: failureWindow}},
	},
	true: {
		{24, limit.Rule{Name: "login.network", Max: 100, Per: failureWindow}},
		{24, limit.Rule{Name: "login.site", Max: 1000, Per: failureWindow}},
	},
}

// networkRule limits the failures of a network, which is the prefix of an address with the
// given number of bits.
type networkRule struct {
	bits int
	rule limit.Rule
}

// isIPv4 reports whether the address is an IPv4 address. It may be mapped to IPv6.
func isIPv4(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Unmap().Is4()
}

// limitKey is a limit together with the key that is counted.
type limitKey struct {
	rule limit.Rule
	key  string
}

// failures are the limits that count a failed sign-in.
type failures struct {
	account  limitKey
	networks []limitKey // none for a device on which the account signed in before
}

// failuresOf returns the limits that count a failed sign-in to the account from the client.
func (s *Service) failuresOf(email string, from Client) failures {
	f := failures{account: limitKey{failuresPerAccount, s.Mailboxes.Key(email) + " " + audit.Network(from.Address)}}
	if s.isKnownDevice(email, from) {
		return f
	}
	for _, n := range networkRules[isIPv4(from.Address)] {
		f.networks = append(f.networks, limitKey{n.rule, audit.Prefix(from.Address, n.bits, n.bits)})
	}
	return f
}

// checkFailures returns fault.ErrRateLimit after too many failures.
func (s *Service) checkFailures(ctx context.Context, f failures) error {
	account, err := s.Limiter.Peek(ctx, f.account.rule, f.account.key)
	if err := cmp.Or(err, account.Err()); err != nil {
		return err
	}
	hasFailed := account.Remaining < f.account.rule.Max
	for i, n := range f.networks {
		d, err := s.Limiter.Peek(ctx, n.rule, n.key)
		if err != nil {
			return err
		}
		if !d.Allowed && (hasFailed || i == len(f.networks)-1) {
			return d.Err()
		}
	}
	return nil
}

// checkCodeFailures returns fault.ErrRateLimit after too many wrong codes for the account. It
// returns nil for a sign-in without a code.
func (s *Service) checkCodeFailures(ctx context.Context, userID, code string) error {
	if code == "" {
		return nil
	}
	d, err := s.Limiter.Peek(ctx, failedCodes, userID)
	return cmp.Or(err, d.Err())
}

// addFailure counts a failure and returns fault.ErrRateLimit if it exceeds the limit.
func (s *Service) addFailure(ctx context.Context, f failures) error {
	for _, n := range append([]limitKey{f.account}, f.networks...) {
		if err := limit.Take(ctx, s.Limiter, n.rule, n.key); err != nil {
			return err
		}
	}
	return nil
}

// DemoDomain is the domain of the addresses of demo accounts. It is reserved and receives no
// e-mail (RFC 2606). Demo accounts cannot sign in if the service has an https URL.
const DemoDomain = "locum.example"

// isDemo reports whether the account is a demo account of a service with an https URL.
func (s *Service) isDemo(u User) bool {
	return strings.HasSuffix(u.EmailKey(), "@"+DemoDomain) && strings.HasPrefix(s.PublicURL, "https:")
}

// clearFailures resets the failures of the account after a complete sign-in. It is not called
// after the right password alone, because codes of the second factor could then be guessed
// without limit.
func (s *Service) clearFailures(ctx context.Context, u User, from Client) error {
	account := s.failuresOf(u.Email, from).account
	return s.Limiter.Clear(ctx, account.rule, account.key)
}

// deviceLife is the time for which a device is known after a sign-in.
const deviceLife = 180 * 24 * time.Hour

// DeviceToken returns a token for the device on which the account with the address has signed
// in. The token gives no access. With it, failures of other clients in the same network do not
// lock the account out on the device.
func (s *Service) DeviceToken(email string) (string, error) {
	return s.Sealer.Seal(auth.ForDevice, deviceSubject(email), s.Clock.Now().Add(deviceLife))
}

// isKnownDevice reports whether the client has a valid device token of the account.
func (s *Service) isKnownDevice(email string, from Client) bool {
	if from.Device == "" {
		return false
	}
	subject, err := s.Sealer.Unseal(auth.ForDevice, from.Device)
	return err == nil && subject == deviceSubject(email)
}

// deviceSubject identifies the account in a device token without revealing its address.
func deviceSubject(email string) string { return auth.HashSecret("device " + EmailKey(email)) }
