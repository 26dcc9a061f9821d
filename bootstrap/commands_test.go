package bootstrap

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommandGroup_NoSubcommand_ReturnsError checks that a group of commands without a valid
// subcommand is an error of one line that lists the subcommands, so that scripts fail, instead
// of help with exit status 0.
func TestCommandGroup_NoSubcommand_ReturnsError(t *testing.T) {
	t.Parallel()

	for typed, wantErr := range map[string]string{
		"openapi":         "openapi: want one of developer, portal; `locum openapi --help` tells more",
		"openapi nope":    "openapi: there is no command \"nope\"; want one of developer, portal; `locum openapi --help` tells more",
		"developers":      "developers: want one of plan; `locum developers --help` tells more",
		"developers nope": "there is no command \"nope\"",
		"webhooks nope":   "want one of listen, trigger",
		"migrate":         "want one of down, status, up",
		"migrate nope":    "want one of down, status, up",
		"tasks nope":      "want one of drop, list, retry",
		"users nope":      "want one of lock, reset-second-factor, show, sign-out, unlock",
		"listings nope":   "want one of hide, show",
		"audit nope":      "want one of list",
		"nope":            "unknown command \"nope\"",
	} {
		var output bytes.Buffer
		locum := command(newRegistry(nil))
		locum.SetArgs(strings.Fields(typed))
		locum.SetOut(&output)
		locum.SetErr(&output)

		err := locum.ExecuteContext(t.Context())
		require.ErrorContains(t, err, wantErr, typed)
		require.Empty(t, output.String(), typed)
		require.NotContains(t, err.Error(), "\n", typed)
	}
}
