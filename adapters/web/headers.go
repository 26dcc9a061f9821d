package web

import (
	"net/http"
	"strconv"

	"github.com/swaggest/openapi-go/openapi31"
)

// Header describes a header of responses.
type Header struct {
	Name, Description, Example string
}

// The headers that responses of every API can have.
var (
	requestID  = Header{"X-Request-Id", "Id of the request in the server's log. Quote it when you report a problem.", sampleID("request")}
	retryAfter = Header{"Retry-After", "Number of seconds to wait before the next attempt (RFC 9110 §10.2.3).", "12"}
	entityTag  = Header{"ETag", "Version of the response (RFC 9110 §8.8.3). Send it as If-None-Match to get 304 without a body if nothing has changed.", `W/"C1yO5VfY1m2sT3pQ0rXbVA"`}
)

// describeHeaders describes the headers of the responses, and the 304 response to a
// conditional request.
func describeHeaders(spec *openapi31.Spec, s API, route Route, op *openapi31.Operation) {
	kept := s.CachePolicy.CacheControl != "" && route.Method == http.MethodGet
	if kept {
		op.Responses.WithMapOfResponseOrReferenceValuesItem(strconv.Itoa(http.StatusNotModified), openapi31.ResponseOrReference{
			Response: &openapi31.Response{Description: "Nothing has changed since the ETag in If-None-Match."},
		})
	}
	for code, answer := range op.Responses.MapOfResponseOrReferenceValues {
		headers := append([]Header{requestID}, s.Headers...)
		switch status, _ := strconv.Atoi(code); status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			headers = append(headers, retryAfter)
		case http.StatusOK, http.StatusNotModified:
			if kept {
				headers = append(headers, entityTag)
			}
		}
		for _, h := range headers {
			spec.ComponentsEns().WithHeadersItem(h.Name, openapi31.HeaderOrReference{Header: (&openapi31.Header{Schema: map[string]any{"type": "string"}}).WithDescription(h.Description).WithExample(h.Example)})
			answer.Response.WithHeadersItem(h.Name, openapi31.HeaderOrReference{Reference: &openapi31.Reference{Ref: "#/components/headers/" + h.Name}})
		}
	}
}
