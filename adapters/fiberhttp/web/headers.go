package web

import (
	"net/http"
	"strconv"

	"github.com/swaggest/openapi-go/openapi31"
)

// Header is one of an answer, for the documentation.
type Header struct {
	Name, Description, Example string
}

// What any surface's answers can carry.
var (
	requestID  = Header{"X-Request-Id", "The request's name in the server's log: what to quote to whoever runs it.", sampleID("request")}
	retryAfter = Header{"Retry-After", "After how many seconds to try again (RFC 9110 §10.2.3).", "12"}
	entityTag  = Header{"ETag", "Names what was answered (RFC 9110 §8.8.3): sent again as If-None-Match, it saves the body when nothing has changed.", `W/"C1yO5VfY1m2sT3pQ0rXbVA"`}
)

// describeHeaders says which headers the operation's answers carry, and what is
// answered to who has everything already.
func describeHeaders(spec *openapi31.Spec, s Surface, route Route, op *openapi31.Operation) {
	kept := s.Fresh.CacheControl != "" && route.Method == http.MethodGet
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
