package e2e

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSearch_TooManyExclusionsOrPhrases_Refused checks the limits of the most expensive parts
// of a search text, five excluded words and three phrases, in every search.
func TestSearch_TooManyExclusionsOrPhrases_Refused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		seeker := server.seeker(t)

		employer.listing(object{"title": "Nurse", "location": "Leeds"})

		program := employer.program()
		for _, search := range []struct{ allowed, tooMany string }{
			{allowed: "nurse -a1 -b1 -c1 -d1 -e1", tooMany: "nurse -a1 -b1 -c1 -d1 -e1 -f1"},
			{allowed: `"a b" "c d" "e f"`, tooMany: `"a b" "c d" "e f" "g h"`},
		} {
			guest := server.guest(t)
			guest.get("/api/listings?search=" + escapeQuery(search.allowed)).ok(200)
			guest.get("/api/listings?search="+escapeQuery(search.tooMany)).fails(400, "Invalid filter parameters")
			guest.post("/api/listings/search", object{"query": search.allowed}).ok(200)
			guest.post("/api/listings/search", object{"query": search.tooMany}).fails(400, "Invalid search query")
			seeker.get("/api/jobseekers/search?q=" + escapeQuery(search.allowed)).ok(200)
			seeker.get("/api/jobseekers/search?q=" + escapeQuery(search.tooMany)).invalid("q")
			program.try("GET", "/v1/jobs?keywords="+escapeQuery(search.tooMany), nil).problem(400, "invalid_parameters")
		}
	})
}

// TestSearch_NetworkOverBudget_RateLimited checks that the searches of one network may only
// take a limited CPU time, here 1 ms in 10 s, and that another network is not affected.
func TestSearch_NetworkOverBudget_RateLimited(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		server.employer(t).listing(object{"title": "Nurse", "location": "Leeds"})

		guest := server.guest(t)
		refused := guest.until(429, "POST", "/api/listings/search", object{"query": "nurse leeds"})
		refused.fails(429, "Rate limit exceeded")

		after, err := strconv.Atoi(refused.header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, after)
		server.guest(t).post("/api/listings/search", object{"query": "nurse leeds"}).ok(200)
	}, "LOCUM_LIMITS_SEARCH_CPU=0.001")
}

// until repeats the request until the response has the status.
func (c *client) until(status int, method, path string, body any) *response {
	c.t.Helper()

	for range 1000 {
		if resp := c.send(method, path, body); resp.status == status {
			return resp
		}
	}

	require.Fail(c.t, "no such status", "%d to %s %s", status, method, path)

	return nil
}
