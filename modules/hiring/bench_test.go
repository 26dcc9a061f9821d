package hiring_test

import (
	"testing"

	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// BenchmarkApply measures applications without documents to one listing, each by a new
// applicant.
func BenchmarkApply(bm *testing.B) {
	for name, open := range map[string]openStorage{"sqlite": stores.SQLite, "postgres": stores.Postgres} {
		bm.Run(name, func(bm *testing.B) {
			env := newTestEnv(bm, open)
			input := hiring.ApplyInput{ListingID: env.newListing(newEmployer()), CoverLetter: "Dear all"}

			bm.ReportAllocs()

			for bm.Loop() {
				if _, err := env.Apply(bm.Context(), newSeeker(), input); err != nil {
					bm.Fatal(err)
				}
			}
		})
	}
}
