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

// shareFailures replaces error responses that several operations have in common by references to
// components of the document. The document and the types that are generated from it then contain such a
// response once. There is at most one component for each status: the most frequent response.
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
	// equally frequent responses, the first one in order is selected, so that the document is
	// always the same.
	shared := map[string]string{} // encoded response by status
	for status, usesByResponse := range uses {
		for _, encoded := range slices.Sorted(maps.Keys(usesByResponse)) {
			maxUses := usesByResponse[shared[status]] // 0 if none is selected yet
			if usesByResponse[encoded] > max(1, maxUses) {
				shared[status] = encoded
			}
		}
	}

	// Replace each selected response by a reference to a component with the name of the status.
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

// eachFailure calls fn for each error response in the document that is not a reference yet. encoded is
// the response as JSON. responses has all responses of the same operation by status, so that fn can
// replace the response.
func eachFailure(
	spec *openapi31.Spec,
	fn func(responses map[string]openapi31.ResponseOrReference, status, encoded string),
) error {
	for _, path := range spec.Paths.MapOfPathItemValues {
		for _, op := range operationsOf(path) {
			for status, response := range op.Responses.MapOfResponseOrReferenceValues {
				isFailure := status >= "400" // all statuses have three digits, so that texts compare as numbers
				if !isFailure || response.Response == nil {
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
