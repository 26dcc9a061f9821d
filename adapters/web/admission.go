package web

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
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

// Admission executes the operations of routes for the clients that may call them. Every transport
// that serves routes, such as the HTTP server and MCP, uses it, so that all transports apply the same
// rules.
type Admission struct {
	Identity    *identity.Service
	Limiter     limit.Limiter
	Idempotency *idempotency.Runner
	Tracer      trace.Tracer // nil for none
}

// Incoming is a request for a route, as a transport has received it.
type Incoming struct {
	// Request has the values that Execute binds to the input of the operation. Execute sets its
	// Body.
	Request
	// Headers returns the values of a header, in the order of their lines.
	Headers func(name string) []string
	// Address is the address of the client, behind trusted proxies.
	Address string
	// URL is the path with the query, as requested. URLPath is the path alone.
	URL, URLPath string
	RequestID    string
	// Caller is the application that the Authenticator of the API has determined. It is the zero value
	// for APIs without an Authenticator.
	Caller integrations.Caller
	// ReadBody reads the body, of at most limit bytes. client is the id of the user, or the
	// address of a guest: large bodies are limited per client. ReadBody is nil for requests without
	// a body.
	ReadBody func(client string, limit int) ([]byte, error)
}

// maxUserAgent is the maximum length of Call.UserAgent in bytes.
const maxUserAgent = 512

// Call returns the Call of the request. Its Actor is not set, because the request is not
// authenticated yet.
func (in Incoming) Call() Call {
	userAgent := in.Header("User-Agent")

	return Call{
		IP:        in.Address,
		UserAgent: userAgent[:min(len(userAgent), maxUserAgent)],
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

// Execute admits a request to a route of the API and executes its operation:
//
//   - it counts the request towards the rate limit of the client's address;
//   - it authenticates the client, and checks that the route serves it;
//   - it reads and validates the input;
//   - it executes the operation, at most once for each Idempotency-Key.
//
// Callers render an error with API.RenderError. They also add the headers of the answer, which Execute
// returns even with an error. A panic of the operation is returned as an error. The call has the actor
// if the request was authenticated.
func (a Admission) Execute(ctx context.Context, api API, route Route, in Incoming) (call Call, answer Answer, err error) {
	timeout := cmp.Or(route.Timeout, DefaultTimeout)

	// The steps up to the reading of the body have a timeout of their own, because a slow client may
	// need a long time to send the body.
	admissionCtx, cancelAdmission := context.WithTimeout(ctx, timeout)
	defer cancelAdmission()

	if a.Tracer != nil {
		var endSpan func(error)

		admissionCtx, endSpan = a.Tracer.Start(admissionCtx, route.Method+" "+route.Path, in.Header("Traceparent"))
		defer func() { endSpan(err) }()
	}

	defer func() {
		if p := recover(); p != nil {
			err = PanicError(p)
		}
	}()

	admissionCtx = audit.WithAddress(admissionCtx, in.Address)

	// call is a result of Execute, so that it has the actor even if the operation panics.
	call = in.Call()

	answer.Headers, err = a.admit(admissionCtx, route, in, &call)
	if err != nil {
		return call, answer, err
	}

	if in.ReadBody != nil {
		client := cmp.Or(call.Caller.UserID, call.Actor.UserID, call.IP)

		in.Body, err = in.ReadBody(client, route.BodyLimit())
		if err != nil {
			return call, answer, err
		}
	}

	// The timeout of the operation starts when the body has been read.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(admissionCtx), timeout)
	defer cancel()

	isGuest := call.Actor.Guest() && call.Caller.UserID == ""
	showsPublicListings := route.Cached || route.Search

	if isGuest && showsPublicListings {
		ctx = tx.AllowStale(ctx, MaxStale)
	}

	if in.Header("Content-Encoding") != "" {
		return call, answer, fault.InvalidField("Content-Encoding", "is not supported; send the body as it is")
	}

	run := func(ctx context.Context) (Answer, error) { return runOperation(ctx, route, call, in.Request) }

	answer, err = a.withIdempotency(ctx, api, route, call, in, run)
	if err == nil {
		setLocation(route, in.URLPath, &answer)
	}

	return call, answer, err
}

// admit counts the request towards the rate limit, authenticates its user, whom it sets in call, and
// checks the scope of the calling application. It returns the headers of the response to an error.
func (a Admission) admit(ctx context.Context, route Route, in Incoming, call *Call) (headers map[string]string, err error) {
	if err := a.limit(ctx, route, in.Address); err != nil {
		return nil, err
	}

	if route.Auth != None {
		call.Actor, err = a.authenticate(ctx, in.Header("Authorization"), route)
		if err != nil {
			return nil, err
		}
	}

	if route.Scope != "" && !call.Caller.May(route.Scope) {
		challenge := `Bearer realm="locum", error="insufficient_scope", scope="` + string(route.Scope) + `"`
		return map[string]string{"WWW-Authenticate": challenge}, ErrScope
	}

	return nil, nil
}

// limit counts the request towards the rate limit of the route.
func (a Admission) limit(ctx context.Context, r Route, address string) error {
	if r.Limit.Max == 0 {
		return nil
	}

	rule := r.Limit
	rule.Name = r.Method + " " + r.Path

	decision, err := a.Limiter.Take(ctx, rule, LimitKey(address))
	if err == nil && !decision.Allowed {
		return fault.ErrRateLimit.WithRetryAfter(decision.RetryAfter)
	}

	return err
}

// authenticate returns the actor of an Authorization header. It returns an error if the route
// does not serve the actor. Without a header, the actor of a route with Auth Optional is a guest.
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

// Authorize returns an error unless the actor is in the audience of the route and has its
// permission.
func (r Route) Authorize(actor auth.Actor) error {
	isForEmployers := r.Audience == Employer || r.Audience == EmployerSide

	switch {
	case actor.EnrollmentRequired && isForEmployers: // the organization requires two-step sign-in
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

// runOperation executes the operation of the route and encodes its result: a CSV or File as a
// stream, other types as JSON.
func runOperation(ctx context.Context, r Route, call Call, in Request) (Answer, error) {
	if r.Method == http.MethodGet {
		in.Body = nil // the body of a GET has no meaning, and is ignored
	}

	result, err := r.Op.Handle(ctx, call, &in)
	if err != nil {
		return Answer{}, err
	}

	answer := Answer{Status: r.status(), Headers: map[string]string{}}
	if withHeaders, ok := result.(interface{ Headers() map[string]string }); ok {
		maps.Copy(answer.Headers, withHeaders.Headers())
	}

	if withFormats, ok := result.(multiFormat); ok {
		result = withFormats.Answer()
	}

	switch body := result.(type) {
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
		if reply, ok := result.(pending); ok {
			answer.Status = cmp.Or(reply.StatusCode(), answer.Status)
		}

		answer.Headers["Content-Type"] = JSONType
		answer.Body, err = json.Marshal(result)
	}

	return answer, err
}

// setLocation sets the header Location for routes with SetsLocation. Its value is the path of the
// request, followed by the id of the created resource, which is in the answer.
func setLocation(r Route, path string, answer *Answer) {
	if !r.SetsLocation {
		return
	}

	var created struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}

	err := json.Unmarshal(answer.Body, &created)
	if err == nil && created.Data.ID != "" {
		answer.Headers["Location"] = path + "/" + created.Data.ID
	}
}

// LimitKey returns the key under which the requests of an address are counted. For
// IPv6 it is the /64, whose addresses usually belong to one client.
func LimitKey(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Is4() {
		return address
	}

	network, _ := addr.Prefix(64) // cannot fail for an IPv6 address

	return network.String()
}

// DeviceCookieName is the cookie that marks a device on which an account has
// signed in.
const DeviceCookieName = "locum_device"

// deviceCookieAge is the time for which browsers keep the cookie of a device: 180 days.
const deviceCookieAge = 180 * 24 * time.Hour

// DeviceCookie returns the value of the header Set-Cookie for a device token. The cookie is Secure
// if the public URL is https.
func DeviceCookie(token, publicURL string) string {
	maxAge := strconv.Itoa(int(deviceCookieAge.Seconds()))

	cookie := DeviceCookieName + "=" + token + "; Path=/; Max-Age=" + maxAge + "; HttpOnly; SameSite=Lax"
	if strings.HasPrefix(publicURL, "https:") {
		cookie += "; Secure"
	}

	return cookie
}
