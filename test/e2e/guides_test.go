package e2e

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// guidesDir is the directory with the sources of the guides.
const guidesDir = "../../adapters/fiberhttp/guides"

// guideText returns a guide in Markdown.
func guideText(t testing.TB, name string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(guidesDir, name+".md"))
	require.NoError(t, err)

	return string(text)
}

// guideBlocks returns the code blocks of a language in a guide, in their order.
func guideBlocks(t testing.TB, name, language string) (blocks []string) {
	t.Helper()

	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(guideText(t, name), -1) {
		blocks = append(blocks, block[1])
	}

	require.NotEmpty(t, blocks)

	return blocks
}

// guide returns all code blocks of a language in a guide, joined to one program.
func guide(t testing.TB, name, language string) string {
	t.Helper()
	return strings.Join(guideBlocks(t, name, language), "")
}

// atServer replaces the address that the guides have for the server by that of the server under
// test.
func (s *testServer) atServer(script string) string {
	return strings.ReplaceAll(script, "http://localhost:8080", s.url)
}

// TestGuides_Pasted_Work checks that the commands of the guides "quick-start", "pages" and "limits" work as
// documented. They are executed in one shell, because later guides use the variables of the quick start,
// such as the key that it creates.
func TestGuides_Pasted_Work(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		server.employer(t).listing(object{"title": "Staff Nurse", "location": "Leeds"})

		// The line PAGES separates the output of the two guides.
		quickStart := server.atServer(guide(t, "quick-start", "sh"))
		script := quickStart + "\necho; echo PAGES\n" + server.atServer(guide(t, "pages", "sh"))
		output, err := exec.Command("bash", "-ec", script).CombinedOutput()
		require.NoError(t, err, "%s", output)

		// The quick start prints two responses with jobs. The guide to pages prints the status of a request
		// that is repeated with the ETag of the first response: nothing has changed.
		jobs, status, _ := strings.Cut(string(output), "PAGES")
		require.Equal(t, 2, strings.Count(jobs, `{"data":`), jobs)
		require.Contains(t, jobs, `"title":"Staff Nurse"`)
		require.Contains(t, jobs, `"distance_miles":0`)
		require.Equal(t, "304", strings.TrimSpace(status))

		if _, err := exec.LookPath("python3"); err != nil {
			return // this machine has no Python
		}

		// The guide to limits has a function get in Python. It is called with the key of the quick start, which
		// assigns the variable KEY.
		require.Regexp(t, `KEY=\$\(.*\)\n`, script)

		program := guide(t, "limits", "python") + "\nimport os\nprint(get(os.environ['URL'], os.environ['KEY']).decode())\n"
		python := exec.Command("bash", "-ec", quickStart+"\nKEY=$KEY URL=\"$BASE/api/v1/jobs\" python3 -c \"$PROGRAM\"")
		python.Env = append(os.Environ(), "PROGRAM="+program)
		output, err = python.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Contains(t, string(output), `"pagination"`)
	})
}

// TestMCPGuide_Pasted_Works checks that the commands of the guide to MCP (Model Context Protocol) work with
// the key that the quick start creates.
func TestMCPGuide_Pasted_Works(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		server.employer(t).listing(object{"title": "Staff Nurse", "location": "Leeds"})

		script := server.atServer(guide(t, "quick-start", "sh") + "\necho; echo MCP\n" + guide(t, "mcp", "sh"))
		output, err := exec.Command("bash", "-euc", script).CombinedOutput()
		require.NoError(t, err, "%s", output)

		_, answers, _ := strings.Cut(string(output), "MCP")
		require.Contains(t, answers, `"name":"apply"`)
		require.Contains(t, answers, `"structuredContent":{"data":[{`)
		require.Contains(t, answers, "Staff Nurse")
	})
}

// TestOAuthGuide_Pasted_Works checks that the commands of the guide to OAuth work. The test does what the
// guide asks its reader to do: it replaces the placeholders in the first block by the credentials of an app,
// and opens the printed address as a user who consents.
func TestOAuthGuide_Pasted_Works(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		app := server.thirdParty(t, nil)
		job := server.employer(t).listing(nil)

		blocks := guideBlocks(t, "oauth", "sh")
		require.Len(t, blocks, 8)

		var (
			credentials = blocks[0] // assigns placeholders to variables
			authorize   = blocks[1] // prints the address of the consent page
			codeOf      = blocks[2] // assigns the code of the redirect
			exchange    = blocks[3] // gets tokens for the code
			read        = blocks[4] // reads jobs with the access token
			apply       = blocks[5] // applies for a job
			refresh     = blocks[6] // gets new tokens, which ends the old access token
			revoke      = blocks[7] // ends the tokens
		)

		// assign returns the block with another value in its assignment of the variable.
		assign := func(block, variable, value string) string {
			t.Helper()

			assignment := regexp.MustCompile(`(?m)^` + variable + `=\S+`)
			require.Len(t, assignment.FindAllString(block, -1), 1, variable)

			return assignment.ReplaceAllLiteralString(block, variable+"='"+value+"'")
		}

		credentials = assign(credentials, "BASE", server.url)
		credentials = assign(credentials, "CLIENT_ID", app.ClientID)
		credentials = assign(credentials, "CLIENT_SECRET", app.ClientSecret)
		credentials = assign(credentials, "REDIRECT_URI", callback)

		// run executes the scripts after the credentials in one shell, and returns the output of each. The line
		// NEXT separates the outputs.
		run := func(scripts ...string) []string {
			t.Helper()

			shell := exec.Command("bash", "-euc", credentials+strings.Join(scripts, "\necho; echo NEXT\n"))
			shell.Env = []string{"PATH=" + os.Getenv("PATH")}
			output, err := shell.CombinedOutput()
			require.NoError(t, err, "%s", output)

			return strings.Split(string(output), "\nNEXT\n")
		}

		// The user consents on the page whose address the guide prints.
		authorized := run(authorize, "echo $VERIFIER")
		printedAddress, verifier := strings.TrimSpace(authorized[0]), authorized[1]
		consentPage := strings.TrimPrefix(printedAddress, server.url)
		browser := server.signedIn(t, server.seeker(t))
		redirect := browser.requireNoServerError(browser.Allow(consentPage))
		location, err := url.Parse(redirect.header.Get("Location"))
		require.NoError(t, err)

		// The other blocks are executed in the order of the guide. Requests with tokens that were ended are
		// added between them.
		readWithOldToken := strings.ReplaceAll(read, "$ACCESS_TOKEN", "$OLD")
		outputs := run(
			"VERIFIER="+verifier+assign(codeOf, "CODE", location.Query().Get("code")),
			exchange,
			read,
			apply,
			"OLD=$ACCESS_TOKEN\n"+refresh,
			read,
			readWithOldToken,
			revoke,
			read,
		)
		require.Contains(t, outputs[1], `"access_token":"loc_at_`)
		require.Contains(t, outputs[2], `"pagination"`)
		require.Contains(t, outputs[3], `"job_id":"`+job)
		require.Contains(t, outputs[4], `"access_token":"loc_at_`)
		require.Contains(t, outputs[5], `"pagination"`)
		require.Contains(t, outputs[6], `"status":401`, "the refresh ended the old token")
		require.Contains(t, outputs[8], `"status":401`, "the token was revoked")
	})
}

// TestGuides_LinkToEachOther checks that every guide can be reached from the list of guides,
// and that no link between guides is broken.
func TestGuides_LinkToEachOther(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		get := func(path string) (_ *http.Response, text string) {
			response, err := http.Get(server.url + path)
			require.NoError(t, err)

			defer func() { _ = response.Body.Close() }()

			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)

			return response, string(body)
		}

		// Follow every link from guide to guide, beginning with the list of guides.
		links := regexp.MustCompile(`href="(/docs/guides/[a-z-]+)"`)

		visited, unvisited := map[string]bool{}, []string{"/docs/guides"}
		for len(unvisited) > 0 {
			path := unvisited[0]
			unvisited = unvisited[1:]

			if visited[path] {
				continue
			}

			visited[path] = true
			response, body := get(path)
			require.Equal(t, 200, response.StatusCode, path)
			require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'")
			require.Contains(t, body, "<h1>", path)

			for _, link := range links.FindAllStringSubmatch(body, -1) {
				unvisited = append(unvisited, link[1])
			}
		}

		require.Greater(t, len(visited), 5, "the list of guides has few links")

		// The script of the guides copies their commands.
		script, scriptText := get("/assets/script.js")
		require.Equal(t, 200, script.StatusCode)
		require.Contains(t, scriptText, "clipboard")

		_, quickStart := get("/docs/guides/quick-start")
		require.Contains(t, quickStart, `src="/assets/script.js?v=`)

		unknown, _ := get("/docs/guides/nothing")
		require.Equal(t, 404, unknown.StatusCode)
	})
}
