package developer

import "github.com/locumhq/locum/adapters/web"

// Explained are the explanations of error codes, each with a page below /problems.
var Explained = map[string]web.Problem{
	"unauthorized":                {Title: "Unauthorized", Text: "There is no credential, or it is not valid (any more). Send an API key as X-API-Key, or an access token of OAuth 2.0 as Authorization: Bearer. The tokens of the portal are not valid here. Where both are sent, both have to be of the same application."},
	"insufficient_scope":          {Title: "Not allowed", Text: "The credential is valid and does not allow this. API keys read; to act for a user, an application needs an access token with the scope that WWW-Authenticate names."},
	"forbidden":                   {Title: "Not allowed", Text: "The user may not do this."},
	"invalid_parameters":          {Title: "Invalid request", Text: "A part of the request is missing or wrong. The member errors names each."},
	"malformed_request":           {Title: "Malformed request", Text: "The request could not be read."},
	"page_too_deep":               {Title: "Page out of reach", Text: "Pages by number reach 10,000 items. Follow next_cursor with the parameter cursor instead."},
	"not_found":                   {Title: "Not found", Text: "There is nothing at this address."},
	"job_not_found":               {Title: "Job not found", Text: "There is no such job, or it is not public any more."},
	"application_not_found":       {Title: "Application not found", Text: "There is no such application, or it is not one that the caller may see."},
	"method_not_allowed":          {Title: "Method not allowed", Text: "The address knows other methods; Allow names them."},
	"already_applied":             {Title: "Already applied", Text: "The user has applied for this job before. One application is possible for each, also after it was withdrawn."},
	"payload_too_large":           {Title: "Request body too large", Text: "The body is larger than is read here."},
	"headers_too_large":           {Title: "Header fields too large", Text: "The header fields are larger than is read here."},
	"request_timeout":             {Title: "Request timeout", Text: "The request did not arrive in time."},
	"idempotency_key_reused":      {Title: "Idempotency-Key reused", Text: "The Idempotency-Key was used for another request within 24 hours. Use a new one for each thing to be done."},
	"idempotency_in_progress":     {Title: "Still running", Text: "A request with this Idempotency-Key is still running. Try again in a few seconds."},
	"idempotency_outcome_unknown": {Title: "Outcome unknown", Text: "The first request with this Idempotency-Key was interrupted after a part of it had taken effect. Check its outcome before you send it with another key."},
	"rate_limit_exceeded":         {Title: "Rate limit exceeded", Text: "The application has used up what its plan gives for a minute or a day. Retry-After says when there is more; refused calls cost nothing."},
	"unavailable":                 {Title: "Temporarily unavailable", Text: "The service cannot process the request now. Try again after Retry-After."},
	"internal":                    {Title: "Internal server error", Text: "Something went wrong on our side. The member request_id helps to find it."},
}
