package identity

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/limit"
)

// Failed sign-ins are counted by account and network, and by network alone. A sign-in is refused
// while a count is above its limit.

// failureWindow is the time for which a failed sign-in counts.
const failureWindow = 15 * time.Minute

// failuresPerAccount limits the failed sign-ins to an account from one network (audit.Network: the /24
// of an IPv4 address, the /64 of an IPv6 address). Failures in one network do not lock out the owner
// of the account in another network.
var failuresPerAccount = limit.Rule{Name: "login.account", Max: 10, Per: failureWindow}

// failedCodes limits the wrong codes of an account's second factor, from all networks
// together. A sign-in checks the code only after the right password.
var failedCodes = limit.Rule{Name: "login.totp", Max: 10, Per: failureWindow}

// networkRule limits the failed sign-ins from a network. The addresses of a network begin with the same bits.
type networkRule struct {
	bits int // the number of these bits
	rule limit.Rule
	// refusesAll refuses every sign-in from the network. Otherwise only accounts with a recent
	// failure are refused, because many users of an office or proxy may have the same address.
	refusesAll bool
}

// ipv6Rules limit networks of several sizes, because a customer of an internet provider has a /56
// or a /48. Each contains many networks of the size /64.
var ipv6Rules = []networkRule{
	{bits: 64, rule: limit.Rule{Name: "login.network", Max: 100, Per: failureWindow}},
	{bits: 56, rule: limit.Rule{Name: "login.56", Max: 300, Per: failureWindow}},
	{bits: 48, rule: limit.Rule{Name: "login.site", Max: 1000, Per: failureWindow}, refusesAll: true},
}

// ipv4Rules have two limits for the same /24. Above the lower limit, sign-ins to accounts with a
// recent failure are refused. Above the higher limit, all sign-ins are refused.
var ipv4Rules = []networkRule{
	{bits: 24, rule: limit.Rule{Name: "login.network", Max: 100, Per: failureWindow}},
	{bits: 24, rule: limit.Rule{Name: "login.site", Max: 1000, Per: failureWindow}, refusesAll: true},
}

// networkRules returns the rules for the networks of an address. The rules of IPv6 also apply to
// text that is not an address.
func networkRules(address string) []networkRule {
	if isIPv4(address) {
		return ipv4Rules
	}

	return ipv6Rules
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

// networkLimit is a limit with the key of one network, from a networkRule.
type networkLimit struct {
	limitKey
	refusesAll bool
}

// failureLimits count the failed sign-ins to an account from a client.
type failureLimits struct {
	account  limitKey
	networks []networkLimit // none for a device on which the account signed in before
}

// failuresOf returns the limits of sign-ins to the account from the client.
func (s *Service) failuresOf(email string, from Client) failureLimits {
	accountInNetwork := s.Mailboxes.Key(email) + " " + audit.Network(from.Address)

	limits := failureLimits{account: limitKey{rule: failuresPerAccount, key: accountInNetwork}}
	if s.isKnownDevice(email, from) {
		return limits
	}

	for _, n := range networkRules(from.Address) {
		// The rules have been chosen for the kind of the address, so the same number of bits is
		// passed for IPv4 and IPv6.
		prefix := audit.Prefix(from.Address, n.bits, n.bits)
		limits.networks = append(limits.networks, networkLimit{
			limitKey:   limitKey{rule: n.rule, key: prefix},
			refusesAll: n.refusesAll,
		})
	}

	return limits
}

// checkFailures returns fault.ErrRateLimit after too many failures.
func (s *Service) checkFailures(ctx context.Context, f failureLimits) error {
	account, err := s.Limiter.Peek(ctx, f.account.rule, f.account.key)
	if err := cmp.Or(err, account.Err()); err != nil {
		return err
	}

	// From a network above its limit, users can still sign in to accounts without recent failures. This does
	// not apply to a limit that refuses every sign-in.
	hasFailed := account.Remaining < f.account.rule.Max
	for _, n := range f.networks {
		network, err := s.Limiter.Peek(ctx, n.rule, n.key)
		if err != nil {
			return err
		}

		if !network.Allowed && (hasFailed || n.refusesAll) {
			return network.Err()
		}
	}

	return nil
}

// addFailure counts a failure for each limit. It returns fault.ErrRateLimit if one is exceeded.
func (s *Service) addFailure(ctx context.Context, f failureLimits) error {
	if err := limit.Take(ctx, s.Limiter, f.account.rule, f.account.key); err != nil {
		return err
	}

	for _, n := range f.networks {
		if err := limit.Take(ctx, s.Limiter, n.rule, n.key); err != nil {
			return err
		}
	}

	return nil
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

// DeviceToken returns a token for the device on which the account with the address has signed in. The
// token gives no access. It only exempts the device from the limits of its network, so that failures of
// other clients in the network do not prevent its sign-ins.
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
func deviceSubject(email string) string { return auth.HashSecret("device " + LowerCaseKey(email)) }
