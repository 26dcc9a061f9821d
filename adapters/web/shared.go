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
	uses := map[string]map[string]int{} // by status, then by encoded response
	visit := func(replace func(responses map[string]openapi31.ResponseOrReference, status, encoded string)) error {
		for _, item := range spec.Paths.MapOfPathItemValues {
			for _, op := range []*openapi31.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
				if op == nil {
					continue
				}

				for status, response := range op.Responses.MapOfResponseOrReferenceValues {
					if status < "400" || response.Response == nil {
						continue
					}

					encoded, err := json.Marshal(response)
					if err != nil {
						return err
					}

					replace(op.Responses.MapOfResponseOrReferenceValues, status, string(encoded))
				}
			}
		}

		return nil
	}

	err := visit(func(_ map[string]openapi31.ResponseOrReference, status, encoded string) {
		if uses[status] == nil {
			uses[status] = map[string]int{}
		}

		uses[status][encoded]++
	})
	if err != nil {
		return err
	}

	shared := map[string]string{}
	for status, byResponse := range uses {
		for _, encoded := range slices.Sorted(maps.Keys(byResponse)) {
			if byResponse[encoded] > max(1, byResponse[shared[status]]) {
				shared[status] = encoded
			}
		}
	}

	return visit(func(responses map[string]openapi31.ResponseOrReference, status, encoded string) {
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
