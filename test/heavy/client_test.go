package heavy

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// npmPackage is a temporary folder of TypeScript programs with the packages that they use.
type npmPackage struct {
	t      *testing.T
	server *testServer
	dir    string
}

// newNPMPackage copies the files of the folders and installs their packages.
func newNPMPackage(t *testing.T, server *testServer, folders ...string) *npmPackage {
	t.Helper()

	npm := kit.Tool(t, "npm")

	p := &npmPackage{t: t, server: server, dir: t.TempDir()}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)

		for _, entry := range entries {
			if entry.Type().IsRegular() {
				raw, err := os.ReadFile(filepath.Join(folder, entry.Name()))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(p.dir, entry.Name()), raw, 0o600))
			}
		}
	}

	p.run(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")

	return p
}

// run runs a program in the folder and returns its output.
func (p *npmPackage) run(name string, args ...string) string {
	p.t.Helper()

	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	require.NoError(p.t, err, "%s %v: %s", name, args, out)

	return string(out)
}

// TestTypeScriptClient_MainJob checks that the published TypeScript client works for the main
// tasks against a running server. The compiler checks test/client/main.ts against the committed
// types, and Node runs it.
func TestTypeScriptClient_MainJob(t *testing.T) {
	server := newTestServer(t)
	node := kit.Tool(t, "node")

	server.serve()

	p := newNPMPackage(t, server, "../client", "../../adapters/portal/client")
	p.run("npm", "run", "--silent", "build")
	require.Contains(t, p.run(node, "built/main.js", server.url), "the main job is done")
}

// TestTypeScriptClient_DeveloperAPI checks the developer API with unchanged programs of third
// parties: a client that is generated from the OpenAPI document calls every operation,
// openid-client runs the code flow, and the Standard Webhooks library verifies the deliveries
// that Node receives.
func TestTypeScriptClient_DeveloperAPI(t *testing.T) {
	server := newTestServer(t)
	node := kit.Tool(t, "node")
	address := kit.Address(t)
	server.env = []string{
		"LOCUM_HTTP_ADDR=" + address,
		"LOCUM_HTTP_PUBLIC_URL=http://" + address, // OAuth clients require that it is the issuer
		"LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true",
	}
	server.serve()

	p := newNPMPackage(t, server, "../developer-client")
	document, err := server.command("openapi", "developer").Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "developer.json"), document, 0o600))
	p.run("npm", "run", "--silent", "generate")
	p.run("npm", "run", "--silent", "build")

	for program, want := range map[string]string{
		"oauth":    "the code flow works",
		"webhooks": "deliveries verify",
		"every":    "all 6 operations work",
	} {
		t.Run(program, func(t *testing.T) {
			require.Contains(t, p.runWithBrowsers(t, node, "built/"+program+".js", server.url), want)
		})
	}
}

// runWithBrowsers runs a program that prints lines "visit EMAIL PASSWORD URL", opens these pages
// as the users' browsers, answers with the URL to which each is redirected, and returns the rest
// of the program's output.
func (p *npmPackage) runWithBrowsers(t *testing.T, name string, args ...string) string {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = p.dir
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)

	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	var stderr, output strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if visit := strings.Fields(lines.Text()); len(visit) == 4 && visit[0] == "visit" {
			email, password, page := visit[1], visit[2], visit[3]
			_, err := io.WriteString(in, p.server.grantConsent(t, email, password, page)+"\n")
			require.NoError(t, err)
			continue
		}

		output.WriteString(lines.Text() + "\n")
	}

	require.NoError(t, cmd.Wait(), "%s%s", output.String(), stderr.String())

	return output.String()
}

// grantConsent opens the page with a new browser, which is redirected to the sign-in page, signs
// in, consents unless the user has done so before, and returns where the browser is redirected.
func (s *testServer) grantConsent(t *testing.T, email, password, page string) string {
	t.Helper()
	const noProxy = "" // the server sees the address of the connection
	browser := kit.NewBrowser(t, s.url, noProxy)
	path := strings.TrimPrefix(page, s.url)
	signedOut := browser.Open(http.MethodGet, path, nil)
	signIn, err := url.Parse(signedOut.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "/developers/sign-in", signIn.Path, signedOut.Text)
	require.Equal(t, path, signIn.Query().Get("next"))

	signedIn := browser.SignIn(email, password)
	require.Equal(t, http.StatusSeeOther, signedIn.Status, signedIn.Text)

	consent := browser.Open(http.MethodGet, path, nil)
	if consent.Status == http.StatusOK {
		consent = browser.Decide(path, "allow", consent.CSRFToken(t))
	}

	require.Equal(t, http.StatusSeeOther, consent.Status, consent.Text)

	return consent.Header.Get("Location")
}
