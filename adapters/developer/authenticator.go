package developer

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/modules/integrations"
)

// anonymousQuota is the quota of each client address for requests without a valid
// credential.
var anonymousQuota = limit.Quota{PerMinute: 60}

// statusTimeout is the time to read the remaining quota after authentication has failed because of
// this server, for example of its database.
const statusTimeout = 250 * time.Millisecond

// authenticator authenticates the clients of the developer API, and counts their requests towards a quota:
// a maximum number of requests in a minute and in a day. The quota belongs to the application with the
// credential. A request without a valid credential counts towards anonymousQuota.
type authenticator struct {
	integrations *integrations.Service
	limiter      limit.Limiter
}

// Authenticate returns the caller: the application that sends the request, and the user for whom it acts, if
// there is one. It also returns the headers of the response, even with an error: the headers of CORS, the
// remaining quota and, for an invalid credential, the header WWW-Authenticate. If the quota is exceeded, it
// returns both an error and the caller, so that Done can count the request.
func (a authenticator) Authenticate(
	ctx context.Context,
	e web.AuthRequest,
) (caller integrations.Caller, headers map[string]string, err error) {
	headers = map[string]string{
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": "ETag, Link, Location, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-ID, Idempotency-Replayed, WWW-Authenticate",
	}
	addressKey := "address:" + e.Address

	// Browsers send preflight requests without credentials. They are not counted.
	if e.Preflight {
		status, err := a.limiter.Status(ctx, anonymousQuota, addressKey)
		a.setLimitHeaders(headers, anonymousQuota, status)
		return integrations.Caller{}, headers, err
	}

	caller, authErr := a.authenticate(ctx, e)
	isRefused := fault.KindOf(authErr) == fault.Unauthenticated
	isServerFailure := authErr != nil && !isRefused

	quota, quotaKey := anonymousQuota, addressKey
	if authErr == nil {
		quota, quotaKey = caller.App.Limits().Quota, caller.App.QuotaKey()
	}

	// Spend counts the request; Status only reads the quota. A request that fails because of this server
	// is not counted, but its response has the headers, too. Reading the quota gets new time
	// (statusTimeout), because the time of the request may be used up.
	readQuota := a.limiter.Spend
	if isServerFailure {
		readQuota = a.limiter.Status
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), statusTimeout)
		defer cancel()
	}

	status, err := readQuota(ctx, quota, quotaKey)
	if err != nil {
		return integrations.Caller{}, headers, err
	}

	a.setLimitHeaders(headers, quota, status)

	switch {
	case !status.Allowed && !isServerFailure:
		return caller, headers, overQuota(quota, status)
	case isRefused:
		headers["WWW-Authenticate"] = challenge(e)
	}

	return caller, headers, authErr
}

// Done counts the request, and whether it failed, in the usage of the application, which its developer sees.
func (a authenticator) Done(caller integrations.Caller, status int) {
	isError := status >= http.StatusBadRequest
	a.integrations.Count(caller, isError)
}

// challenge returns the header WWW-Authenticate of a refused request (RFC 6750 §3). It names the scheme of the
// credential that was sent, or both schemes if there was none.
func challenge(e web.AuthRequest) string {
	switch {
	case slices.ContainsFunc(e.Authorization, isBearer):
		return `Bearer realm="locum", error="invalid_token"`
	case len(e.Authorization) > 0: // of a scheme that is not supported
		return `Bearer realm="locum"`
	case len(e.APIKey) > 0:
		return `ApiKey realm="locum"`
	}

	return `Bearer realm="locum", ApiKey realm="locum"`
}

// The errors of invalid credentials.
var (
	errInvalidKey = fault.New(
		fault.Unauthenticated,
		fault.ErrUnauthorized.Code,
		"The API key is not known: it was mistyped, or has been deleted",
	)
	errInvalidToken = fault.New(
		fault.Unauthenticated,
		fault.ErrUnauthorized.Code,
		"The access token is not valid: it has ended, or been withdrawn",
	)
	errKeyInAuthorization = fault.New(
		fault.Unauthenticated,
		fault.ErrUnauthorized.Code,
		"Send an API key as X-API-Key, not as Authorization",
	)
	errRepeatedCredential = fault.New(fault.Unauthenticated, fault.ErrUnauthorized.Code, "Send one API key and one access token at most")
	errDifferentApps      = fault.New(
		fault.Unauthenticated,
		fault.ErrUnauthorized.Code,
		"The API key and the access token are of different applications",
	)
)

// replaceUnauthorized returns invalid, whose message explains what is wrong with the credential, in place of
// an error of the kind Unauthenticated. It returns other errors, such as failures of the database, unchanged.
func replaceUnauthorized(err error, invalid *fault.Error) error {
	if fault.KindOf(err) == fault.Unauthenticated {
		return invalid
	}

	return err
}

// isBearer reports whether the header Authorization is of the scheme Bearer.
func isBearer(authorization string) bool {
	scheme, _, _ := strings.Cut(authorization, " ")
	return strings.EqualFold(scheme, "Bearer")
}

// authenticate returns the caller: an application with an API key, or an application that acts for
// a user with an access token. If the request has both credentials, both must belong to one
// application, and the caller is the caller of the token.
func (a authenticator) authenticate(ctx context.Context, e web.AuthRequest) (integrations.Caller, error) {
	var none integrations.Caller

	hasCredential := len(e.APIKey) > 0 || len(e.Authorization) > 0
	if !hasCredential {
		return none, fault.ErrUnauthorized
	}

	if len(e.APIKey) > 1 || len(e.Authorization) > 1 {
		return none, errRepeatedCredential
	}

	// The callers to whom the key and the token belong. byKey stays empty without a key.
	var byKey, byToken integrations.Caller

	var err error
	if len(e.APIKey) > 0 {
		if byKey, err = a.integrations.AuthenticateKey(ctx, e.APIKey[0]); err != nil {
			return none, replaceUnauthorized(err, errInvalidKey)
		}

		if len(e.Authorization) == 0 {
			return byKey, nil
		}
	}

	_, token, _ := strings.Cut(e.Authorization[0], " ")
	if !isBearer(e.Authorization[0]) {
		return none, fault.ErrUnauthorized
	}

	if byToken, err = a.integrations.AuthenticateToken(ctx, strings.TrimSpace(token)); err != nil {
		if integrations.LooksLikeKey(token) {
			return none, replaceUnauthorized(err, errKeyInAuthorization)
		}

		return none, replaceUnauthorized(err, errInvalidToken)
	}

	if byKey.App.ID != "" && byKey.App.ID != byToken.App.ID {
		return none, errDifferentApps
	}

	return byToken, nil
}

// limitHeaders are the headers that setLimitHeaders sets.
var limitHeaders = []web.Header{
	{
		Name:        "RateLimit-Policy",
		Description: "Quotas of the plan: q requests in w seconds for each window (draft-ietf-httpapi-ratelimit-headers).",
		Example:     `"minute";q=60;w=60,"day";q=10000;w=86400`,
	},
	{
		Name:        "RateLimit",
		Description: "Remaining quota: r requests, and t seconds until the window resets.",
		Example:     `"minute";r=42;t=7,"day";r=9871;t=30211`,
	},
	{
		Name:        "X-RateLimit-Limit",
		Description: "Number of requests that the window with the fewest remaining requests allows.",
		Example:     "60",
	},
	{Name: "X-RateLimit-Remaining", Description: "Number of requests that remain in that window.", Example: "42"},
	{Name: "X-RateLimit-Reset", Description: "When that window resets, in seconds since 1970-01-01 UTC.", Example: "1795296473"},
}

// setLimitHeaders sets the headers with the quota and its status. RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers) describe both windows of the quota, a minute and a day. The older
// X-RateLimit headers describe only one: the window with fewer remaining requests or, if both have the same
// number, the one that resets later.
func (a authenticator) setLimitHeaders(headers map[string]string, q limit.Quota, s limit.QuotaStatus) {
	policy := fmt.Sprintf(`"%s";q=%d;w=60`, limit.MinuteWindow, q.PerMinute)
	remaining := fmt.Sprintf(`"%s";r=%d;t=%d`, limit.MinuteWindow, s.Minute.Remaining, wholeSeconds(s.Minute.Reset))
	tightest, maxRequests := s.Minute, q.PerMinute

	hasDayWindow := q.PerDay > 0
	if hasDayWindow {
		policy += fmt.Sprintf(`,"%s";q=%d;w=86400`, limit.DayWindow, q.PerDay)
		remaining += fmt.Sprintf(`,"%s";r=%d;t=%d`, limit.DayWindow, s.Day.Remaining, wholeSeconds(s.Day.Reset))

		hasFewer := s.Day.Remaining < s.Minute.Remaining
		resetsLater := s.Day.Remaining == s.Minute.Remaining && s.Day.Reset > s.Minute.Reset

		if hasFewer || resetsLater {
			tightest, maxRequests = s.Day, q.PerDay
		}
	}

	headers["RateLimit-Policy"] = policy
	headers["RateLimit"] = remaining
	headers["X-RateLimit-Limit"] = strconv.Itoa(maxRequests)
	headers["X-RateLimit-Remaining"] = strconv.Itoa(tightest.Remaining)

	resetsAt := a.integrations.Clock.Now().Add(tightest.Reset)
	unixSeconds := math.Ceil(float64(resetsAt.UnixMilli()) / 1000) // rounded up: the window has reset by then
	headers["X-RateLimit-Reset"] = strconv.FormatInt(int64(unixSeconds), 10)
}

// wholeSeconds returns the duration in seconds, rounded up.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
