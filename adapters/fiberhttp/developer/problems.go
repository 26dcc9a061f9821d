package developer

// Explanation is what a code of an error means, on its page.
type Explanation struct{ Title, Text string }

// Explained are the codes of errors, each with a page under /problems.
var Explained = map[string]Explanation{
	"unauthorized":                {"Unauthorized", "There is no credential, or it is not valid (any more). Send an API key as X-API-Key, or an access token of OAuth 2.0 as Authorization: Bearer. The tokens of the portal are not valid here. Where both are sent, both have to be of the same application."},
	"insufficient_scope":          {"Not allowed", "The credential is valid and does not allow this. API keys read; to act for a user, an application needs an access token with the scope that WWW-Authenticate names."},
	"forbidden":                   {"Not allowed", "The user may not do this."},
	"invalid_parameters":          {"Invalid request", "A part of the request is missing or wrong. The member errors names each."},
	"malformed_request":           {"Malformed request", "The request could not be read."},
	"page_too_deep":               {"Page out of reach", "Pages by number reach 10,000 items. Follow next_cursor with the parameter cursor instead."},
	"not_found":                   {"Not found", "There is nothing at this address."},
	"job_not_found":               {"Job not found", "There is no such job, or it is not public any more."},
	"application_not_found":       {"Application not found", "There is no such application, or it is not one that the caller may see."},
	"method_not_allowed":          {"Method not allowed", "The address knows other methods; Allow names them."},
	"already_applied":             {"Already applied", "The user has applied for this job before. One application is possible for each, also after it was withdrawn."},
	"payload_too_large":           {"Request body too large", "The body is larger than is read here."},
	"headers_too_large":           {"Header fields too large", "The header fields are larger than is read here."},
	"request_timeout":             {"Request timeout", "The request did not arrive in time."},
	"idempotency_key_reused":      {"Idempotency-Key reused", "The Idempotency-Key was used for another request within 24 hours. Use a new one for each thing to be done."},
	"idempotency_in_progress":     {"Still running", "A request with this Idempotency-Key is still running. Try again in a few seconds."},
	"idempotency_outcome_unknown": {"Outcome unknown", "The first request with this Idempotency-Key was interrupted after a part of it had taken effect. Check its outcome before you send it with another key."},
	"rate_limit_exceeded":         {"Rate limit exceeded", "The application has used up what its plan gives for a minute or a day. Retry-After says when there is more; refused calls cost nothing."},
	"unavailable":                 {"Temporarily unavailable", "The service cannot process the request now. Try again after Retry-After."},
	"internal":                    {"Internal server error", "Something went wrong on our side. The member request_id helps to find it."},
}
