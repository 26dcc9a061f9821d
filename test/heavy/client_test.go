package heavy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// The types of the client are generated from the document of the running
// server by openapi-typescript; the TypeScript compiler holds test/client/main.ts
// to them, and Node runs it.
func TestAGeneratedTypeScriptClientDoesTheMainJob(t *testing.T) {
	s := newStage(t)
	node, npm := kit.Tool(t, "node"), kit.Tool(t, "npm")
	s.serve()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", "main.ts", ".npmrc"} {
		raw, err := os.ReadFile(filepath.Join("..", "client", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return string(out)
	}
	run(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	document, err := s.command("openapi", "portal").Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "portal.json"), document, 0o600))
	run(npm, "run", "--silent", "generate")
	run(npm, "run", "--silent", "build")
	require.Contains(t, run(node, "built/main.js", s.url), "the main job is done")
}
