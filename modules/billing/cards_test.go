package billing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
)

// TestContainsCardNumber_AnyPosition_Found checks that a request with the number of a card,
// which must not reach logs and storages, is recognized in every position and encoding. Other
// long numbers, which fail the Luhn check or have another length, are not.
func TestContainsCardNumber_AnyPosition_Found(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"paymentMethodId":"4242424242424242"}`:            true,
		`{"paymentMethodId":"4242 4242 4242 4242"}`:         true,
		`{"x":{"y":["pan 4242-4242-4242-4242."]}}`:          true,
		`{"n":4242424242424242}`:                            true,
		`{"x":"\u0034242424242424242"}`:                     true,
		`{"4242424242424242":1}`:                            true,
		`{"amex":"378282246310005"}`:                        true,
		`4242424242424242`:                                  true,
		`{"paymentMethodId":"4242424242424241"}`:            false,
		`{"paymentMethodId":"pm_1NvXyZ2eZvKYlo2C0a1b2c3d"}`: false,
		`{"phone":"+44 20 7946 0958"}`:                      false,
		`{"id":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"}`:     false,
		`{"long":"42424242424242424242424242424242"}`:       false,
		`{"at":"2026-03-17T10:30:00Z","planId":"premium"}`:  false,
		`not json 4242424242424242`:                         true,
		``:                                                  false,
	} {
		require.Equal(t, want, billing.HoldsCardNumber([]byte(body)), body)
	}
}
