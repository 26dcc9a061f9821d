package hiring_test

import (
	"testing"

	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// BenchmarkApply measures applications without documents to one listing, each by a new
// applicant.
func BenchmarkApply(bm *testing.B) {
	for name, on := range map[string]openStorage{"sqlite": stores.SQLite, "postgres": stores.Postgres} {
		bm.Run(name, func(bm *testing.B) {
			env := newTestEnv(bm, on)
			job := env.newListing(employer())
			bm.ReportAllocs()
			for bm.Loop() {
				if _, err := env.Apply(env.t.Context(), seeker(), hiring.ApplyInput{ListingID: job, CoverLetter: "Dear all"}); err != nil {
					bm.Fatal(err)
				}
			}
		})
	}
}
