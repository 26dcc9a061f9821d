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

// Failed sign-ins are counted per account and network, so that failures in one
// network do not lock the owner out of others, and per network.
const failureWindow = 15 * time.Minute

var failuresPerAccount = limit.Rule{Name: "login.account", Max: 10, Per: failureWindow}

// failedCodes limits the wrong codes of an account's second factor, from all networks
// together. A code is only checked after the right password.
var failedCodes = limit.Rule{Name: "login.totp", Max: 10, Per: failureWindow}

// networkRules are the limits of failed sign-ins per network, by the length of
// its prefix. A provider assigns an IPv6 customer a /56 or a /48, which holds
// many /64. The last rule refuses every sign-in; the rules before it refuse
// accounts that have failures of their own, since an office or a proxy can put
// many users behind one address.
var networkRules = map[bool][]networkRule{
	false: {{64, limit.Rule{Name: "login.network", Max: 100, Per: failureWindow}}, {56, limit.Rule{Name: "login.56", Max: 300, Per: failureWindow}}, {48, limit.Rule{Name: "login.site", Max: 1000, Per: failureWindow}}},
	true:  {{24, limit.Rule{Name: "login.network", Max: 100, Per: failureWindow}}, {24, limit.Rule{Name: "login.site", Max: 1000, Per: failureWindow}}},
}

type networkRule struct {
	bits int
	rule limit.Rule
}

// isIPv4 reports whether the address is one, mapped ones included.
func isIPv4(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Unmap().Is4()
}

// count is a limit and the key that it counts for.
type count struct {
	rule limit.Rule
	key  string
}

// failures are the counts of a sign-in that fails.
type failures struct {
	account  count
	networks []count // none for a device on which the account signed in before
}

func (s *Service) failuresOf(email string, from Client) failures {
	f := failures{account: count{failuresPerAccount, s.Mailboxes.Key(email) + " " + audit.Network(from.Address)}}
	if s.isKnownDevice(email, from) {
		return f
	}
	for _, n := range networkRules[isIPv4(from.Address)] {
		f.networks = append(f.networks, count{n.rule, audit.Prefix(from.Address, n.bits, n.bits)})
	}
	return f
}

// checkFailures returns fault.ErrRateLimit if there were too many failures.
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

// checkCodeFailures returns fault.ErrRateLimit if the account had too many wrong
// codes. A sign-in without a code guesses none.
func (s *Service) checkCodeFailures(ctx context.Context, userID, code string) error {
	if code == "" {
		return nil
	}
	d, err := s.Limiter.Peek(ctx, failedCodes, userID)
	return cmp.Or(err, d.Err())
}

// addFailure counts a failure and returns fault.ErrRateLimit if it exceeds the limit.
func (s *Service) addFailure(ctx context.Context, f failures) error {
	for _, n := range append([]count{f.account}, f.networks...) {
		if err := limit.Take(ctx, s.Limiter, n.rule, n.key); err != nil {
			return err
		}
	}
	return nil
}

// DemoDomain is the domain of the demo accounts' addresses. It is reserved and
// receives no mail (RFC 2606). They cannot sign in over a public https URL.
const DemoDomain = "locum.example"

func (s *Service) isDemo(u User) bool {
	return strings.HasSuffix(u.EmailKey(), "@"+DemoDomain) && strings.HasPrefix(s.PublicURL, "https:")
}

// clearFailures resets the failures of the account after a complete sign-in. The
// right password alone does not: otherwise codes of the second factor could be
// guessed without limit.
func (s *Service) clearFailures(ctx context.Context, u User, from Client) error {
	account := s.failuresOf(u.Email, from).account
	return s.Limiter.Clear(ctx, account.rule, account.key)
}

// deviceLife is how long a device is known after a sign-in.
const deviceLife = 180 * 24 * time.Hour

// DeviceToken returns a token for the device on which the account with the
// address has signed in. It gives no access: failures of other clients in the
// same network do not lock the account out on this device.
func (s *Service) DeviceToken(email string) (string, error) {
	return s.Sealer.Seal(auth.ForDevice, deviceSubject(email), s.Clock.Now().Add(deviceLife))
}

func (s *Service) isKnownDevice(email string, from Client) bool {
	if from.Device == "" {
		return false
	}
	subject, err := s.Sealer.Unseal(auth.ForDevice, from.Device)
	return err == nil && subject == deviceSubject(email)
}

// deviceSubject names the account in a device token without its address.
func deviceSubject(email string) string { return auth.HashSecret("device " + EmailKey(email)) }
