package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/modules/integrations"
)

// TestNew_OperationIsMissing_NamesTheTool checks that a tool whose operation was removed from
// the API is an error at the start.
func TestNew_OperationIsMissing_NamesTheTool(t *testing.T) {
	t.Parallel()

	api := developer.API(adapters.Services{}, "")
	api.Routes = api.Routes[1:] // without the first operation, the search
	_, err := New(Options{API: api})
	require.ErrorContains(t, err, "the interface has no operation GET /api/v1/jobs for the tool search_jobs")
}

// TestTexts_Arguments_AreParameters checks how the JSON arguments of a tool become the values of
// a query parameter.
func TestTexts_Arguments_AreParameters(t *testing.T) {
	t.Parallel()

	for raw, want := range map[string][]string{
		`"a"`:       {"a"},
		`5`:         {"5"},
		`1.5`:       {"1.5"},
		`true`:      {"true"},
		`["a","b"]`: {"a", "b"},
		`[]`:        nil,
		`{}`:        {"{}"},
		`[["a"]]`:   {`["a"]`},
	} {
		require.Equal(t, want, parameterValues(json.RawMessage(raw)), raw)
	}
}

// TestCheckAnswers_Questions_AreAnswered checks that a tool call without an answer to a required
// question, or with an answer to an unknown one, is refused before the user is asked to confirm.
// The keys are the invalid fields.
func TestCheckAnswers_Questions_AreAnswered(t *testing.T) {
	t.Parallel()

	questions := []question{{ID: "pin", Text: "Your PIN?", Required: true}, {ID: "why"}}
	for want, answers := range map[string]string{
		"":                      `[{"question_id":"pin","answer":"1"}]`,
		"answers":               `[{"question_id":"pin","answer":" "}]`,
		"answers.1.question_id": `[{"question_id":"pin","answer":"1"},{"question_id":"x","answer":"1"}]`,
	} {
		err := checkAnswers(questions, json.RawMessage(answers))
		if want == "" {
			require.NoError(t, err)
			continue
		}

		require.Equal(t, want, web.FaultOf(err).Fields[0].Name)
	}

	require.Error(t, checkAnswers(questions, nil))
	require.Error(t, checkAnswers(questions, json.RawMessage(`"x"`)))
	require.NoError(t, checkAnswers(nil, nil))
}

// TestRefuseMessage_Batch_IsAJSONRPCError checks that a JSON-RPC batch is refused, also after
// much white space: it would execute many calls for one count of the limits.
func TestRefuseMessage_Batch_IsAJSONRPCError(t *testing.T) {
	t.Parallel()
	require.True(t, rejectMessage(httptest.NewRecorder(), []byte(strings.Repeat(" \n", 5000)+"[{}]")))

	w := httptest.NewRecorder()
	require.True(t, rejectMessage(w, []byte(" [{}]")))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.JSONEq(t,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one message in each request"}}`,
		w.Body.String())
	require.False(t, rejectMessage(w, []byte(`{"method":"tools/list"}`)))
}

// failingAuthenticator is an authenticator whose database is unavailable.
type failingAuthenticator struct{ web.Authenticator }

func (failingAuthenticator) Authenticate(context.Context, web.AuthRequest) (integrations.Caller, map[string]string, error) {
	return integrations.Caller{}, nil, fault.ErrUnavailable.WithReason("database: down")
}

// allowAllAuthenticator is an authenticator that admits every request.
type allowAllAuthenticator struct{}

func (allowAllAuthenticator) Authenticate(context.Context, web.AuthRequest) (integrations.Caller, map[string]string, error) {
	return integrations.Caller{Scopes: integrations.Scopes()}, nil, nil
}

func (allowAllAuthenticator) Done(integrations.Caller, int) {}

// failingLimiter is a limiter whose database is unavailable.
type failingLimiter struct{ limit.Limiter }

func (failingLimiter) Take(context.Context, limit.Rule, string) (limit.Decision, error) {
	return limit.Decision{}, fault.ErrUnavailable.WithReason("limiter: down")
}

// TestServeHTTP_Unavailable_IsReportedOnce checks that an outage during the authentication or
// the operation is reported to the HTTP server once, for its metrics and its log. The client
// gets the error inside of a response of JSON-RPC.
func TestServeHTTP_Unavailable_IsReportedOnce(t *testing.T) {
	t.Parallel()

	for cause, authenticator := range map[string]web.Authenticator{
		"database: down": failingAuthenticator{},
		"limiter: down":  allowAllAuthenticator{},
	} {
		api := developer.API(adapters.Services{}, "")

		api.Authenticator = authenticator
		for i := range api.Routes {
			api.Routes[i].Limit = limit.Rule{Max: 1, Per: time.Hour}
		}

		s, err := New(Options{API: api, Admission: web.Admission{Limiter: failingLimiter{}}})
		require.NoError(t, err)
		var causes []string
		ctx := web.WithFaultReport(t.Context(), func(err error) { causes = append(causes, web.FaultOf(err).Reason) })
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, Path,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":{"job_id":"x"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")

		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), "unavailable")
		require.Equal(t, []string{cause}, causes)
	}
}

// TestSafely_Panic_IsAnError checks that the panic of an operation is an internal error.
func TestSafely_Panic_IsAnError(t *testing.T) {
	t.Parallel()

	_, err := recoverPanic(func() (web.Answer, error) { panic("inside") })
	require.ErrorContains(t, err, "panic: inside")
	require.Equal(t, fault.Internal, web.FaultOf(err).Kind)
}
