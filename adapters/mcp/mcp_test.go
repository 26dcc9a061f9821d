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

// TestParameterValues_Argument_IsText checks how the JSON of an argument becomes the values of a
// query parameter: an array has a value for each item, and values that are not strings stay JSON.
func TestParameterValues_Argument_IsText(t *testing.T) {
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
func TestCheckAnswers_Questions_AreAnswered(t *testing.T) {
	t.Parallel()

	questions := []question{{ID: "pin", Text: "Your PIN?", Required: true}, {ID: "why"}}
	require.NoError(t, checkAnswers(questions, json.RawMessage(`[{"question_id":"pin","answer":"1"}]`)))

	for invalidField, answers := range map[string]string{
		"answers":               `[{"question_id":"pin","answer":" "}]`,
		"answers.1.question_id": `[{"question_id":"pin","answer":"1"},{"question_id":"x","answer":"1"}]`,
	} {
		err := checkAnswers(questions, json.RawMessage(answers))
		require.Error(t, err, answers)
		require.Equal(t, invalidField, web.FaultOf(err).Fields[0].Name)
	}

	require.Error(t, checkAnswers(questions, nil), "no answers")
	require.Error(t, checkAnswers(questions, json.RawMessage(`"x"`)), "answers that are not a list")
	require.NoError(t, checkAnswers(nil, nil), "a job without questions needs no answers")
}

// TestRejectMessage_Batch_IsAJSONRPCError checks that a JSON-RPC batch is refused, also after
// much white space: it would execute many calls, but count as one request.
func TestRejectMessage_Batch_IsAJSONRPCError(t *testing.T) {
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

		// Each call asks the limiter, which is unavailable.
		for i := range api.Routes {
			api.Routes[i].Limit = limit.Rule{Max: 1, Per: time.Hour}
		}

		s, err := New(Options{API: api, Admission: web.Admission{Limiter: failingLimiter{}}})
		require.NoError(t, err)

		var reportedCauses []string

		ctx := web.WithFaultReport(t.Context(), func(err error) {
			reportedCauses = append(reportedCauses, web.FaultOf(err).Reason)
		})
		const callOfTool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":{"job_id":"x"}}}`
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, Path, strings.NewReader(callOfTool))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")

		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), "unavailable")
		require.Equal(t, []string{cause}, reportedCauses)
	}
}

// TestRecoverPanic_Panic_IsAnError checks that the panic of an operation is an internal error.
func TestRecoverPanic_Panic_IsAnError(t *testing.T) {
	t.Parallel()

	_, err := recoverPanic(func() (web.Answer, error) { panic("inside") })
	require.ErrorContains(t, err, "panic: inside")
	require.Equal(t, fault.Internal, web.FaultOf(err).Kind)
}
