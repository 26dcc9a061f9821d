package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
)

// TestMCP_Tools checks the tools with the library of a real client: their schemas, results that
// equal those of the developer API, errors that a model can correct, and the quota that both
// interfaces share.
func TestMCP_Tools(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		word := fmt.Sprintf("word%d", time.Now().UnixNano()) // in these listings only

		var jobs []string
		for range 3 {
			jobs = append(jobs, boss.listing(object{"title": word, "location": "Leeds"}))
		}

		t.Run("list of tools", func(t *testing.T) {
			t.Parallel()

			session := server.seeker(t).program().session(t)
			require.NotEmpty(t, session.InitializeResult().Instructions)

			list, err := session.ListTools(t.Context(), nil)
			require.NoError(t, err)

			byName := map[string]*mcp.Tool{}
			for _, tool := range list.Tools {
				byName[tool.Name] = tool
				require.NotEmpty(t, tool.Description, tool.Name)

				// Only apply changes anything, so that clients ask the user before they call
				// it. Its output has no schema: it is a draft or an application.
				isApply := tool.Name == "apply"
				require.Equal(t, !isApply, tool.Annotations.ReadOnlyHint, tool.Name)
				require.Equal(t, isApply, *tool.Annotations.DestructiveHint, tool.Name)
				require.Equal(t, !isApply, tool.OutputSchema != nil, tool.Name)

				inputSchema := tool.InputSchema.(object)
				require.Equal(t, false, inputSchema["additionalProperties"], tool.Name)

				// A schema must be complete: clients do not have the OpenAPI document.
				require.NotContains(t, encodeJSON(t, tool), "#/components", tool.Name)

				for name, property := range inputSchema["properties"].(object) {
					require.NotEmpty(t, property.(object)["description"], "%s of %s", name, tool.Name)
				}
			}

			require.ElementsMatch(t,
				[]string{"search_jobs", "get_job", "suggest", "list_my_applications", "apply"},
				slices.Collect(maps.Keys(byName)))
			require.Equal(t, []any{"job_id"}, byName["get_job"].InputSchema.(object)["required"])
			require.Equal(t, []any{"job_id"}, byName["apply"].InputSchema.(object)["required"])

			properties := byName["search_jobs"].InputSchema.(object)["properties"].(object)
			require.Contains(t, properties, "keywords")
			require.NotContains(t, properties, "page", "the cursor reaches all pages")
		})

		t.Run("tools that read", func(t *testing.T) {
			t.Parallel()

			program := server.seeker(t).program()
			session := program.session(t)
			first := callTool(t, session, "search_jobs", object{
				"keywords": word,
				"sort":     "date",
				"limit":    2,
				"facets":   []string{"role", "region"},
				"remote":   nil, // some models send null for an argument that they do not use
			})
			require.Len(t, first["data"], 2)
			require.Equal(t, jobs[2], first["data"].([]any)[0].(object)["id"], "the newest is first")

			// The second page has the oldest of the three listings, and no further page follows.
			next := callTool(t, session, "search_jobs", object{
				"keywords": word,
				"sort":     "date",
				"limit":    2,
				"cursor":   first["next_cursor"],
			})
			require.Equal(t, jobs[0], next["data"].([]any)[0].(object)["id"])
			require.Nil(t, next["next_cursor"])

			// Tools return the same as the operations of the developer API.
			require.Equal(t, program.get("/api/v1/jobs/"+jobs[0]).okDeveloper(200).body,
				callTool(t, session, "get_job", object{"job_id": jobs[0]}))
			require.Equal(t, program.get("/api/v1/jobs/suggest?q=lee").okDeveloper(200).body,
				callTool(t, session, "suggest", object{"q": "lee"}))
			require.Empty(t, callTool(t, session, "list_my_applications", object{"limit": 5})["data"])
		})

		t.Run("errors of tools", func(t *testing.T) {
			t.Parallel()

			session := server.seeker(t).program().session(t)
			require.Contains(t, callToolError(t, session, "get_job", object{"job_id": "nonsense"}), "job_not_found")
			require.Contains(t, callToolError(t, session, "get_job", object{"job_id": "../applications"}), "job_not_found",
				"an id cannot select the path of another operation")
			require.Contains(t, callToolError(t, session, "get_job", object{}), "job_id is required")

			// All invalid values are reported in one error, each on its own line.
			wrong := callToolError(t, session, "search_jobs", object{"radius": -1, "sort": "zz", "salary_min": "x"})
			for _, field := range []string{"radius", "sort", "salary_min"} {
				require.Contains(t, wrong, "\n- "+field+" ", "all invalid fields are reported together")
			}

			// A misspelt argument is an error and is not ignored. The tools have no page, because they have a cursor.
			require.Contains(t, callToolError(t, session, "search_jobs", object{"keyword": "nurse"}), "keyword is not an argument")
			require.Contains(t, callToolError(t, session, "search_jobs", object{"page": 2}), "page is not an argument")
			require.Contains(t, callToolError(t, session, "search_jobs", object{"cursor": "nonsense"}), "cursor")

			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "drop_tables"})
			require.ErrorContains(t, err, "unknown tool")
		})

		t.Run("calls count towards the quota", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			app := me.app()
			program := me.programOf(app)
			program.t = t

			// The app may send 60 requests in a minute. A call of a tool uses one of them, as does a request to the API.
			first := program.tool("suggest", object{"q": "lee"})
			require.Equal(t, 200, first.status)
			require.Equal(t, "59", first.header.Get("X-RateLimit-Remaining"))
			require.Empty(t, first.header.Get("Access-Control-Allow-Origin"))
			program.get("/api/v1/jobs?limit=1").okDeveloper(200)

			third := program.tool("get_job", object{"job_id": "nonsense"})
			require.Equal(t, "57", third.header.Get("X-RateLimit-Remaining"), "the third request of 60")

			// The usage of the app contains all three requests. The unknown job was the only error.
			require.Eventually(t, func() bool {
				usage := me.get("/api/developers/apps/" + app + "/usage").ok(200)
				return strings.Contains(string(usage.raw), `"requests":3`) && strings.Contains(string(usage.raw), `"errors":1`)
			}, waitTimeout, 50*time.Millisecond)
		})

		t.Run("exhausted quota", func(t *testing.T) {
			t.Parallel()

			program := server.seeker(t).program()

			program.t = t

			// 60 calls exhaust the quota of a minute, even though each of them fails.
			for range 60 {
				program.tool("get_job", object{"job_id": "nonsense"})
			}

			over := program.tool("suggest", object{"q": "lee"}).untilLimited()
			require.Equal(t, 429, over.status, "%s", over.raw)
			require.NotEmpty(t, over.header.Get("Retry-After"))
			require.Equal(t, "rate_limit_exceeded", over.text("code"))
		})
	})
}

// TestMCP_Authentication checks who may call the MCP server: API keys and OAuth tokens, with
// the metadata by which clients find the authorization server (RFC 9728), and no pages of other
// sites.
func TestMCP_Authentication(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const metadata = "/.well-known/oauth-protected-resource/mcp"
		t.Run("WWW-Authenticate for a guest", func(t *testing.T) {
			t.Parallel()

			guest := server.guest(t)
			refused := guest.tool("suggest", object{"q": "lee"})
			require.Equal(t, 401, refused.status)
			require.Equal(t, "unauthorized", refused.text("code"))

			challenge := refused.header.Get("WWW-Authenticate")
			require.True(t, strings.HasPrefix(challenge, `Bearer resource_metadata="`+issuer+metadata+`"`), challenge)
			require.NotContains(t, challenge, "invalid_token", "there was no token (RFC 6750 §3.1)")

			_, err := guest.connect(t)
			require.Error(t, err)

			resource := guest.try("GET", metadata, nil)
			require.Equal(t, 200, resource.status)
			require.Equal(t, "*", resource.header.Get("Access-Control-Allow-Origin"))
			require.Equal(t, issuer+"/mcp", resource.text("resource"))
			require.Equal(t, issuer, resource.text("authorization_servers.0"))
			require.Equal(t, []any{"jobs:read", "applications:read", "applications:write"}, resource.at("scopes_supported"))
			require.Equal(t, 200, guest.try("GET", "/.well-known/oauth-authorization-server", nil).status)
		})

		t.Run("invalid credentials", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			for _, caller := range []*client{
				server.guest(t).withInvalidToken(),
				seeker.fromNewAddress(), // has a token of the portal
				server.guest(t).withKey("loc_live_x"),
			} {
				require.Equal(t, 401, caller.tool("suggest", object{"q": "lee"}).status)
			}

			refused := server.guest(t).withInvalidToken().tool("suggest", object{"q": "lee"})
			require.Contains(t, refused.header.Get("WWW-Authenticate"), `error="invalid_token"`)
		})

		t.Run("OAuth token until its revocation", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
			token := party.tokens(t)
			program := server.guest(t)
			program.token = token.AccessToken
			session := program.session(t)
			job := server.employer(t).listing(nil)
			require.Equal(t, job, callTool(t, session, "get_job", object{"job_id": job})["data"].(object)["id"])
			require.Contains(t, callToolError(t, session, "list_my_applications", nil), "applications:read",
				"the error names the missing scope")

			draft := callTool(t, session, "apply", object{"job_id": job})
			require.NotEmpty(t, callTool(t, session, "apply", object{
				"job_id":            job,
				"confirmation_code": draft["confirmation_code"],
			})["data"])

			// Revoking the refresh token also ends the access token, in the open session and in new requests.
			status, _, _ := party.call(t, "/oauth/revoke", url.Values{"token": {token.RefreshToken}})
			require.Equal(t, 200, status)

			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_job", Arguments: object{"job_id": job}})
			require.Error(t, err)
			require.Equal(t, 401, program.tool("get_job", object{"job_id": job}).status)
		})

		t.Run("pages of other sites", func(t *testing.T) {
			t.Parallel()

			program := server.seeker(t).program()

			const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

			// Browsers send the header Origin. Pages of other sites are refused, pages of the issuer and programs are not.
			for _, origin := range []string{"https://evil.example.com", "null", issuer + ".evil.example.com", "http://127.0.0.1:1"} {
				require.Equal(t, 403, program.rpc(list, "Origin", origin).status, origin)
			}

			require.Equal(t, 200, program.rpc(list, "Origin", issuer).status)
			require.Equal(t, 200, program.rpc(list).status)
		})
	})
}

// TestMCP_Messages checks the statuses of malformed messages: 400 if it is no message of
// JSON-RPC, and 200 with an error if it is a message with wrong parameters. Batches are not
// supported.
func TestMCP_Messages(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		program := server.seeker(t).program()
		const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		require.Equal(t, 200, program.rpc(ping).status)

		// The wanted statuses: 400 is no valid message, 404 an unknown method, 202 a notification, which has no response, and
		// 413 a body of more than 1 MiB.
		for body, want := range map[string]int{
			"":    400,
			"{":   400,
			"5":   400,
			`"x"`: 400,
			`{}`:  400,
			`{"jsonrpc":"1.0","id":1,"method":"tools/list"}`:   400,
			`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`:  400,
			`[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`: 400,
			"\n [": 400,
			"\x00": 400,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`:                    404,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                      202,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + strings.Repeat(" ", 1<<20): 413,
		} {
			res := program.rpc(body)
			require.Equal(t, want, res.status, "%.80s: %s", body, res.raw)
		}

		for _, invalidParams := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":5}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":"x"}}`,
		} {
			res := program.rpc(invalidParams)
			require.Equal(t, 200, res.status, "%s: %s", invalidParams, res.raw)
			require.Regexp(t, `"error"|"isError":true`, string(res.raw), invalidParams)
		}

		// The server accepts messages by POST only, and at exactly one path.
		for _, method := range []string{"GET", "DELETE", "PUT", "HEAD"} {
			res := program.try(method, "/mcp", nil)
			require.Equal(t, 405, res.status, method)
			require.Equal(t, "POST", res.header.Get("Allow"), method)
		}

		require.Equal(t, 404, program.try("POST", "/mcp/x", nil).status)
		require.Equal(t, 404, program.try("POST", "/mcpx", nil).status)
		require.Equal(t, 400, program.rpc(ping, "Mcp-Protocol-Version", "1999-01-01").status, "an unknown version")
		require.Regexp(t, `locum_http_requests_total\{method="POST",route="/mcp",status="200"\}`, metricsOf(t, server))
	})
}

// TestMCP_Apply checks that a model cannot apply on its own: the first call returns a draft
// with a code, and only a second call with the code and the same content applies, once.
func TestMCP_Apply(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)

		// writeSession returns a session of an app that may apply for the user.
		writeSession := func(t *testing.T, user *account) *mcp.ClientSession {
			return user.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite).session(t)
		}
		countApplications := func(user *account) int {
			return len(user.get("/api/jobseekers/applications").ok(200).list("data.applications"))
		}
		t.Run("draft, then confirmation", func(t *testing.T) {
			t.Parallel()

			ann := server.seeker(t)
			job := boss.listing(
				object{"title": "Theatre Nurse", "questions": []object{{"id": "pin", "text": "Your PIN?", "required": true}}},
			)
			session := writeSession(t, ann)
			content := object{
				"job_id":       job,
				"cover_letter": "Hello",
				"resume_url":   "https://example.org/cv.pdf",
				"answers":      []any{object{"question_id": "pin", "answer": "12A3456E"}},
			}
			draft := callTool(t, session, "apply", content)
			require.Equal(t, "confirmation_required", draft["status"])
			require.Equal(t, "Theatre Nurse", draft["job_title"])
			require.Equal(t, organizationName, draft["employer"])
			require.Equal(t, content, draft["application"])
			require.Zero(t, countApplications(ann))

			// The code confirms this draft only: each changed member makes it invalid, as do another user and another app.
			confirmed := maps.Clone(content)

			confirmed["confirmation_code"] = draft["confirmation_code"]
			for name, value := range (object{
				"cover_letter":      "Hello!",
				"resume_url":        "https://example.org/other.pdf",
				"answers":           []any{object{"question_id": "pin", "answer": "x"}},
				"job_id":            boss.listing(nil),
				"confirmation_code": "nonsense",
			}) {
				changed := maps.Clone(confirmed)
				changed[name] = value
				require.Contains(t, callToolError(t, session, "apply", changed), "confirmation_code_invalid", name)
			}

			require.Contains(t, callToolError(t, writeSession(t, server.seeker(t)), "apply", confirmed),
				"confirmation_code_invalid", "the code of another user")
			require.Contains(t, callToolError(t, writeSession(t, ann), "apply", confirmed),
				"confirmation_code_invalid", "the code was given to another app")
			require.Zero(t, countApplications(ann))

			// The confirmed draft becomes one application. A repeated call returns it, even after the job is deleted.
			first := callTool(t, session, "apply", confirmed)["data"].(object)
			require.Equal(t, "Hello", first["cover_letter"])
			require.Equal(t, ann.id, first["candidate_id"])
			boss.fromNewAddress().delete("/api/employers/jobs/" + job).ok(200)
			require.Equal(t, first, callTool(t, session, "apply", confirmed)["data"], "a repeated call has the same result")
			require.Equal(t, 1, countApplications(ann))
		})

		t.Run("renamed job needs another confirmation", func(t *testing.T) {
			t.Parallel()

			session := writeSession(t, server.seeker(t))
			job := boss.listing(object{"title": "Staff Nurse"})
			draft := callTool(t, session, "apply", object{"job_id": job})
			boss.fromNewAddress().put("/api/employers/jobs/"+job, object{"title": "Night Nurse"}).ok(200)
			require.Contains(t,
				callToolError(t, session, "apply", object{"job_id": job, "confirmation_code": draft["confirmation_code"]}),
				"confirmation_code_invalid")
		})

		t.Run("invalid application", func(t *testing.T) {
			t.Parallel()

			ann := server.seeker(t)
			appliedTo := boss.listing(nil)
			ann.application(appliedTo, nil)

			withdrawn := boss.listing(nil)
			application := ann.application(withdrawn, nil)
			session := writeSession(t, ann)
			ann.delete("/api/jobseekers/applications/" + application).ok(200)
			require.Contains(t, callToolError(t, session, "apply", object{"job_id": withdrawn}),
				"already_applied", "an application that was withdrawn")

			withQuestion := boss.listing(object{"questions": []object{{"id": "pin", "text": "Your PIN?", "required": true}}})

			// The key is a part of the error that the arguments cause.
			for want, arguments := range map[string]object{
				"already_applied":             {"job_id": appliedTo},
				"job_not_found":               {"job_id": boss.listing(object{"status": "draft"})},
				"Your PIN?":                   {"job_id": withQuestion},
				"answers.0.question_id":       {"job_id": withQuestion, "answers": []object{{"question_id": "other", "answer": "x"}}},
				"resume_url":                  {"job_id": withQuestion, "resume_url": "javascript:alert(1)"},
				"cover_letter":                {"job_id": withQuestion, "cover_letter": strings.Repeat("x", 20_001)},
				"job_id is required":          {},
				"candidate_id is not an argu": {"job_id": withQuestion, "candidate_id": ann.id},
			} {
				require.Contains(t, callToolError(t, session, "apply", arguments), want)
			}

			require.Contains(t, callToolError(t, writeSession(t, boss), "apply", object{"job_id": withQuestion}), "403 forbidden", "an employer")

			for _, reader := range []*client{
				ann.program(),
				ann.grantApp(server.seeker(t).app(), integrations.ApplicationsRead, integrations.JobsRead),
			} {
				require.Contains(t, callToolError(t, reader.session(t), "apply", object{"job_id": withQuestion}), "applications:write")
			}

			require.Equal(t, 1, countApplications(ann))
		})

		t.Run("concurrent confirmations", func(t *testing.T) {
			t.Parallel()

			ann := server.seeker(t)
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			job := boss.listing(nil)
			code := callTool(t, program.session(t), "apply", object{"job_id": job})["confirmation_code"]

			// 20 concurrent confirmations all succeed, but create one application.
			const requests = 20
			statuses := concurrently(t, requests, func(int) *response {
				return program.tool("apply", object{"job_id": job, "confirmation_code": code})
			})
			require.Equal(t, map[int]int{200: requests}, statuses)
			require.Equal(t, 1, countApplications(ann))
		})
	})
}

// TestMCP_Disabled_IsNotServed checks that LOCUM_MCP_ENABLED=false removes the server and its
// route.
func TestMCP_Disabled_IsNotServed(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	server := start(t, dir, append(setups[0].env(t, dir), "LOCUM_MCP_ENABLED=false")...)
	require.Equal(t, 404, server.guest(t).tool("suggest", object{"q": "lee"}).status)
	require.NotContains(t, server.run(t, "routes"), "/mcp")
}

// RoundTrip implements http.RoundTripper: the MCP library sends its requests with the
// credentials and the address of the client.
func (c *client) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	c.setCredentials(request)
	return http.DefaultTransport.RoundTrip(request)
}

// setCredentials sets the headers with the address, the API key and the token of the client.
func (c *client) setCredentials(request *http.Request) {
	request.Header.Set("X-Forwarded-For", c.ip)

	if c.apiKey != "" {
		request.Header.Set("X-API-Key", c.apiKey)
	}

	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// session connects to the MCP server with the library.
func (c *client) session(t testing.TB) *mcp.ClientSession {
	t.Helper()

	session, err := c.connect(t)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })

	return session
}

// connect is like session but returns the error of a refused connection.
func (c *client) connect(t testing.TB) (*mcp.ClientSession, error) {
	t.Helper()

	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint:   c.server.url + "/mcp",
			HTTPClient: &http.Client{Transport: c},
			MaxRetries: -1, // none
		}, nil)
}

// callTool calls a tool and returns its structured result, which its text repeats for clients
// that do not read structured results.
func callTool(t testing.TB, session *mcp.ClientSession, tool string, arguments object) object {
	t.Helper()

	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.False(t, result.IsError, "%s", textOf(result))
	require.JSONEq(t, encodeJSON(t, result.StructuredContent), textOf(result))

	return result.StructuredContent.(object)
}

// callToolError calls a tool, requires that it fails, and returns the text of its error.
func callToolError(t testing.TB, session *mcp.ClientSession, tool string, arguments object) string {
	t.Helper()

	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.True(t, result.IsError, "%s", textOf(result))

	return textOf(result)
}

// encodeJSON returns v as JSON.
func encodeJSON(t testing.TB, v any) string {
	t.Helper()

	raw, err := json.Marshal(v)
	require.NoError(t, err)

	return string(raw)
}

// metricsOf returns the metrics of the server in the text format of Prometheus.
func metricsOf(t testing.TB, server *testServer) string {
	t.Helper()

	response, err := http.Get(server.url + "/metrics")
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	return string(raw)
}

// textOf returns the text of a tool's result.
func textOf(result *mcp.CallToolResult) string { return result.Content[0].(*mcp.TextContent).Text }

// rpc sends a message to the MCP server without the library, so that it can be malformed. The
// headers are names and values in turn.
func (c *client) rpc(body string, headers ...string) *response {
	c.t.Helper()

	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.server.url+"/mcp", strings.NewReader(body))
	require.NoError(c.t, err)
	c.setCredentials(request)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Protocol-Version", "2025-11-25")

	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}

	res := c.do(request)
	res.repeat = func() *response { return c.rpc(body, headers...) }

	return res
}

// tool calls a tool without the library.
func (c *client) tool(name string, arguments object) *response {
	c.t.Helper()

	return c.rpc(encodeJSON(c.t, object{
		"jsonrpc": "2.0",
		"id":      1,
		"method":  "tools/call",
		"params":  object{"name": name, "arguments": arguments},
	}))
}
