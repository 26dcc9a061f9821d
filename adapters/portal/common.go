package portal

import (
	"cmp"
	"context"
	"slices"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// IDPath is the input, or a part of the input, of an operation on the resource with the id in the path.
type IDPath struct {
	ID string `path:"id"`
}

// optional returns a pointer to v, or nil, which is null in JSON, for the zero value.
func optional[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}

	return &v
}

// renameFields returns copies of the fields with other names. names maps old names to new ones. Fields that it does
// not contain keep their names.
func renameFields(fields []fault.Field, names map[string]string) []fault.Field {
	return web.Each(fields, func(f fault.Field) fault.Field {
		return fault.Field{Name: cmp.Or(names[f.Name], f.Name), Message: f.Message}
	})
}

// routesFor returns the routes after setting their tag and their audience, the kind of account that they need.
// Their users must be signed in.
func routesFor(audience web.Audience, tag string, routes []web.Route) []web.Route {
	for i := range routes {
		routes[i].Auth = web.Required
		routes[i].Audience = audience
		routes[i].Tag = tag
	}

	return routes
}

// The following functions return operations for common kinds of routes. They take a method of a service, such as
// Service.MyApp, which is called with the actor: the user who has sent the request. A view is the form in which the
// API represents a value, and the functions that return views convert the values of services.

// answerWith returns an operation that calls do with the input, and responds with the message and a view of the
// result.
func answerWith[I, T, V any](
	do func(ctx context.Context, actor auth.Actor, in I) (T, error),
	view func(T) V,
	message string,
) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in I) (web.Reply[V], error) {
		value, err := do(ctx, c.Actor, in)
		return web.OK(view(value), message), err
	})
}

// byID adapts a function that takes the id of a resource to one that takes an IDPath, for answerWith.
func byID[T any](
	do func(ctx context.Context, actor auth.Actor, id string) (T, error),
) func(ctx context.Context, actor auth.Actor, in IDPath) (T, error) {
	return func(ctx context.Context, actor auth.Actor, in IDPath) (T, error) { return do(ctx, actor, in.ID) }
}

// getOwn returns an operation that responds with a view of a resource of the caller.
func getOwn[T, V any](get func(ctx context.Context, actor auth.Actor) (T, error), view func(T) V) web.Operation {
	return answerWith(func(ctx context.Context, actor auth.Actor, _ web.Nothing) (T, error) { return get(ctx, actor) }, view, "")
}

// getByID returns an operation that responds with a view of the resource of an IDPath.
func getByID[T, V any](get func(ctx context.Context, actor auth.Actor, id string) (T, error), view func(T) V) web.Operation {
	return answerWith(byID(get), view, "")
}

// list returns an operation that responds with a view of one page of a list without filters.
func list[T, V any](get func(ctx context.Context, actor auth.Actor, r page.Request) (T, error), view func(T, web.Paging) V) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in PageInput) (web.Reply[V], error) {
		result, err := get(ctx, c.Actor, in.Request())
		return web.OK(view(result, in.Paging), ""), err
	})
}

// changeOwn returns an operation without input that calls change, and responds with the message.
func changeOwn(change func(ctx context.Context, actor auth.Actor) error, message string) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, _ web.Nothing) (web.Done, error) {
		return web.Message(message), change(ctx, c.Actor)
	})
}

// changeByID returns an operation that calls change with the id of an IDPath, and responds with the message.
func changeByID(change func(ctx context.Context, actor auth.Actor, id string) error, message string) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in IDPath) (web.Done, error) {
		return web.Message(message), change(ctx, c.Actor, in.ID)
	})
}

// Confirmation is embedded in the inputs of sensitive operations, which the user has to confirm with the password.
type Confirmation struct {
	// CurrentPassword is not needed within 10 minutes of a sign-in.
	CurrentPassword string `json:"currentPassword" validate:"max=1024"`
}

// The documentation of operations that need a confirmation. confirmationNeeded continues a sentence about a part of
// the request, needsConfirmation is appended to any summary.
const (
	confirmationNeeded = " needs currentPassword, or a sign-in within the last 10 minutes"
	needsConfirmation  = ". The request" + confirmationNeeded
)

// confirm returns the actor of the call. The actor is confirmed if the sign-in is recent or the password is correct.
// A wrong password is an error; without a password, the service decides whether it needs one.
func (in Confirmation) confirm(ctx context.Context, s *identity.Service, c web.Call) (auth.Actor, error) {
	return s.Confirm(ctx, c.Actor, in.CurrentPassword, clientOf(c))
}

// confirmedOp returns an operation that calls fn with the actor as confirm returns it. The input embeds a
// Confirmation.
func confirmedOp[I interface {
	confirm(ctx context.Context, s *identity.Service, c web.Call) (auth.Actor, error)
}, O any](s *identity.Service, fn func(ctx context.Context, actor auth.Actor, in I) (O, error)) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in I) (out O, err error) {
		actor, err := in.confirm(ctx, s, c)
		if err != nil {
			return out, err
		}

		return fn(ctx, actor, in)
	})
}

// Some operations do one of several things, which the member intent of their body selects. In their inputs, the tag
// intents of a field names the intents that use the field.

// errIntentRequired is the error for a missing intent. It is reported without the other invalid fields, because these
// depend on the intent.
var errIntentRequired = fault.New(fault.Invalid, "intent_required", "Intent is required")

// lacksIntent reports whether the fault is about an input without its intent.
func lacksIntent(f *fault.Error) bool {
	return f.Code == fault.ErrInvalid.Code && slices.Contains(f.Fields, fault.Field{Name: "intent", Message: "is required"})
}

// PageInput is the input of an operation that returns a page of a list without filters.
type PageInput struct{ web.Paging }

// Pagination describes a page of a list: its number and size, and the total of the list.
type Pagination struct {
	Total      int `json:"total"`
	Page       int `json:"page"`
	Limit      int `json:"limit"`
	TotalPages int `json:"totalPages"`
}

// SeekerPagination describes a page of a list of jobseekers, whose responses have two more members.
type SeekerPagination struct {
	Pagination
	HasNext bool `json:"hasNext"`
	HasPrev bool `json:"hasPrev"`
}

// Next is the cursor of the next page, empty on the last one.
type Next struct {
	NextCursor string `json:"nextCursor,omitempty"`
}

// Beyond is the part of a page that only long lists need. Items beyond page.MaxExact are not counted. Only the
// cursor of the next page leads to them.
type Beyond struct {
	TotalIsEstimate bool `json:"totalIsEstimate,omitempty"`
	Next
}

// Paged is embedded in the view of a page of a list. It describes the page, and has the cursor of the next page.
type Paged struct {
	Pagination Pagination `json:"pagination"`
	Beyond
}

// SeekerPaged is Paged for lists of jobseekers.
type SeekerPaged struct {
	Pagination SeekerPagination `json:"pagination"`
	Beyond
}

// The following functions describe the page r of a list, which was requested with p.

func paginate[T any](r page.Result[T], p web.Paging) Pagination {
	totalPages := (r.Total + p.Limit - 1) / p.Limit // rounded up
	return Pagination{Total: r.Total, Page: p.Page, Limit: p.Limit, TotalPages: totalPages}
}

func seekerPagination[T any](r page.Result[T], p web.Paging) SeekerPagination {
	return SeekerPagination{
		Pagination: paginate(r, p),
		HasNext:    r.NextCursor != "",
		HasPrev:    p.Page > 1 || p.Cursor != "", // a page with a cursor follows another one
	}
}

func beyond[T any](r page.Result[T]) Beyond {
	return Beyond{TotalIsEstimate: r.TotalIsEstimate, Next: Next{r.NextCursor}}
}

func paged[T any](r page.Result[T], p web.Paging) Paged {
	return Paged{paginate(r, p), beyond(r)}
}

func seekerPaged[T any](r page.Result[T], p web.Paging) SeekerPaged {
	return SeekerPaged{seekerPagination(r, p), beyond(r)}
}
