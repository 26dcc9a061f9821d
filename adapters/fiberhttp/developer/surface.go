package developer

import (
	"slices"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

// Surface is the developer interface with all of its routes.
func Surface(s adapters.Services, publicURL string) web.Surface {
	words := problems{publicURL}
	return web.Surface{
		Name:        "developer",
		Prefix:      "/api/v1",
		Also:        []string{"/v1"},
		Title:       "locum developer interface",
		Description: "Jobs in healthcare for other programs: search them, apply in a user's name, follow applications. The same under /api/v1 and /v1.",
		Gate:        gate{s.Integrations, s.Limiter},
		Fresh:       web.Fresh{CacheControl: "private, max-age=0, must-revalidate", Vary: "Authorization, X-API-Key"},
		Routes:      slices.Concat(jobRoutes(s, publicURL), applicationRoutes(s, publicURL)),
		Fault:       words.fault,
		FaultBody:   Problem{},
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
	// ViolatedPolicies are the windows of the plan that are used up, of a 429.
	ViolatedPolicies []string `json:"violated-policies,omitempty"`
}

// At implements web.Placed.
func (p Problem) At(path, requestID string) any {
	p.Instance, p.RequestID = path, requestID
	return p
}

// MediaType implements web.Placed.
func (Problem) MediaType() string { return "application/problem+json" }

const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"

type problems struct{ publicURL string }

func (p problems) fault(f *fault.Error) (int, any) {
	status := web.StatusOf(f)
	out := Problem{Type: "about:blank", Title: f.Message, Status: status, Detail: f.Message, Code: f.Code, Errors: append([]fault.Field{}, f.Fields...)}
	if known, ok := Explained[f.Code]; ok {
		out.Type, out.Title = p.publicURL+"/problems/"+f.Code, known.Title
	}
	switch {
	case f.Code == fault.ErrRateLimit.Code:
		out.Type, out.Errors = quotaExceeded, []fault.Field{}
		for _, window := range f.Fields {
			out.ViolatedPolicies = append(out.ViolatedPolicies, window.Name)
		}
	case len(f.Fields) > 0:
		out.Detail = f.Fields[0].Name + " " + f.Fields[0].Message
	case f.Code == fault.ErrUnauthorized.Code:
		out.Detail = "Send an API key as X-API-Key, or an access token as Authorization: Bearer"
	}
	return status, out
}

// overQuota is the answer to a call that the limits leave no room for. Its
// fields name the windows that are used up.
func overQuota(s limit.Standing) *fault.Error {
	var windows []fault.Field
	for _, name := range s.Violated {
		windows = append(windows, fault.Field{Name: name, Message: "is used up"})
	}
	return fault.ErrRateLimit.WithFields(windows...).WithRetryAfter(s.RetryAfter)
}
