package integrations

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// App is a third party's application, to which keys, consents, webhooks and quotas
// belong. Its id is also its client_id (RFC 6749 §2.2), which is not secret.
type App struct {
	ID          string
	OwnerID     string // the user who created it
	Name        string
	Description string
	// Public is true for a client that cannot keep a secret (RFC 6749 §2.1). It does
	// not change.
	Public bool
	// SecretHash is the hash of the client secret, empty for a public client.
	SecretHash   string
	Plan         string // the id of a Plan
	RedirectURIs []string
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Version      int64
}

// Key is an API key, a credential for reading on behalf of the application's owner.
type Key struct {
	ID, AppID, Name string
	// Prefix is the beginning of the key, for display. Only the Hash of the key is
	// stored.
	Prefix, Hash string
	CreatedAt    time.Time
	LastUsedAt   *time.Time
}

// Plan is a quota of requests with its price.
type Plan struct {
	ID, Name string
	Price    int64 // GBP a month, in pence
	limit.Quota
}

// Pounds returns the price in pounds, for display.
func (p Plan) Pounds() float64 { return float64(p.Price) / 100 }

// The ids of the plans.
const (
	Free         = "free"
	Professional = "professional"
	Enterprise   = "enterprise"
)

// Plans returns the plans for sale, the cheapest first. New applications are on the
// first one.
func Plans() []Plan {
	return []Plan{
		{ID: Free, Name: "Free", Quota: limit.Quota{PerMinute: 60, PerDay: 10_000}},
		{ID: Professional, Name: "Professional", Price: 4_900, Quota: limit.Quota{PerMinute: 300, PerDay: 50_000}},
		{ID: Enterprise, Name: "Enterprise", Price: 29_900, Quota: limit.Quota{PerMinute: 1_000}},
	}
}

// PlanOf returns the plan with the id, false if there is none.
func PlanOf(id string) (Plan, bool) {
	i := slices.IndexFunc(Plans(), func(p Plan) bool { return p.ID == id })
	if i < 0 {
		return Plan{}, false
	}
	return Plans()[i], true
}

// QuotaKey returns the key of the application's quota, which all of its keys and
// tokens share.
func (a App) QuotaKey() string { return "app:" + a.ID }

// Limits returns the plan of the application.
func (a App) Limits() Plan {
	p, _ := PlanOf(a.Plan)
	return p
}

// with returns the application with the input, with each redirect address once.
func (a App) with(in AppInput) (App, error) {
	a.Name, a.Description, a.RedirectURIs = text.Name(in.Name), strings.TrimSpace(in.Description), []string{}
	for _, uri := range in.RedirectURIs {
		if !slices.Contains(a.RedirectURIs, uri) {
			a.RedirectURIs = append(a.RedirectURIs, uri)
		}
	}
	return a, valid.Check("", in)
}

// isRedirectURI reports whether an application can have the redirect address. Browsers are
// redirected there with codes, so only the client must be able to receive requests: https,
// a loopback address, or a private-use scheme (RFC 8252 §7, §8.4).
func isRedirectURI(uri string, public bool) bool {
	if uri == "" || strings.ContainsFunc(uri, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f || r == '\\' || r == '*' }) {
		return false
	}
	u, err := url.Parse(uri)
	if err != nil || u.User != nil || strings.Contains(uri, "#") {
		return false
	}
	if u.Scheme == "https" || u.Scheme == "http" {
		return hasServer(u) && (u.Scheme == "https" || Loopback(u.Hostname()))
	}
	return public && strings.Contains(u.Scheme, ".") && u.Host == "" && strings.HasPrefix(u.Path, "/")
}

// RedirectsTo reports whether the address is registered. Addresses are compared by
// character; the port of a loopback address may differ (RFC 8252 §7.3).
func (a App) RedirectsTo(uri string) bool {
	wanted, loopback := portless(uri)
	return slices.ContainsFunc(a.RedirectURIs, func(registered string) bool {
		if registered == uri {
			return true
		}
		without, ok := portless(registered)
		return ok && loopback && without == wanted
	})
}

// portless returns an address on a loopback interface without its port.
func portless(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" {
		return "", false
	}
	rest, plain := strings.CutPrefix(uri, "http://"+u.Host) // without a user, above all
	ip, err := netip.ParseAddr(u.Hostname())
	port, bad := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16)
	if !plain || err != nil || !ip.IsLoopback() || bad != nil || port == 0 {
		return "", false
	}
	return ip.String() + rest, true
}

// Loopback reports whether the host is a loopback address or localhost.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
