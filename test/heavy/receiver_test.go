package heavy

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestGuide_NodeReceiver_VerifiesDeliveries checks that the receiver in the guide works as it is
// printed, with the package that the guide installs.
func TestGuide_NodeReceiver_VerifiesDeliveries(t *testing.T) {
	server := newTestServer(t)
	server.env = []string{"LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true"}
	node, npm := kit.Tool(t, "node"), kit.Tool(t, "npm")

	server.serve()

	text, err := os.ReadFile(filepath.Join("..", "..", "adapters", "fiberhttp", "guides", "webhooks.md"))
	require.NoError(t, err)

	program := regexp.MustCompile("(?s)```js\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, program)

	dir := installNPM(t, npm, "receiver")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "receiver.mjs"), program[1], 0o600))
	kit.CheckReceiver(t, server.url, func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, node, filepath.Join(dir, "receiver.mjs"))
	})
}

// installNPM returns a folder with the npm packages that the lock file in ../name
// lists.
func installNPM(t *testing.T, npm, name string) string {
	t.Helper()

	dir := t.TempDir()
	for _, file := range []string{"package.json", "package-lock.json", ".npmrc"} {
		raw, err := os.ReadFile(filepath.Join("..", name, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), raw, 0o600))
	}

	cmd := exec.CommandContext(t.Context(), npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	return dir
}
