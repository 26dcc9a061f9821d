package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/swaggest/openapi-go/openapi31"
)

// shareFailures replaces the error responses that are the same in most operations by
// references to components, so that the document and the types that are generated from it
// contain each of them once. There is at most one component for each status.
func shareFailures(spec *openapi31.Spec) error {
	// Count the operations that have the same response for a status.
	uses := map[string]map[string]int{} // by status, then by encoded response

	err := eachFailure(spec, func(_ map[string]openapi31.ResponseOrReference, status, encoded string) {
		if uses[status] == nil {
			uses[status] = map[string]int{}
		}

		uses[status][encoded]++
	})
	if err != nil {
		return err
	}

	// Select the most frequent response of each status, if at least two operations have it. Of
	// equally frequent ones it is the first in order, so that the document is always the same.
	shared := map[string]string{} // encoded response by status
	for status, byResponse := range uses {
		for _, encoded := range slices.Sorted(maps.Keys(byResponse)) {
			if byResponse[encoded] > max(1, byResponse[shared[status]]) {
				shared[status] = encoded
			}
		}
	}

	return eachFailure(spec, func(responses map[string]openapi31.ResponseOrReference, status, encoded string) {
		if encoded != shared[status] {
			return
		}

		code, _ := strconv.Atoi(status)
		name := strings.ReplaceAll(http.StatusText(code), " ", "")
		spec.ComponentsEns().WithResponsesItem(name, responses[status])

		responses[status] = openapi31.ResponseOrReference{
			Reference: &openapi31.Reference{Ref: "#/components/responses/" + name},
		}
	})
}

// eachFailure calls fn for each error response in the document: with the responses of its
// operation, in which fn may replace it, its status, and the response as JSON. It skips responses
// that are references already.
func eachFailure(
	spec *openapi31.Spec,
	fn func(responses map[string]openapi31.ResponseOrReference, status, encoded string),
) error {
	for _, path := range spec.Paths.MapOfPathItemValues {
		for _, op := range operationsOf(path) {
			for status, response := range op.Responses.MapOfResponseOrReferenceValues {
				if status < "400" || response.Response == nil {
					continue
				}

				encoded, err := json.Marshal(response)
				if err != nil {
					return err
				}

				fn(op.Responses.MapOfResponseOrReferenceValues, status, string(encoded))
			}
		}
	}

	return nil
}
