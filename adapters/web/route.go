// Package web is what the interfaces of the HTTP server share: the route
// table whose columns are the policy, the binding of requests into structs,
// and the OpenAPI document that both of them imply.
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

// Auth is whether a route wants to know its caller.
type Auth int

// The kinds of authentication.
const (
	None     Auth = iota // a token is not even looked at
	Optional             // without a token the caller is a guest; a bad one is refused
	Required
)

func (a Auth) String() string { return [...]string{"none", "optional", "required"}[a] }

// Who is which kind of account a route serves.
type Who int

// The kinds of caller, for routes with Auth Required.
const (
	Anyone       Who = iota
	Seeker           // a jobseeker's account
	Employer         // a member of an organization
	EmployerSide     // the same, and an employer's account whose organization is closed
)

func (w Who) String() string {
	return [...]string{"anyone", "jobseeker", "employer", "employer"}[w]
}

// Route is one row of the table. A row without a Permission is open to every
// caller of its kind.
type Route struct {
	Method, Path string // the path in Fiber's notation, /api/listings/:id
	Auth         Auth
	Who          Who
	Permission   auth.Permission
	Limit        limit.Rule // per client address, zero for none; Name is filled in from method and path
	// Scope is what a caller of a surface with a Gate must be allowed.
	Scope integrations.Scope
	// Located is for what makes a thing that can then be got below the same path:
	// the answer's Location is the path with the id of its data.
	Located bool
	// Remote is for an operation that calls other systems, or hashes a password,
	// between its transactions: its answer cannot be stored together with its
	// effect, since one transaction around all of it would block others.
	Remote bool
	// Body is the largest body in bytes, zero for the usual one: SmallBody for
	// searches and below /api/auth/, else DefaultBody.
	Body int
	// Search marks a search of listings.
	Search       bool
	Timeout      time.Duration // zero for DefaultTimeout
	Cached       bool          // about listings alone: a guest's answer may be a second old
	Status       int           // of success, zero for 200
	Tag, Summary string        // for the documentation
	// Produces are the media types of an operation that answers with a File.
	Produces []string
	// Errors are the statuses that the operation itself answers with, beside
	// those that follow from the other columns.
	Errors []int
	Op     Operation
	// Seen hears of each success to a GET, also of one from the cache, with what
	// the path's parameters are. It neither waits nor fails.
	Seen func(c Call, path func(name string) string)
}

// BodyLimit is the largest body that the route reads, in bytes.
func (r Route) BodyLimit() int {
	switch {
	case r.Body > 0:
		return r.Body
	case r.Search, strings.HasPrefix(r.Path, "/api/auth/"):
		return SmallBody
	}
	return DefaultBody
}

// TakesBody reports whether the operation reads a body.
func (r Route) TakesBody() bool {
	p := planOf(r.Op.In)
	return len(p.byJSON) > 0 || p.form || p.raw != nil
}

// IdempotencyKey is the header by which a client says that a request must not
// be done twice.
const IdempotencyKey = "Idempotency-Key"

// Idempotent reports whether the route honours that header: it does something,
// for somebody known, and signs nobody in.
func (r Route) Idempotent() bool {
	return r.Method == http.MethodPost && (r.Auth == Required || r.Scope != "") && !strings.HasPrefix(r.Path, "/api/auth/")
}

// What applies where a row is silent.
const (
	DefaultBody = 1 << 20
	SmallBody   = 16 << 10
	// DefaultTimeout leaves room to say so within the 5 s that a hanging
	// database may cost a client.
	DefaultTimeout = 4500 * time.Millisecond
)

// PerQuarterHour is the usual shape of the portal's limits.
func PerQuarterHour(n int) limit.Rule { return limit.Rule{Max: n, Per: 15 * time.Minute} }

// Call is what an operation may know of its request beside the input.
type Call struct {
	Actor     auth.Actor
	IP        string // the client's address behind trusted proxies
	UserAgent string
	Device    string // the cookie that marks the device of an earlier sign-in
	RequestID string
	// Caller is who was let through the surface's Gate.
	Caller integrations.Caller
	// URL is the path with the query, as they were asked for.
	URL string
}

// Operation is a typed handler together with the types that document it.
type Operation struct {
	In, Out reflect.Type
	bind    func(r *Request) (any, error)
	run     func(ctx context.Context, c Call, in any) (any, error)
}

// Op makes an operation of a function. The fields of I say where they come
// from (path, query, header or json tags) and what they must be (validate
// tags); O is the whole body of the answer, usually a Reply. An I with a method
// Refuse may turn the request down before its fields are judged: it is told
// which of them were of a wrong type.
func Op[I, O any](fn func(ctx context.Context, c Call, in I) (O, error)) Operation {
	plan := planOf(reflect.TypeFor[I]())
	return Operation{
		In: reflect.TypeFor[I](), Out: reflect.TypeFor[O](),
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

// Rewording gives the faults of the operation, those of its binding included,
// the words that its interface has for them.
func (o Operation) Rewording(reword func(*fault.Error) *fault.Error) Operation {
	words := func(err error) error {
		var f *fault.Error
		if errors.As(err, &f) {
			return reword(f)
		}
		return err
	}
	bind, run := o.bind, o.run
	o.bind = func(r *Request) (any, error) {
		in, err := bind(r)
		return in, words(err)
	}
	o.run = func(ctx context.Context, c Call, in any) (any, error) {
		out, err := run(ctx, c, in)
		return out, words(err)
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

// Nothing is the input of an operation that takes none.
type Nothing struct{}

// Reply is the body of a success.
type Reply[T any] struct {
	Success bool   `json:"success"`
	Message string `json:"message,omitempty"`
	Data    T      `json:"data"`
}

// OK is a success with data.
func OK[T any](data T, message string) Reply[T] {
	return Reply[T]{Success: true, Message: message, Data: data}
}

// Pending is a Reply whose effect may follow later.
type Pending[T any] struct {
	Reply[T]
	// Accepted is true if the effect follows later. The status is then 202.
	Accepted bool `json:"-"`
}

// StatusCode returns the status of the answer, or 0 for that of the route.
func (p Pending[T]) StatusCode() int {
	if p.Accepted {
		return http.StatusAccepted
	}
	return 0
}

// pending is a Pending of any type.
type pending interface{ StatusCode() int }

// Done is the body of a success that has nothing to show.
type Done struct {
	Success bool   `json:"success"`
	Message string `json:"message" sample:"Saved successfully"`
}

// Said is a success with a message alone.
func Said(message string) Done { return Done{Success: true, Message: message} }

// CSV is a table as the answer to a download. It is sent as it is read.
type CSV struct {
	Name string // of [A-Za-z0-9._-]
	Size int64  // in bytes, -1 if it is not known before the end
	Body io.ReadCloser
}

// Tabular is an answer that comes as JSON or, if it has a table, as that.
type Tabular[T any] struct {
	Reply Reply[T]
	Table *CSV
}

// AsTable is a table in place of the JSON.
func AsTable[T any](table CSV) Tabular[T] { return Tabular[T]{Table: &table} }

// Answer is what is sent.
func (t Tabular[T]) Answer() any {
	if t.Table != nil {
		return *t.Table
	}
	return t.Reply
}

// tabular is a Tabular of any type.
type tabular interface{ Answer() any }

// File is somebody's own file as the answer to a download. What is in it is not
// ours: a browser saves it and neither shows it nor runs it.
type File struct {
	Name      string // as people write names
	MediaType string
	Size      int64
	Body      io.ReadCloser
}

// Disposition is the header that names the file (RFC 6266): in ASCII for those
// that read nothing else, and in full.
func (f File) Disposition() string {
	var plain, full strings.Builder
	for _, r := range f.Name {
		switch {
		case r < ' ' || r == 0x7f || unicode.Is(unicode.Cf, r):
			continue // nothing to be seen, and a direction mark can turn an extension round
		case r > '~' || strings.ContainsRune(`"\%/`, r):
			plain.WriteByte('_')
		default:
			plain.WriteRune(r)
		}
		if r == '/' || r == '\\' {
			r = '_'
		}
		for _, b := range []byte(string(r)) {
			if b < 0x80 && (unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b)) || strings.IndexByte("!#$&+-.^_`|~", b) >= 0) {
				full.WriteByte(b)
			} else {
				fmt.Fprintf(&full, "%%%02X", b)
			}
		}
	}
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, plain.String(), full.String())
}
