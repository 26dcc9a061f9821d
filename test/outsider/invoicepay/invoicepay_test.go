package invoicepay_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/outsider/invoicepay"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/conformance"
)

// open opens the adapter with a folder for invoices.
func open(t testing.TB, folder string) billing.Payments {
	t.Helper()

	payments, err := invoicepay.Open(t.Context(), "invoice:"+folder, adapters.Deps{Clock: clock.System{}})
	require.NoError(t, err)

	return payments
}

// TestPayments_Conformance runs the suite for payments without the cases of confirmation, which
// invoices do not need.
func TestPayments_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Payments(t, func(t testing.TB) conformance.PaymentProvider {
		folder := t.TempDir()

		return conformance.PaymentProvider{
			Connect:  func() billing.Payments { return open(t, folder) },
			Clock:    clock.System{},
			Good:     conformance.Always(invoicepay.Net30),
			Refused:  conformance.Always(invoicepay.Net90),
			Expiring: conformance.Always(invoicepay.Once),
			Unknown:  conformance.Always("pm_card_visa"),
		}
	})
}

// TestCharge_OwnerErased_InvoiceHasNoOwner checks that an invoice, which must be retained, no
// longer contains the id of the user whose account was deleted.
func TestCharge_OwnerErased_InvoiceHasNoOwner(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	payments := open(t, folder)
	owner := billing.Owner{Kind: billing.User, ID: "018f0000-0000-7000-8000-000000000001"}
	number, err := payments.Charge(
		t.Context(),
		billing.Bill{
			Key:         "018f0000-0000-7000-8000-000000000002",
			Owner:       owner,
			MethodID:    invoicepay.Net14,
			Amount:      billing.Money{Minor: 999, Currency: "GBP"},
			Description: "Premium",
			CreatedAt:   time.Now(),
		},
	)
	require.NoError(t, err)
	require.Equal(t, "INV-018f0000-0000-7000-8000-000000000002", number)

	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, payments.Forget(t.Context(), owner))

	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Contains(t, string(text), number)
	require.NotContains(t, string(text), owner.ID)
}

func TestOpen_NoFolder_Fails(t *testing.T) {
	t.Parallel()

	_, err := invoicepay.Open(t.Context(), "invoice:", adapters.Deps{})
	require.ErrorContains(t, err, "want invoice:FOLDER")
}
