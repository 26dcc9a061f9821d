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

// App is an application of a third party. Keys, consents, webhooks and a quota belong to it.
// Its id is also its client_id (RFC 6749 §2.2), which is not secret.
type App struct {
	ID          string
	OwnerID     string // the user who created it
	Name        string
	Description string
	// Public is true for a client that cannot keep a secret (RFC 6749 §2.1). It is set when
	// the application is created.
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
	// Prefix is the beginning of the key, for display.
	Prefix string
	// Hash is the hash of the key. The key itself is not stored.
	Hash       string
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// Plan is a quota of requests with its price.
type Plan struct {
	ID, Name string
	Price    int64 // pence (GBP) per month
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

// Plans returns the plans for sale, the cheapest first. A new application is on the first
// plan.
func Plans() []Plan {
	return []Plan{
		{ID: Free, Name: "Free", Quota: limit.Quota{PerMinute: 60, PerDay: 10_000}},
		{ID: Professional, Name: "Professional", Price: 4_900, Quota: limit.Quota{PerMinute: 300, PerDay: 50_000}},
		{ID: Enterprise, Name: "Enterprise", Price: 29_900, Quota: limit.Quota{PerMinute: 1_000}},
	}
}

// PlanOf returns the plan with the id. It returns false if there is none.
func PlanOf(id string) (Plan, bool) {
	i := slices.IndexFunc(Plans(), func(p Plan) bool { return p.ID == id })
	if i < 0 {
		return Plan{}, false
	}

	return Plans()[i], true
}

// QuotaKey returns the key by which requests are counted. All API keys and tokens of an
// application share its quota.
func (a App) QuotaKey() string { return "app:" + a.ID }

// Limits returns the plan of the application, or a zero Plan if no plan has its id.
func (a App) Limits() Plan {
	p, _ := PlanOf(a.Plan)
	return p
}

// with returns the application with the values of the input, and without duplicate redirect
// addresses. It returns an Invalid fault for an invalid input.
func (a App) with(in AppInput) (App, error) {
	a.Name = text.Name(in.Name)
	a.Description = strings.TrimSpace(in.Description)

	a.RedirectURIs = []string{}
	for _, uri := range in.RedirectURIs {
		if !slices.Contains(a.RedirectURIs, uri) {
			a.RedirectURIs = append(a.RedirectURIs, uri)
		}
	}

	return a, valid.Check("", in)
}

// isRedirectURI reports whether an application can register the redirect address. Browsers carry
// authorization codes to it, so only the client may receive the requests. Therefore the address
// must use https, be a loopback address, or have a private-use scheme (RFC 8252 §7, §8.4). Only
// public applications can have private-use schemes.
func isRedirectURI(uri string, isPublicApp bool) bool {
	// Control characters, spaces and backslashes are read differently by different URL
	// parsers. An asterisk may look like a pattern, which the service does not support.
	isForbidden := func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f || r == '\\' || r == '*' }
	if uri == "" || strings.ContainsFunc(uri, isForbidden) {
		return false
	}

	u, err := url.Parse(uri)
	if err != nil || u.User != nil || strings.Contains(uri, "#") {
		return false
	}

	switch u.Scheme {
	case "https":
		return hasServer(u)
	case "http":
		return hasServer(u) && Loopback(u.Hostname())
	}

	// A private-use scheme is a domain name in reverse order, as in com.example.app:/path.
	isPrivateUse := strings.Contains(u.Scheme, ".") && u.Host == "" && strings.HasPrefix(u.Path, "/")

	return isPublicApp && isPrivateUse
}

// RedirectsTo reports whether the redirect address is registered. Addresses are compared
// character by character, except that the port of a loopback address may differ
// (RFC 8252 §7.3).
func (a App) RedirectsTo(uri string) bool {
	withoutPort, isLoopback := trimLoopbackPort(uri)

	return slices.ContainsFunc(a.RedirectURIs, func(registered string) bool {
		if registered == uri {
			return true
		}

		registeredWithoutPort, isRegisteredLoopback := trimLoopbackPort(registered)

		return isLoopback && isRegisteredLoopback && registeredWithoutPort == withoutPort
	})
}

// trimLoopbackPort returns the http URL of a loopback IP address without its scheme and port. It
// returns false for any other URL. It also returns false for localhost, which is not an IP address,
// so that its port must match.
func trimLoopbackPort(uri string) (withoutPort string, isLoopback bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" {
		return "", false
	}

	rest, hasPlainHost := strings.CutPrefix(uri, "http://"+u.Host) // false with a user name
	ip, ipErr := netip.ParseAddr(u.Hostname())

	port, portErr := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16)
	if !hasPlainHost || ipErr != nil || !ip.IsLoopback() || portErr != nil || port == 0 {
		return "", false
	}

	return ip.String() + rest, true
}

// Loopback reports whether the host is a loopback address or localhost.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
