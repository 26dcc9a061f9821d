package billing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
)

// TestHoldsCardNumber_AnyPosition_Found checks that a request with the number of a card,
// which must not reach logs and storages, is recognized in every position and encoding. Other
// long numbers, which fail the Luhn check or have another length, are not.
func TestHoldsCardNumber_AnyPosition_Found(t *testing.T) {
	t.Parallel()

	// 4242424242424242 and 378282246310005 are card numbers for tests. The first two texts have it as a
	// value. In the others, it is a part of a value, a number, escaped, a name, or not in JSON.
	for _, body := range []string{
		`{"paymentMethodId":"4242424242424242"}`,
		`{"paymentMethodId":"4242 4242 4242 4242"}`,
		`{"x":{"y":["pan 4242-4242-4242-4242."]}}`,
		`{"n":4242424242424242}`,
		`{"x":"\u0034242424242424242"}`,
		`{"4242424242424242":1}`,
		`{"amex":"378282246310005"}`,
		`4242424242424242`,
		`not json 4242424242424242`,
	} {
		require.True(t, billing.HoldsCardNumber([]byte(body)), body)
	}

	for _, body := range []string{
		`{"paymentMethodId":"4242424242424241"}`, // the check digit is wrong
		`{"paymentMethodId":"pm_1NvXyZ2eZvKYlo2C0a1b2c3d"}`,
		`{"phone":"+44 20 7946 0958"}`, // too few digits
		`{"id":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"}`,
		`{"long":"42424242424242424242424242424242"}`, // too many digits
		`{"at":"2026-03-17T10:30:00Z","planId":"premium"}`,
		``,
	} {
		require.False(t, billing.HoldsCardNumber([]byte(body)), body)
	}
}
