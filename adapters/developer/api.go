// Package developer defines the developer API, with which programs search jobs and apply
// in the name of users. Developers register such a program as an application (integrations.App). In this
// API, "application" alone stands for a job application.
package developer

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/integrations"
)

// Version is the version of the API. The changelog guide lists its changes.
const Version = "1.2.0"

// API returns the developer API with all of its routes.
func API(s adapters.Services, publicURL string) web.API {
	renderer := problemRenderer{publicURL: publicURL}

	return web.API{
		Name:    "developer",
		Prefix:  "/api/v1",
		Aliases: []string{"/v1"},
		Title:   "locum developer interface",
		Version: Version,
		Description: "Jobs in healthcare for other programs: search them, apply in a user's name, follow applications. " +
			"The same under /api/v1 and /v1.\n\n" +
			"Within version 1, members and parameters are added and none is removed: ignore unknown members. " +
			"Query parameters that an operation does not know are ignored too, and not refused, so that a misspelt filter filters nothing.",
		Authenticator: authenticator{s.Integrations, s.Limiter},
		CachePolicy:   web.CachePolicy{CacheControl: "private, max-age=0, must-revalidate", Vary: "Authorization, X-API-Key"},
		Routes:        slices.Concat(jobRoutes(s, publicURL), applicationRoutes(s, publicURL)),
		Headers:       limitHeaders,
		Webhooks:      webhooks(publicURL),
		Fault:         renderer.render,
		FaultBody:     Problem{},
		Example:       example,
		Problems:      Explained,
	}
}

// Problem is the body of every error (RFC 9457).
type Problem struct {
	Type      string        `json:"type" sample:"https://jobs.example.org/problems/invalid_parameters"`
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Detail    string        `json:"detail"`
	Instance  string        `json:"instance"`
	Code      string        `json:"code"`
	RequestID string        `json:"request_id"`
	Errors    []fault.Field `json:"errors"`
	// ViolatedPolicies are the exceeded windows of the plan, for a 429.
	ViolatedPolicies []string `json:"violated-policies,omitempty"`
}

// ForRequest returns the problem with the path and the id of the request.
func (p Problem) ForRequest(path, requestID string) any {
	p.Instance = path
	p.RequestID = requestID
	return p
}

// MediaType returns the media type of problems.
func (Problem) MediaType() string { return "application/problem+json" }

// quotaExceeded is the problem type for an exceeded quota that the draft of the RateLimit
// headers registers.
const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

// problemRenderer renders faults, the errors for clients, as problems. The type of a problem is the URL of
// the page that explains its code.
type problemRenderer struct{ publicURL string }

// render returns the status and the body of the response to a fault. The title is the same for all faults
// with the code. The detail describes this fault. It names the first invalid field, or the exceeded
// windows of the quota (a minute or a day).
func (r problemRenderer) render(f *fault.Error) (status int, body any) {
	status = web.StatusOf(f)

	problem := Problem{
		Type:   "about:blank",
		Title:  f.Message,
		Status: status,
		Detail: f.Message,
		Code:   f.Code,
		Errors: append([]fault.Field{}, f.Fields...),
	}
	if explained, ok := Explained[f.Code]; ok {
		problem.Type = r.publicURL + "/problems/" + f.Code
		problem.Title = explained.Title
	}

	// The faults of invalid credentials have the same code as fault.ErrUnauthorized, but messages of their
	// own, which explain what is wrong. Only the general message is replaced by instructions.
	lacksCredential := f.Code == fault.ErrUnauthorized.Code && f.Message == fault.ErrUnauthorized.Message

	switch {
	case f.Code == fault.ErrRateLimit.Code:
		problem.Type = quotaExceeded

		// overQuota stores the exceeded windows as fields. They are not errors of the input.
		problem.Errors = []fault.Field{}

		var usedQuotas []string
		for _, window := range f.Fields {
			problem.ViolatedPolicies = append(problem.ViolatedPolicies, window.Name)
			usedQuotas = append(usedQuotas, window.Message)
		}

		problem.Detail = fmt.Sprintf("%s are used up; the next is let through in %d s",
			strings.Join(usedQuotas, " and "), wholeSeconds(f.RetryAfter))
	case len(f.Fields) > 0:
		problem.Detail = f.Fields[0].Name + " " + f.Fields[0].Message
	case lacksCredential:
		problem.Detail = "Send an API key as X-API-Key, or an access token as Authorization: Bearer"
	}

	return status, problem
}

// example returns an example fault of the operation with the status, for the documentation. It returns nil
// if the general example of the status is suitable.
func example(r web.Route, status int) *fault.Error {
	appliesForJob := r.Scope == integrations.ApplicationsWrite
	switch {
	case status == http.StatusForbidden:
		return web.ErrScope
	case status == http.StatusNotFound && (appliesForJob || r.Scope == integrations.JobsRead):
		return errJobNotFound
	case status == http.StatusNotFound:
		return hiring.ErrNotFound
	case status == http.StatusConflict && appliesForJob:
		return hiring.ErrAlreadyApplied
	case status == http.StatusTooManyRequests:
		plan := integrations.Plans()[0] // the free plan

		return overQuota(
			limit.Quota{PerMinute: plan.PerMinute, PerDay: plan.PerDay},
			limit.QuotaStatus{Violated: []string{limit.MinuteWindow}, RetryAfter: 12 * time.Second},
		)
	}

	return nil
}

// overQuota returns the fault of a request over the quota. It has a field for each exceeded window, with
// the name of the window and the maximum number of requests as its message.
func overQuota(q limit.Quota, s limit.QuotaStatus) *fault.Error {
	calls := map[string]string{
		limit.MinuteWindow: fmt.Sprintf("%d calls a minute", q.PerMinute),
		limit.DayWindow:    fmt.Sprintf("%d calls a day (UTC)", q.PerDay),
	}

	var windows []fault.Field
	for _, name := range s.Violated {
		windows = append(windows, fault.Field{Name: name, Message: calls[name]})
	}

	return fault.ErrRateLimit.WithFields(windows...).WithRetryAfter(s.RetryAfter)
}

// webhooks describes the webhooks that the programs of developers receive, one for each event type.
func webhooks(publicURL string) []web.Webhook {
	answerSeconds := int(integrations.AnswerWithin.Seconds())

	var described []web.Webhook
	for _, eventType := range integrations.Catalogue() {
		// The generated example of a job is public, but the job of this event is not public any
		// more.
		var samples map[string]string
		if eventType.Type == (event.JobClosed{}).Type() {
			samples = map[string]string{"status": "closed"}
		}

		described = append(described, web.Webhook{
			Name:    eventType.Type,
			Summary: eventType.When,
			Headers: integrations.EventHeaders{},
			Body:    eventType.Body,
			Samples: samples,
			Description: "Sent to each webhook of an application that subscribes to it and has access to its subject. " +
				"Verify the signature over the bytes of the body as they come; [the guide](" + publicURL + "/docs/guides/webhooks) shows how.",
			Answers: map[string]string{
				"2XX": fmt.Sprintf("It has arrived. The answer has to come within %d seconds; what is in it does not matter.", answerSeconds),
				"410": "The webhook is not wanted any more: it is disabled at once.",
				"default": fmt.Sprintf(
					"Everything else is a failure, as is no answer within %d seconds; redirects are not followed. It is sent again, up to %d times. "+
						"With 429 and 503 a longer Retry-After is kept to, up to 24 hours.",
					answerSeconds,
					len(integrations.Retries()),
				),
			},
		})
	}

	return described
}

// Explained are the explanations of error codes, each with a page below /problems.
var Explained = map[string]web.Problem{
	"unauthorized": {
		Title: "Unauthorized",
		Text:  "There is no credential, or it is not valid (any more). Send an API key as X-API-Key, or an access token of OAuth 2.0 as Authorization: Bearer. The tokens of the portal are not valid here. Where both are sent, both have to be of the same application.",
	},
	"insufficient_scope": {
		Title: "Not allowed",
		Text:  "The credential is valid and does not allow this. API keys read; to act for a user, an application needs an access token with the scope that WWW-Authenticate names.",
	},
	"forbidden": {Title: "Not allowed", Text: "The user may not do this."},
	"invalid_parameters": {
		Title: "Invalid request",
		Text:  "A part of the request is missing or wrong. The member errors names each.",
	},
	"malformed_request": {Title: "Malformed request", Text: "The request could not be read."},
	"page_too_deep": {
		Title: "Page out of reach",
		Text:  "Pages by number reach 10,000 items. Follow next_cursor with the parameter cursor instead.",
	},
	"not_found":     {Title: "Not found", Text: "There is nothing at this address."},
	"job_not_found": {Title: "Job not found", Text: "There is no such job, or it is not public any more."},
	"application_not_found": {
		Title: "Application not found",
		Text:  "There is no such application, or it is not one that the caller may see.",
	},
	"method_not_allowed": {Title: "Method not allowed", Text: "The address knows other methods; Allow names them."},
	"already_applied": {
		Title: "Already applied",
		Text:  "The user has applied for this job before. One application is possible for each, also after it was withdrawn.",
	},
	"payload_too_large": {Title: "Request body too large", Text: "The body is larger than is read here."},
	"headers_too_large": {Title: "Header fields too large", Text: "The header fields are larger than is read here."},
	"request_timeout":   {Title: "Request timeout", Text: "The request did not arrive in time."},
	"idempotency_key_reused": {
		Title: "Idempotency-Key reused",
		Text:  "The Idempotency-Key was used for another request within 24 hours. Use a new one for each thing to be done.",
	},
	"idempotency_in_progress": {
		Title: "Still running",
		Text:  "A request with this Idempotency-Key is still running. Try again in a few seconds.",
	},
	"idempotency_outcome_unknown": {
		Title: "Outcome unknown",
		Text:  "The first request with this Idempotency-Key was interrupted after a part of it had taken effect. Check its outcome before you send it with another key.",
	},
	"rate_limit_exceeded": {
		Title: "Rate limit exceeded",
		Text:  "The application has used up what its plan gives for a minute or a day. Retry-After says when there is more; refused calls cost nothing.",
	},
	"unavailable": {
		Title: "Temporarily unavailable",
		Text:  "The service cannot process the request now. Try again after Retry-After.",
	},
	"internal": {
		Title: "Internal server error",
		Text:  "Something went wrong on our side. The member request_id helps to find it.",
	},
}

// One is a response with one resource.
type One[T any] struct {
	Data T `json:"data"`
}

// List is one page of a list.
type List[T any] struct {
	Data       []T        `json:"data"`
	Pagination Pagination `json:"pagination"`
	// TotalIsEstimate is true if there are more items than were counted.
	TotalIsEstimate bool `json:"total_is_estimate" sample:"false"`
	// NextCursor is the parameter cursor of the next page, null on the last one.
	NextCursor *string `json:"next_cursor" sample:"null"`

	links string // the header Link
}

// Headers returns the header Link with the other pages (RFC 8288).
func (l List[T]) Headers() map[string]string { return map[string]string{"Link": l.links} }

// Pagination describes the page of a list.
type Pagination struct {
	Page       int `json:"page"`
	Limit      int `json:"limit"`
	Total      int `json:"total"`
	TotalPages int `json:"total_pages" sample:"1"`
}

// newList returns a page of a list, with links to other pages of the same list. r is the page that a module
// has returned, and items are its items in the form of this API. p is the position that the request asks
// for, and requestURL is its path with the query.
func newList[T, R any](items []T, r page.Result[R], p web.Paging, publicURL, requestURL string) List[T] {
	l := List[T]{
		Data:            items,
		TotalIsEstimate: r.TotalIsEstimate,
		NextCursor:      nullIfEmpty(r.NextCursor),
		Pagination: Pagination{
			Page:       p.Page,
			Limit:      p.Limit,
			Total:      r.Total,
			TotalPages: (r.Total + p.Limit - 1) / p.Limit, // rounded up
		},
	}
	l.links = l.pageLinks(p.Cursor != "", publicURL, requestURL)

	return l
}

// pageLinks returns the value of the header Link with the links to other pages. A link has a page number, if
// the page is within the first page.MaxExact items. Otherwise it has a cursor. isByCursor reports whether the
// request itself has a cursor: the number of its page is then not known.
func (l List[T]) pageLinks(isByCursor bool, publicURL, requestURL string) string {
	u, err := url.ParseRequestURI(requestURL)
	if err != nil {
		return ""
	}

	var links []string

	// add adds a link to the requested list, with another position in place of the requested one.
	add := func(rel string, position map[string]string) {
		q := u.Query()
		q.Del("page")
		q.Del("cursor")

		for name, value := range position {
			q.Set(name, value)
		}

		address := publicURL + u.EscapedPath()
		if len(q) > 0 {
			address += "?" + q.Encode()
		}

		links = append(links, fmt.Sprintf(`<%s>; rel="%s"`, address, rel))
	}

	isReachable := func(number int) bool {
		return !(page.Request{Number: number, Size: l.Pagination.Limit}).IsTooDeep()
	}
	byNumber := func(number int) map[string]string { return map[string]string{"page": strconv.Itoa(number)} }
	number := l.Pagination.Page
	last := max(1, l.Pagination.TotalPages)

	add("first", nil) // a page without a position is the first one

	if previous := number - 1; !isByCursor && previous > 0 {
		if !l.TotalIsEstimate { // a page beyond the end leads back to the last page
			previous = min(previous, last)
		}

		add("prev", byNumber(previous))
	}

	switch {
	case l.NextCursor == nil: // this is the last page
	case !isByCursor && isReachable(number+1):
		add("next", byNumber(number+1))
	default:
		add("next", map[string]string{"cursor": *l.NextCursor})
	}

	// With an estimated total, the number of the last page is not known.
	if !l.TotalIsEstimate && isReachable(last) {
		add("last", byNumber(last))
	}

	return strings.Join(links, ", ")
}

// errTooDeep is the fault of a page number beyond page.MaxExact items, for which this API has a code of its own.
var errTooDeep = fault.New(fault.Invalid, "page_too_deep", "Pages reach 10000 items")

// renameFields returns a function that translates the fault of an invalid input. The fault has the field
// names of a module, and the result has the names of this API. names maps the names of fields in the module
// to the names of parameters in this API. All other fields keep their names. A page number that is too high
// becomes errTooDeep.
func renameFields(names map[string]string) func(*fault.Error) *fault.Error {
	return func(f *fault.Error) *fault.Error {
		if f.Kind != fault.Invalid || len(f.Fields) == 0 {
			return f
		}

		fields := web.Each(f.Fields, func(field fault.Field) fault.Field {
			return fault.Field{
				Name:    cmp.Or(names[field.Name], field.Name),
				Message: strings.ReplaceAll(field.Message, "nextCursor", "next_cursor"),
			}
		})

		// The fault of a page that is too deep has no code. Its message is "reaches beyond … items; …".
		isTooDeep := len(fields) == 1 && fields[0].Name == "page" && strings.HasPrefix(fields[0].Message, "reaches beyond")
		if isTooDeep {
			return errTooDeep.WithFields(fields...)
		}

		return fault.ErrInvalid.WithFields(fields...)
	}
}
