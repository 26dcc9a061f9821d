package developer

import (
	"context"
	"fmt"
	"math"
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

// statusTimeout is the time to read the remaining quota after authentication has failed on
// the server's side.
const statusTimeout = 250 * time.Millisecond

// authenticator authenticates the client, then counts the request for its quota.
type authenticator struct {
	integrations *integrations.Service
	limiter      limit.Limiter
}

// Authenticate implements web.Authenticator.
func (a authenticator) Authenticate(ctx context.Context, e web.AuthRequest) (integrations.Caller, map[string]string, error) {
	headers := map[string]string{
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": "ETag, Link, Location, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-ID, Idempotency-Replayed, WWW-Authenticate",
	}
	if e.Preflight {
		status, err := a.limiter.Status(ctx, anonymousQuota, "address:"+e.Address)
		a.setLimitHeaders(headers, anonymousQuota, status)
		return integrations.Caller{}, headers, err
	}

	caller, refused := a.authenticate(ctx, e)

	quota, key := anonymousQuota, "address:"+e.Address
	if refused == nil {
		quota, key = caller.App.Limits().Quota, caller.App.QuotaKey()
	}

	spend := a.limiter.Spend
	if refused != nil && fault.KindOf(refused) != fault.Unauthenticated {
		spend = a.limiter.Status // a failure of this server: the request is not counted
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), statusTimeout) // the time of the request may be used up
		defer cancel()
	}

	status, err := spend(ctx, quota, key)
	if err != nil {
		return integrations.Caller{}, headers, err
	}

	a.setLimitHeaders(headers, quota, status)

	switch {
	case !status.Allowed && (refused == nil || fault.KindOf(refused) == fault.Unauthenticated):
		return caller, headers, overQuota(quota, status)
	case fault.KindOf(refused) == fault.Unauthenticated:
		headers["WWW-Authenticate"] = challenge(e)
	}

	return caller, headers, refused
}

// Done implements web.Authenticator.
func (a authenticator) Done(caller integrations.Caller, status int) {
	a.integrations.Count(caller, status >= 400)
}

// challenge returns the WWW-Authenticate header for the credentials (RFC 6750 §3).
func challenge(e web.AuthRequest) string {
	switch {
	case slices.ContainsFunc(e.Authorization, isBearer):
		return `Bearer realm="locum", error="invalid_token"`
	case len(e.Authorization) > 0: // of another scheme, for which there is no error code
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

// replaceUnauthorized returns invalid in place of an Unauthenticated error.
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

// authenticate returns the caller. With both a key and a token it is the user of the
// token, and both must belong to one application.
func (a authenticator) authenticate(ctx context.Context, e web.AuthRequest) (integrations.Caller, error) {
	var none integrations.Caller
	if len(e.APIKey)+len(e.Authorization) == 0 {
		return none, fault.ErrUnauthorized
	}

	if len(e.APIKey) > 1 || len(e.Authorization) > 1 {
		return none, errRepeatedCredential
	}

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

// setLimitHeaders sets the headers of draft-ietf-httpapi-ratelimit-headers, and the older
// X-RateLimit headers for the window with fewer remaining calls.
func (a authenticator) setLimitHeaders(headers map[string]string, q limit.Quota, s limit.QuotaStatus) {
	policy := fmt.Sprintf(`"%s";q=%d;w=60`, limit.MinuteWindow, q.PerMinute)
	remaining := fmt.Sprintf(`"%s";r=%d;t=%d`, limit.MinuteWindow, s.Minute.Remaining, seconds(s.Minute.Reset))

	tight, maxRequests := s.Minute, q.PerMinute
	if q.PerDay > 0 {
		policy += fmt.Sprintf(`,"%s";q=%d;w=86400`, limit.DayWindow, q.PerDay)

		remaining += fmt.Sprintf(`,"%s";r=%d;t=%d`, limit.DayWindow, s.Day.Remaining, seconds(s.Day.Reset))
		if s.Day.Remaining < tight.Remaining || s.Day.Remaining == tight.Remaining && s.Day.Reset > tight.Reset {
			tight, maxRequests = s.Day, q.PerDay
		}
	}

	headers["RateLimit-Policy"], headers["RateLimit"] = policy, remaining
	headers["X-RateLimit-Limit"] = strconv.Itoa(maxRequests)
	headers["X-RateLimit-Remaining"] = strconv.Itoa(tight.Remaining)
	resetAfter := a.integrations.Clock.Now().Add(tight.Reset)
	headers["X-RateLimit-Reset"] = strconv.FormatInt(int64(math.Ceil(float64(resetAfter.UnixMilli())/1000)), 10)
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
