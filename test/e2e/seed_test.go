package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// demoAccount matches a line of data/demo.txt: the address and the password of a demo account.
var demoAccount = regexp.MustCompile(`(?m)^([a-z]+@locum\.example) +(\S+) `)

// TestSeed checks the demo data: it is never added to a store with users or to a public
// installation, its accounts cannot sign in if the server has a public URL, and it can be
// removed without other data.
func TestSeed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seed := func(more []string, args ...string) (string, error) {
			cmd := exec.Command(kit.Program(t), append([]string{"seed"}, args...)...)
			cmd.Dir, cmd.Env = server.dir, append(append([]string{}, server.env...), more...)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		login := func(account []string) *response {
			return server.guest(t).post("/api/auth/login", object{"email": account[1], "password": account[2]})
		}

		out, err := seed([]string{"LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org"})
		require.Error(t, err)
		require.Contains(t, out, "http.public_url")

		out, err = seed(nil)
		require.NoError(t, err, "%s", out)
		file := filepath.Join(server.dir, "data", "demo.txt")
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, out, string(kept))
		info, err := os.Stat(file)
		require.NoError(t, err)
		// The file contains passwords.
		require.Equal(t, os.FileMode(0o600), info.Mode())
		accounts := demoAccount.FindAllStringSubmatch(string(kept), -1)
		require.Len(t, accounts, 4)
		for _, a := range accounts {
			login(a).ok(200)
		}

		out, err = seed(nil)
		require.Error(t, err)
		require.Contains(t, out, "the store has users")
		out, err = seed(nil, "--optional")
		require.NoError(t, err)
		require.Contains(t, out, "no demo data is added: the store has users")

		server.stop(t)
		// An installation for tests may become a public one with the demo accounts in it.
		server.env = append(server.env, "LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org")
		server.serve(t)
		for _, a := range accounts {
			login(a).fails(401, "Invalid email or password")
		}
		server.env = server.env[:len(server.env)-1]
		server.stop(t)
		server.serve(t)

		server.employer(t).listing(object{"title": "Registered Midwife"})
		out, err = seed(nil, "--remove")
		require.NoError(t, err, "%s", out)
		require.Contains(t, out, "200 listings")
		require.NoFileExists(t, file)
		for _, a := range accounts {
			login(a).fails(401, "Invalid email or password")
		}
		require.Eventually(t, func() bool {
			return server.guest(t).get("/api/listings").ok(200).number("data.pagination.total") == 1
		}, waitTimeout, 200*time.Millisecond, "serve notices a foreign write")
		out, err = seed(nil, "--remove")
		require.NoError(t, err)
		require.Contains(t, out, "removed 0 demo accounts and 0 listings")
		require.NotContains(t, strings.ToLower(server.log.String()), "panic")
	})
}

// TestMigrateDown_StoreHasUsers_NeedsYes checks that `migrate down`, which deletes data, needs
// --yes if the store has users.
func TestMigrateDown_StoreHasUsers_NeedsYes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		server.employer(t)
		server.stop(t)
		cmd := exec.Command(kit.Program(t), "migrate", "down")
		cmd.Dir, cmd.Env = server.dir, server.env
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "--yes")
		require.Contains(t, server.run(t, "migrate", "down", "--yes"), "reverted")
		require.Contains(t, server.run(t, "migrate", "up"), "applied")
	})
}
