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

// guides is the directory of the guides.
const guides = "../../adapters/fiberhttp/guides"

// guideText returns a guide in Markdown.
func guideText(t testing.TB, name string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(guides, name+".md"))
	require.NoError(t, err)

	return string(text)
}

// guide returns the code blocks of a language in a guide.
func guide(t testing.TB, name, language string) string {
	t.Helper()

	var out strings.Builder
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(guideText(t, name), -1) {
		out.WriteString(block[1])
	}

	require.NotEmpty(t, out.String())

	return out.String()
}

// TestGuides_Pasted_Work checks that the commands of the guides work as documented. They are
// executed in one shell, because later guides use the variables of earlier ones.
func TestGuides_Pasted_Work(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		server.employer(t).listing(object{"title": "Staff Nurse", "location": "Leeds"})

		script := guide(t, "quick-start", "sh") + "\necho; echo PAGES\n" + guide(t, "pages", "sh")
		out, err := exec.Command("bash", "-ec", strings.ReplaceAll(script, "http://localhost:8080", server.url)).CombinedOutput()
		require.NoError(t, err, "%s", out)

		jobs, pages, _ := strings.Cut(string(out), "PAGES")
		require.Equal(t, 2, strings.Count(jobs, `{"data":`), jobs)
		require.Contains(t, jobs, `"title":"Staff Nurse"`)
		require.Contains(t, jobs, `"distance_miles":0`)
		require.Equal(t, "304", strings.TrimSpace(pages)) // the last command repeats a request with the ETag

		if _, err := exec.LookPath("python3"); err == nil {
			key := regexp.MustCompile(`KEY=\$\(.*\)\n`).FindString(script)
			require.NotEmpty(t, key)

			program := guide(t, "limits", "python") + "\nimport os\nprint(get(os.environ['URL'], os.environ['KEY']).decode())\n"
			python := exec.Command("bash", "-ec", strings.ReplaceAll(guide(t, "quick-start", "sh"), "http://localhost:8080", server.url)+
				"\nKEY=$KEY URL=\"$BASE/api/v1/jobs\" python3 -c \"$PROGRAM\"")
			python.Env = append(os.Environ(), "PROGRAM="+program)
			out, err := python.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), `"pagination"`)
		}
	})
}

// TestMCPGuide_Pasted_Works checks that the commands of the MCP guide work with the key of the
// quick start.
func TestMCPGuide_Pasted_Works(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		server.employer(t).listing(object{"title": "Staff Nurse", "location": "Leeds"})

		script := guide(t, "quick-start", "sh") + "\necho; echo MCP\n" + guide(t, "mcp", "sh")
		out, err := exec.Command("bash", "-euc", strings.ReplaceAll(script, "http://localhost:8080", server.url)).CombinedOutput()
		require.NoError(t, err, "%s", out)

		_, answers, _ := strings.Cut(string(out), "MCP")
		require.Contains(t, answers, `"name":"apply"`)
		require.Contains(t, answers, `"structuredContent":{"data":[{`)
		require.Contains(t, answers, "Staff Nurse")
	})
}

// TestOAuthGuide_Pasted_Works checks that the commands of the OAuth guide work with the
// credentials of an app in its first block, and with a user who consents before the code is
// exchanged.
func TestOAuthGuide_Pasted_Works(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		party := server.thirdParty(t, nil)
		job := server.employer(t).listing(nil)

		var blocks []string
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(guideText(t, "oauth"), -1) {
			blocks = append(blocks, block[1])
		}

		require.Len(t, blocks, 8)

		// with replaces the value of a variable that the block assigns.
		with := func(block, name, value string) string {
			t.Helper()

			assigned := regexp.MustCompile(`(?m)^` + name + `=\S+`)
			require.Len(t, assigned.FindAllString(block, -1), 1, name)

			return assigned.ReplaceAllLiteralString(block, name+"='"+value+"'")
		}

		own := with(
			with(with(with(blocks[0], "BASE", server.url), "CLIENT_ID", party.ClientID), "CLIENT_SECRET", party.ClientSecret),
			"REDIRECT_URI",
			callback,
		)
		paste := func(script ...string) []string {
			t.Helper()

			shell := exec.Command("bash", "-euc", own+strings.Join(script, "\necho; echo NEXT\n"))
			shell.Env = []string{"PATH=" + os.Getenv("PATH")}
			out, err := shell.CombinedOutput()
			require.NoError(t, err, "%s", out)

			return strings.Split(string(out), "\nNEXT\n")
		}

		authorization := paste(blocks[1], "echo $VERIFIER")
		path := strings.TrimPrefix(strings.TrimSpace(authorization[0]), server.url)
		b := server.signedIn(t, server.seeker(t))
		to, err := url.Parse(b.requireNoServerError(b.Allow(path)).header.Get("Location"))
		require.NoError(t, err)

		verifier := "VERIFIER=" + authorization[1]
		read := blocks[4]
		readOld := strings.ReplaceAll(blocks[4], "$ACCESS_TOKEN", "$OLD")

		// Block 3 gets a token, block 5 applies for a job, block 6 refreshes the token, which ends
		// the old one, and block 7 revokes it.
		outputs := paste(verifier+with(blocks[2], "CODE", to.Query().Get("code")), blocks[3], read, blocks[5], "OLD=$ACCESS_TOKEN\n"+blocks[6], read, readOld, blocks[7], read)[1:]
		require.Contains(t, outputs[0], `"access_token":"loc_at_`)
		require.Contains(t, outputs[1], `"pagination"`)
		require.Contains(t, outputs[2], `"job_id":"`+job)
		require.Contains(t, outputs[3], `"access_token":"loc_at_`)
		require.Contains(t, outputs[4], `"pagination"`)
		require.Contains(t, outputs[5], `"status":401`, "it ended with the refresh")
		require.Contains(t, outputs[7], `"status":401`, "it was revoked")
	})
}

// TestGuides_LinkToEachOther checks that every guide can be reached from the list of guides,
// and that no link between guides is broken.
func TestGuides_LinkToEachOther(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		get := func(path string) (*http.Response, string) {
			response, err := http.Get(server.url + path)
			require.NoError(t, err)

			defer func() { _ = response.Body.Close() }()

			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)

			return response, string(body)
		}

		links := regexp.MustCompile(`href="(/docs/guides/[a-z-]+)"`)

		seen, waiting := map[string]bool{}, []string{"/docs/guides"}
		for len(waiting) > 0 {
			path := waiting[0]
			waiting = waiting[1:]

			if seen[path] {
				continue
			}

			seen[path] = true
			response, body := get(path)
			require.Equal(t, 200, response.StatusCode, path)
			require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'")
			require.Contains(t, body, "<h1>", path)

			for _, link := range links.FindAllStringSubmatch(body, -1) {
				waiting = append(waiting, link[1])
			}
		}

		require.Greater(t, len(seen), 5)

		_, start := get("/docs/guides/quick-start")
		script, text := get("/assets/script.js")
		require.Equal(t, 200, script.StatusCode)
		require.Contains(t, text, "clipboard")
		require.Contains(t, start, `src="/assets/script.js?v=`)

		response, _ := get("/docs/guides/nothing")
		require.Equal(t, 404, response.StatusCode)
	})
}
