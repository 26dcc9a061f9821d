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

// seed runs `locum seed` with additional settings and arguments.
func (s *testServer) seed(t *testing.T, additionalEnv []string, args ...string) (output string, err error) {
	t.Helper()

	cmd := exec.Command(kit.Program(t), append([]string{"seed"}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = slices.Concat(s.env, additionalEnv)
	out, err := cmd.CombinedOutput()

	return string(out), err
}

// restartWith stops the server and starts it again with another environment.
func (s *testServer) restartWith(t *testing.T, env []string) {
	t.Helper()
	s.stop(t)

	s.env = env
	s.serve(t)
}

// publicURL is a setting that makes an installation a public one.
const publicURL = "LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org"

// TestSeed checks the demo data: it is never added to a store with users or to a public
// installation, its accounts cannot sign in if the server has a public URL, and it can be
// removed without other data. The subtests depend on each other.
func TestSeed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		file := filepath.Join(server.dir, "data", "demo.txt") // the accounts
		var accounts [][]string                               // the matches of demoAccount in the file

		// login signs in with the address and the password of a match of demoAccount.
		login := func(demoAccountMatch []string) *response {
			email, demoPassword := demoAccountMatch[1], demoAccountMatch[2]
			return server.guest(t).post("/api/auth/login", object{"email": email, "password": demoPassword})
		}

		t.Run("a server with a public URL gets no demo data", func(t *testing.T) {
			out, err := server.seed(t, []string{publicURL})
			require.Error(t, err)
			require.Contains(t, out, "http.public_url")
		})

		t.Run("the first call adds the data and writes the accounts to a file and to its output", func(t *testing.T) {
			out, err := server.seed(t, nil)
			require.NoError(t, err, "%s", out)

			accountsFile, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, out, string(accountsFile))

			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode(), "the file contains passwords")

			accounts = demoAccount.FindAllStringSubmatch(string(accountsFile), -1)
			require.Len(t, accounts, 4)

			for _, account := range accounts {
				login(account).ok(200)
			}
		})

		t.Run("a second call adds nothing", func(t *testing.T) {
			out, err := server.seed(t, nil)
			require.Error(t, err)
			require.Contains(t, out, "the store has users")

			out, err = server.seed(t, nil, "--optional")
			require.NoError(t, err)
			require.Contains(t, out, "no demo data is added: the store has users")
		})

		// An installation for tests may become a public one with the demo accounts in it.
		privateEnv := server.env
		publicEnv := append(slices.Clip(privateEnv), publicURL)
		server.restartWith(t, publicEnv)

		t.Run("the accounts cannot sign in once the server has a public URL", func(t *testing.T) {
			for _, account := range accounts {
				login(account).fails(401, "Invalid email or password")
			}
		})

		server.restartWith(t, privateEnv)

		t.Run("the removal deletes the demo data and keeps other listings", func(t *testing.T) {
			server.employer(t).listing(object{"title": "Registered Midwife"})

			out, err := server.seed(t, nil, "--remove")
			require.NoError(t, err, "%s", out)
			require.Contains(t, out, "200 listings")
			require.NoFileExists(t, file)

			for _, account := range accounts {
				login(account).fails(401, "Invalid email or password")
			}

			// The server applies the change of the other process.
			isOtherListingLeft := func() bool {
				return server.guest(t).get("/api/listings").ok(200).number("data.pagination.total") == 1
			}
			require.Eventually(t, isOtherListingLeft, waitTimeout, 200*time.Millisecond)
		})

		t.Run("a second removal finds nothing", func(t *testing.T) {
			out, err := server.seed(t, nil, "--remove")
			require.NoError(t, err)
			require.Contains(t, out, "removed 0 demo accounts and 0 listings")
		})

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
