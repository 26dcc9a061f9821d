package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
		// seed runs `locum seed` with additional settings and arguments.
		seed := func(additionalEnv []string, args ...string) (output string, err error) {
			cmd := exec.Command(kit.Program(t), append([]string{"seed"}, args...)...)
			cmd.Dir = server.dir
			cmd.Env = slices.Concat(server.env, additionalEnv)
			out, err := cmd.CombinedOutput()

			return string(out), err
		}

		// login signs in with the address and the password of a match of demoAccount.
		login := func(demoAccountMatch []string) *response {
			email, demoPassword := demoAccountMatch[1], demoAccountMatch[2]
			return server.guest(t).post("/api/auth/login", object{"email": email, "password": demoPassword})
		}

		// A server with a public URL gets no demo data.
		out, err := seed([]string{"LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org"})
		require.Error(t, err)
		require.Contains(t, out, "http.public_url")

		// The first call adds the data, and writes the demo accounts to a file and to its output.
		out, err = seed(nil)
		require.NoError(t, err, "%s", out)

		file := filepath.Join(server.dir, "data", "demo.txt")
		accountsFile, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, out, string(accountsFile))

		info, err := os.Stat(file)
		require.NoError(t, err)

		require.Equal(t, os.FileMode(0o600), info.Mode(), "the file contains passwords")

		accounts := demoAccount.FindAllStringSubmatch(string(accountsFile), -1)
		require.Len(t, accounts, 4)

		for _, account := range accounts {
			login(account).ok(200)
		}

		// A second call adds nothing. With --optional it is no error.
		out, err = seed(nil)
		require.Error(t, err)
		require.Contains(t, out, "the store has users")

		out, err = seed(nil, "--optional")
		require.NoError(t, err)
		require.Contains(t, out, "no demo data is added: the store has users")

		server.stop(t)

		// An installation for tests may become a public one with the demo accounts in it. Their passwords are then refused.
		privateEnv := server.env
		server.env = append(slices.Clip(privateEnv), "LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org")
		server.serve(t)

		for _, account := range accounts {
			login(account).fails(401, "Invalid email or password")
		}

		server.env = privateEnv
		server.stop(t)
		server.serve(t)

		// The removal deletes the demo data, and keeps the listing of another employer.
		server.employer(t).listing(object{"title": "Registered Midwife"})

		out, err = seed(nil, "--remove")
		require.NoError(t, err, "%s", out)
		require.Contains(t, out, "200 listings")
		require.NoFileExists(t, file)

		for _, account := range accounts {
			login(account).fails(401, "Invalid email or password")
		}

		require.Eventually(t, func() bool {
			return server.guest(t).get("/api/listings").ok(200).number("data.pagination.total") == 1
		}, waitTimeout, 200*time.Millisecond, "the server applies the change of another process")

		// A second removal finds nothing.
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
		cmd.Dir = server.dir
		cmd.Env = server.env
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "--yes")
		require.Contains(t, server.run(t, "migrate", "down", "--yes"), "reverted")
		require.Contains(t, server.run(t, "migrate", "up"), "applied")
	})
}
