// Package web defines HTTP APIs independently of the server that serves them. An API is a table of
// routes. The fields of a Route say who may call it, how often, and with what body. The package
// checks requests against these fields, sets the fields of Go structs from requests (binding), and
// generates the OpenAPI document from the routes and the structs.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/modules/integrations"
)

// Auth states whether a route authenticates its caller.
type Auth int

// The kinds of authentication.
const (
	None     Auth = iota // a token is ignored
	Optional             // without a token the caller is a guest; an invalid one is an error
	Required
)

// String returns the name of the kind, for the documentation.
func (a Auth) String() string { return [...]string{"none", "optional", "required"}[a] }

// Audience is the kind of account that a route serves.
type Audience int

// The audiences of routes with Auth Required.
const (
	Anyone       Audience = iota // every account
	Seeker                       // a jobseeker's account
	Employer                     // a member of an organization
	EmployerSide                 // Employer, and employers whose organization is closed
	Moderator                    // a moderator of the service
)

// String returns the kind of account, for the documentation. EmployerSide has the name of Employer.
func (a Audience) String() string {
	return [...]string{"anyone", "jobseeker", "employer", "employer", "moderator"}[a]
}

// Route is one row of the route table of an API.
type Route struct {
	Method   string
	Path     string // in Fiber's notation: /api/listings/:id
	Auth     Auth
	Audience Audience
	// Permission is what a member of an organization must be allowed to do. A route without a
	// Permission is open to its whole Audience.
	Permission auth.Permission
	// Limit is the rate limit of each client address, zero for none. Its Name is not set here: it is
	// filled in from the method and the path.
	Limit limit.Rule
	// Scope is the OAuth scope that a caller of an API with an Authenticator needs.
	Scope integrations.Scope
	// SetsLocation is set for operations that create a resource below the same path: the
	// header Location of the response is the path with the id in its data.
	SetsLocation bool
	// Remote is set for operations with a slow step: they call another system or hash a password.
	//
	// It decides in which transaction the response to a request with an Idempotency-Key is stored. For
	// most operations, it is one transaction around the whole operation. Such a transaction would hold
	// locks during a slow step. A Remote operation therefore uses transactions of its own, before and
	// after the slow step.
	Remote bool
	// RemoteIf reports whether an operation is Remote for a given body. If RemoteIf is nil,
	// Remote applies to all bodies.
	RemoteIf func(body []byte) bool
	// Body is the maximum size of the body in bytes. Zero selects a default: SmallBody for
	// searches and for paths below /api/auth/, and DefaultBody for all other routes.
	Body int
	// Search marks a search of listings.
	Search  bool
	Timeout time.Duration // zero for DefaultTimeout
	Cached  bool          // responses to guests may be up to MaxStale old; only for listings
	Status  int           // of a successful response, zero for 200
	// Tag is the heading under which the documentation lists the operation, Summary its title.
	Tag, Summary string
	// Produces are the media types of an operation that returns a File.
	Produces []string
	// Errors are the error statuses of the operation itself, in addition to those
	// that follow from the other fields, such as 429 from Limit.
	Errors []int
	// Op is the operation that handles the requests.
	Op Operation
	// OnRead is called after each successful GET, including responses from the cache. path
	// returns a parameter of the path. OnRead must not block.
	OnRead func(c Call, path func(name string) string)
}

// BodyLimit returns the maximum size of the body in bytes.
func (r Route) BodyLimit() int {
	switch {
	case r.Body > 0:
		return r.Body
	case r.Search, strings.HasPrefix(r.Path, "/api/auth/"):
		return SmallBody
	}

	return DefaultBody
}

// TakesBody reports whether the operation reads a body: JSON, a form or the raw bytes.
func (r Route) TakesBody() bool {
	plan := planOf(r.Op.In)
	return len(plan.byJSON) > 0 || plan.form || plan.raw != nil
}

// IdempotencyKey is the header with which a client marks a request that must not
// be executed twice.
const IdempotencyKey = "Idempotency-Key"

// Idempotent reports whether the route supports IdempotencyKey: POST requests of
// authenticated callers, except those below /api/auth/.
func (r Route) Idempotent() bool {
	isAuthenticated := r.Auth == Required || r.Scope != ""
	return r.Method == http.MethodPost && isAuthenticated && !strings.HasPrefix(r.Path, "/api/auth/")
}

// The defaults of Route.
const (
	DefaultBody = 1 << 20
	SmallBody   = 16 << 10
	// DefaultTimeout leaves time for the error response within the 5 s that a
	// request may take while the database hangs.
	DefaultTimeout = 4500 * time.Millisecond
)

// PerQuarterHour returns a limit of n requests in 15 minutes.
func PerQuarterHour(n int) limit.Rule { return limit.Rule{Max: n, Per: 15 * time.Minute} }

// Call is the context of a request: what an operation gets in addition to its
// input.
type Call struct {
	Actor     auth.Actor
	IP        string // the client's address behind trusted proxies
	UserAgent string
	Device    string // the cookie that marks the device of an earlier sign-in
	RequestID string
	// Caller is the result of the API's Authenticator.
	Caller integrations.Caller
	// URL is the path with the query, as requested.
	URL string
}

// Operation is a handler of requests, with the types of its input and its result. The types determine
// how requests are bound, and what the documentation says.
type Operation struct {
	In, Out reflect.Type
	// bind returns a pointer to an input of type In with the values of the request.
	bind func(r *Request) (any, error)
	// run calls the handler with the input that bind returned.
	run func(ctx context.Context, c Call, in any) (any, error)
}

// Op returns an operation that calls fn. The tags of the fields of I are their
// sources (path, query, header or json) and their rules (validate). O is the whole
// body of the response, usually a Reply.
func Op[I, O any](fn func(ctx context.Context, c Call, in I) (O, error)) Operation {
	plan := planOf(reflect.TypeFor[I]())

	return Operation{
		In:  reflect.TypeFor[I](),
		Out: reflect.TypeFor[O](),
		bind: func(r *Request) (any, error) {
			in := new(I)
			if err := plan.bind(r, reflect.ValueOf(in).Elem()); err != nil {
				return nil, err
			}

			return in, nil
		},
		run: func(ctx context.Context, c Call, in any) (any, error) { return fn(ctx, c, *in.(*I)) },
	}
}

// MapFaults returns an operation like o whose faults are replaced: it calls fn with each fault and returns
// the result in its place. A fault is an error for clients. Faults of the binding and of the handler are
// replaced. All other errors are returned unchanged.
func (o Operation) MapFaults(fn func(*fault.Error) *fault.Error) Operation {
	mapFault := func(err error) error {
		var f *fault.Error
		if errors.As(err, &f) {
			return fn(f)
		}

		return err
	}

	bind, run := o.bind, o.run
	o.bind = func(r *Request) (any, error) {
		in, err := bind(r)
		return in, mapFault(err)
	}

	o.run = func(ctx context.Context, c Call, in any) (any, error) {
		result, err := run(ctx, c, in)
		return result, mapFault(err)
	}

	return o
}

// Handle binds the request and runs the operation.
func (o Operation) Handle(ctx context.Context, c Call, r *Request) (any, error) {
	in, err := o.bind(r)
	if err != nil {
		return nil, err
	}

	return o.run(ctx, c, in)
}

// Check binds and validates the request without running the operation.
func (o Operation) Check(r *Request) error {
	_, err := o.bind(r)
	return err
}

// Nothing is the input of an operation without input.
type Nothing struct{}

// Reply is the body of a successful response.
type Reply[T any] struct {
	Success bool   `json:"success"`
	Message string `json:"message,omitempty"`
	Data    T      `json:"data"`
}

// OK returns a Reply with data.
func OK[T any](data T, message string) Reply[T] {
	return Reply[T]{Success: true, Message: message, Data: data}
}

// Pending is a Reply to a request whose effect may follow later, such as a payment.
type Pending[T any] struct {
	Reply[T]
	// Accepted is true if the effect follows later. The status is then 202.
	Accepted bool `json:"-"`
}

// StatusCode returns the status of the response, or 0 for the default of the route.
func (p Pending[T]) StatusCode() int {
	if p.Accepted {
		return http.StatusAccepted
	}

	return 0
}

// pending is implemented by Pending of all types.
type pending interface{ StatusCode() int }

// Done is the body of a successful response without data. Message creates it.
type Done struct {
	Success bool   `json:"success"`
	Message string `json:"message" sample:"Saved successfully"`
}

// Message returns a Done with the message.
func Message(message string) Done { return Done{Success: true, Message: message} }

// CSV is a table to download. It is streamed.
type CSV struct {
	Name string // of the file; it may contain only the characters [A-Za-z0-9._-], which need no encoding
	Size int64  // in bytes, -1 if unknown
	Body io.ReadCloser
}

// MultiFormat is a response that is CSV if Table is set, and JSON otherwise.
type MultiFormat[T any] struct {
	Reply Reply[T]
	Table *CSV
}

// AsTable returns a MultiFormat as CSV.
func AsTable[T any](table CSV) MultiFormat[T] { return MultiFormat[T]{Table: &table} }

// Answer returns the Table, if there is one, or the Reply.
func (t MultiFormat[T]) Answer() any {
	if t.Table != nil {
		return *t.Table
	}

	return t.Reply
}

// multiFormat is implemented by MultiFormat of all types.
type multiFormat interface{ Answer() any }

// File is a user's file to download. Its content is not trusted: it is served so
// that browsers save it and neither display nor execute it.
type File struct {
	Name      string // any Unicode text
	MediaType string
	Size      int64
	Body      io.ReadCloser
}

// Disposition returns the value of the header Content-Disposition (RFC 6266). It has the name
// twice: in ASCII for old clients, and in UTF-8 with percent-encoding.
func (f File) Disposition() string {
	var ascii, encoded strings.Builder
	for _, r := range f.Name {
		// Omit invisible characters: a direction mark could disguise the file extension.
		isInvisible := r < ' ' || r == 0x7f || unicode.Is(unicode.Cf, r)
		if isInvisible {
			continue
		}

		isPlainASCII := r <= '~' && !strings.ContainsRune(`"\%/`, r)
		if isPlainASCII {
			ascii.WriteRune(r)
		} else {
			ascii.WriteByte('_')
		}

		if r == '/' || r == '\\' {
			r = '_' // the file must not leave the folder of downloads
		}

		for _, b := range []byte(string(r)) {
			if isAttributeChar(b) {
				encoded.WriteByte(b)
			} else {
				fmt.Fprintf(&encoded, "%%%02X", b)
			}
		}
	}

	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, ascii.String(), encoded.String())
}

// isAttributeChar reports whether an encoded file name may contain the byte as it is (attr-char in
// RFC 8187 §3.2.1).
func isAttributeChar(b byte) bool {
	isLetter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	isDigit := '0' <= b && b <= '9'

	return isLetter || isDigit || strings.IndexByte("!#$&+-.^_`|~", b) >= 0
}
