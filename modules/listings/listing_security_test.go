package listings

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// TestRenew_Repeatedly_StaysWithinStorableYears checks that renewals cannot lead to a deadline that a
// database or response cannot represent: it would break every list with the listing.
func TestRenew_Repeatedly_StaysWithinStorableYears(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	far := time.Date(8999, 12, 31, 0, 0, 0, 0, time.UTC)

	listing := Listing{Status: Closed, Content: Content{Deadline: &far}}
	for range 3 {
		if err := listing.Renew(now, 365); err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.Equal(t, "durationDays", fault.Of(err).Fields[0].Name)
			return
		}

		require.LessOrEqual(t, listing.Deadline.Year(), 9000)
	}

	t.Fatal("renewed beyond the year 9000")
}

// TestMeta_HugeExponent_IsRefused checks that the size of stored meta is limited, and not only that of the
// input: some databases write numbers without exponents, so that 5 bytes become more than 300.
func TestMeta_HugeExponent_IsRefused(t *testing.T) {
	t.Parallel()

	for _, n := range []string{"1e308", "-1e308", "1e-300"} {
		_, err := mergeMeta(nil, []byte(`{"a":[`+strings.Repeat(n+",", 99)+n+`]}`))
		require.Equal(t, fault.Invalid, fault.KindOf(err), n)

		_, err = mergeMeta(nil, []byte(`{"a":[`+n+`,0,0e400,-1,1E+2]}`))
		require.NoError(t, err, n)
	}
}

// TestSalary_Currency_IsAWholeCode checks that a part of the list of codes, such as "D A" in "USD AED", is no
// currency. A code may be in lower case.
func TestSalary_Currency_IsAWholeCode(t *testing.T) {
	t.Parallel()

	one := 1.0
	for _, c := range []string{" GB", "D A", "P E", "GB", "", "GBPX"} {
		_, err := newSalary(SalaryInput{Min: &one, Currency: &c})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%q", c)
	}

	lower := "gbp"
	_, err := newSalary(SalaryInput{Min: &one, Currency: &lower})
	require.NoError(t, err)
}
