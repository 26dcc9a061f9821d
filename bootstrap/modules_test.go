package bootstrap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
)

// TestComplete_MissingPorts_AreNamed checks that the error names missing collaborators by field,
// also those in embedded structs.
func TestComplete_MissingPorts_AreNamed(t *testing.T) {
	t.Parallel()

	err := checkDeps("billing", billing.Deps{PublicURL: "https://locum.example"})
	require.ErrorContains(t, err, "billing.Payments")
	require.ErrorContains(t, err, "billing.Charges")

	err = checkDeps("hiring", hiring.Service{Shared: &hiring.Shared{}, ExportService: &hiring.ExportService{}})
	require.ErrorContains(t, err, "hiring.Shared.Mailer")
	require.ErrorContains(t, err, "hiring.ExportService.Files")
}
