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

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

// App is a third party's application: what keys, consents, webhooks and limits
// belong to. Its id is also its client_id (RFC 6749 §2.2), which is no secret.
type App struct {
	ID          string
	OwnerID     string // the user who made it
	Name        string
	Description string
	// Public is a client that cannot keep a secret (RFC 6749 §2.1), for good.
	Public bool
	// SecretHash is what is kept of the client's secret, empty for a public one.
	SecretHash   string
	Plan         string // the id of a Plan
	RedirectURIs []string
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Version      int64
}

// Key is a credential for reading in the name of an application's owner.
type Key struct {
	ID, AppID, Name string
	// Prefix is how the key begins, which people know it by. Of the key itself
	// only a hash is kept.
	Prefix, Hash string
	CreatedAt    time.Time
	LastUsedAt   *time.Time
}

// Plan is how much an application may call.
type Plan struct {
	ID, Name  string
	Price     int64 // GBP a month, in pence
	PerMinute int
	PerDay    int // 0 for no limit
}

// Pounds is the price as people write it.
func (p Plan) Pounds() float64 { return float64(p.Price) / 100 }

// The ids of the plans.
const (
	Free         = "free"
	Professional = "professional"
	Enterprise   = "enterprise"
)

// Plans are what can be chosen, the cheapest first. A new application is on the
// first.
func Plans() []Plan {
	return []Plan{
		{ID: Free, Name: "Free", PerMinute: 60, PerDay: 10_000},
		{ID: Professional, Name: "Professional", Price: 4_900, PerMinute: 300, PerDay: 50_000},
		{ID: Enterprise, Name: "Enterprise", Price: 29_900, PerMinute: 1_000},
	}
}

// PlanOf is the plan with the id, false if there is none.
func PlanOf(id string) (Plan, bool) {
	i := slices.IndexFunc(Plans(), func(p Plan) bool { return p.ID == id })
	if i < 0 {
		return Plan{}, false
	}
	return Plans()[i], true
}

// Quota is the plan's limits.
func (p Plan) Quota() limit.Quota { return limit.Quota{PerMinute: p.PerMinute, PerDay: p.PerDay} }

// QuotaKey is under what the calls of an application count, whichever of its
// keys or tokens they come with.
func (a App) QuotaKey() string { return "app:" + a.ID }

// Limits is the plan that the application is on.
func (a App) Limits() Plan {
	p, _ := PlanOf(a.Plan)
	return p
}

const (
	maxURIs = 20
	maxURI  = 2_048
)

// redirectURIs are the addresses without doubles. Each is where a browser is
// sent with a code, so it has to be one that nobody else can answer at: https, a
// loopback address, or the scheme of a program of its own (RFC 8252 §7, §8.4).
func redirectURIs(given []string, public bool) ([]string, error) {
	out := []string{}
	for _, uri := range given {
		if !redirectable(uri, public) {
			return nil, fault.InvalidField("redirectUris", "must be https:// addresses without a fragment, http:// ones on a loopback address, or of a public application com.example.app:/path")
		}
		if !slices.Contains(out, uri) {
			out = append(out, uri)
		}
	}
	if len(out) > maxURIs {
		return nil, fault.InvalidField("redirectUris", "must be at most 20")
	}
	return out, nil
}

func redirectable(uri string, public bool) bool {
	if uri == "" || len(uri) > maxURI || strings.ContainsFunc(uri, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f || r == '\\' || r == '*' }) {
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

// RedirectsTo reports whether a browser may be sent to the address: one that is
// registered, character by character, but that the port of a loopback address is
// free (RFC 8252 §7.3).
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

// portless is an address on a loopback address without its port.
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

// Loopback reports whether the host of an address is this very machine.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
