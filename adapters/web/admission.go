package web

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

// Admission executes the operations of routes for the clients that may call them.
// Every transport that serves routes uses it, so that all apply the same rules.
type Admission struct {
	Identity    *identity.Service
	Limiter     limit.Limiter
	Idempotency *idempotency.Runner
	Tracer      trace.Tracer // nil for none
}

// Incoming is a request for a route, as a transport has received it.
type Incoming struct {
	// Request is the input of the binding. Execute sets its Body.
	Request
	// Headers returns the values of a header, in the order of their lines.
	Headers func(name string) []string
	// Address is the address of the client, behind trusted proxies.
	Address string
	// URL is the path with the query, as requested. URLPath is the path alone.
	URL, URLPath string
	RequestID    string
	// Caller is the result of the API's Authenticator.
	Caller integrations.Caller
	// ReadBody reads the body, of at most limit bytes. client is the id of the user, or the
	// address of a guest. ReadBody is nil for requests without a body.
	ReadBody func(client string, limit int) ([]byte, error)
}

// Call returns the Call of the request, without its actor.
func (in Incoming) Call() Call {
	userAgent := in.Header("User-Agent")

	return Call{
		IP:        in.Address,
		UserAgent: userAgent[:min(len(userAgent), 512)],
		Device:    in.Cookie(DeviceCookieName),
		RequestID: in.RequestID,
		URL:       in.URL,
		Caller:    in.Caller,
	}
}

// Answer is the response to a request.
type Answer struct {
	Status  int
	Headers map[string]string
	Body    []byte
	// Stream replaces Body if it is not nil. It has Size bytes, or an unknown length if Size
	// is -1. The transport closes it.
	Stream io.ReadCloser
	Size   int64
}

// JSONType is the media type of JSON.
const JSONType = "application/json; charset=utf-8"

// MaxStale is the maximum age of listings that guests read.
const MaxStale = time.Second

// Execute admits a request to a route of the API and executes its operation: it
// limits the client's address, authenticates and authorizes the client, reads and
// validates the input, and executes the operation at most once for each
// Idempotency-Key. API.RenderError turns an error into a response, to which the
// headers that are returned with the error are added. A panic is returned as an error.
func (a Admission) Execute(ctx context.Context, api API, route Route, in Incoming) (call Call, answer Answer, err error) {
	timeout := cmp.Or(route.Timeout, DefaultTimeout)

	admission, cancelAdmission := context.WithTimeout(ctx, timeout)
	defer cancelAdmission()

	if a.Tracer != nil {
		var end func(error)

		admission, end = a.Tracer.Start(admission, route.Method+" "+route.Path, in.Header("Traceparent"))
		defer func() { end(err) }()
	}

	defer func() {
		if p := recover(); p != nil {
			err = PanicError(p)
		}
	}()

	admission = audit.WithAddress(admission, in.Address)

	call = in.Call()
	if err := a.limit(admission, route, in.Address); err != nil {
		return call, answer, err
	}

	if route.Auth != None {
		if call.Actor, err = a.authenticate(admission, in.Header("Authorization"), route); err != nil {
			return call, answer, err
		}
	}

	if route.Scope != "" && !call.Caller.May(route.Scope) {
		answer.Headers = map[string]string{
			"WWW-Authenticate": `Bearer realm="locum", error="insufficient_scope", scope="` + string(route.Scope) + `"`,
		}

		return call, answer, ErrScope
	}

	if in.ReadBody != nil {
		if in.Body, err = in.ReadBody(cmp.Or(call.Caller.UserID, call.Actor.UserID, call.IP), route.BodyLimit()); err != nil {
			return call, answer, err
		}
	}

	// The timeout of the operation starts when the body has been read.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(admission), timeout)
	defer cancel()

	if (route.Cached || route.Search) && call.Actor.Guest() && call.Caller.UserID == "" {
		ctx = tx.AllowStale(ctx, MaxStale)
	}

	if in.Header("Content-Encoding") != "" {
		return call, answer, fault.InvalidField("Content-Encoding", "is not supported; send the body as it is")
	}

	answer, err = a.withIdempotency(ctx, api, route, call, in,
		func(ctx context.Context) (Answer, error) { return runOperation(ctx, route, call, in.Request) })
	if err == nil {
		setLocation(route, in.URLPath, &answer)
	}

	return call, answer, err
}

// limit counts the request towards the rate limit of the route.
func (a Admission) limit(ctx context.Context, r Route, address string) error {
	if r.Limit.Max == 0 {
		return nil
	}

	rule := r.Limit
	rule.Name = r.Method + " " + r.Path

	d, err := a.Limiter.Take(ctx, rule, LimitKey(address))
	if err == nil && !d.Allowed {
		return fault.ErrRateLimit.WithRetryAfter(d.RetryAfter)
	}

	return err
}

// authenticate returns the actor of an Authorization header, if it is in the audience
// of the route.
func (a Admission) authenticate(ctx context.Context, header string, route Route) (auth.Actor, error) {
	if header == "" {
		if route.Auth == Optional {
			return auth.Actor{}, nil
		}

		return auth.Actor{}, fault.ErrUnauthorized
	}

	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return auth.Actor{}, fault.ErrUnauthorized
	}

	actor, err := a.Identity.Authenticate(ctx, strings.TrimSpace(token))
	if err != nil {
		return auth.Actor{}, err
	}

	return actor, route.Authorize(actor)
}

// Authorize returns an error unless the route serves the actor.
func (r Route) Authorize(actor auth.Actor) error {
	switch {
	case actor.EnrollmentRequired && (r.Audience == Employer || r.Audience == EmployerSide):
		return auth.ErrEnrollmentRequired
	case r.Audience == Seeker && !actor.Seeker,
		r.Audience == Employer && actor.OrganizationID == "",
		r.Audience == EmployerSide && actor.Role == auth.Jobseeker,
		r.Audience == Moderator && !actor.Moderator,
		r.Permission != "" && !actor.May(r.Permission):
		return fault.ErrForbidden
	}

	return nil
}

// runOperation executes the operation.
func runOperation(ctx context.Context, r Route, call Call, in Request) (Answer, error) {
	if r.Method == http.MethodGet {
		in.Body = nil
	}

	out, err := r.Op.Handle(ctx, call, &in)
	if err != nil {
		return Answer{}, err
	}

	answer := Answer{Status: r.status(), Headers: map[string]string{}}
	if h, ok := out.(interface{ Headers() map[string]string }); ok {
		maps.Copy(answer.Headers, h.Headers())
	}

	if either, ok := out.(multiFormat); ok {
		out = either.Answer()
	}

	switch body := out.(type) {
	case CSV:
		answer.Headers["Content-Type"] = csvfile.MediaType
		answer.Headers["Content-Disposition"] = `attachment; filename="` + body.Name + `"`
		answer.Stream, answer.Size = body.Body, body.Size
	case File:
		answer.Headers["Content-Type"] = body.MediaType
		answer.Headers["Content-Disposition"] = body.Disposition()
		answer.Headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
		answer.Stream, answer.Size = body.Body, body.Size
	default:
		if p, ok := out.(pending); ok {
			answer.Status = cmp.Or(p.StatusCode(), answer.Status)
		}

		answer.Headers["Content-Type"] = JSONType
		answer.Body, err = json.Marshal(out)
	}

	return answer, err
}

// setLocation sets the header Location to the path of the created resource.
func setLocation(r Route, path string, answer *Answer) {
	var created struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if r.SetsLocation && json.Unmarshal(answer.Body, &created) == nil && created.Data.ID != "" {
		answer.Headers["Location"] = path + "/" + created.Data.ID
	}
}

// LimitKey returns the key under which the requests of an address are counted. For
// IPv6 it is the /64, whose addresses usually belong to one client.
func LimitKey(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is4() {
		return address
	}

	p, _ := a.Prefix(64) // cannot fail for an IPv6 address

	return p.String()
}

// DeviceCookieName is the cookie that marks a device on which an account has
// signed in.
const DeviceCookieName = "locum_device"

// DeviceCookie returns the Set-Cookie header value for a device token, which
// browsers keep for 180 days.
func DeviceCookie(token, publicURL string) string {
	cookie := DeviceCookieName + "=" + token + "; Path=/; Max-Age=15552000; HttpOnly; SameSite=Lax"
	if strings.HasPrefix(publicURL, "https:") {
		cookie += "; Secure"
	}

	return cookie
}
