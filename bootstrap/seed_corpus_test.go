package bootstrap

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// britishWords do not belong into adverts in the United States.
var britishWords = regexp.MustCompile(
	`(?i)paediatric|anaesthe|haemat|gynaec|orthopaed|centre|labour|licence|\brota\b|theatre|programme|recognise|authorise|elderly|telephone|\bwards?\b|\bNHS\b|annual leave|\bband \d`,
)

// TestDemoListings_FollowTheRules checks that generated listings are plausible adverts of their
// country: their length, their role and their place as the search understands them, contract and
// pay that fit, and no British words in the United States.
func TestDemoListings_FollowTheRules(t *testing.T) {
	t.Parallel()

	vocabulary, err := search.Load()
	require.NoError(t, err)

	g := gazetteer.New()

	seeder := newSeeder(time.Now().UTC(), 5_000)
	for i := range 5_000 {
		o, post := seeder.pickPost(i)
		listing := seeder.newListing(i, seeder.now, o, post)
		text := listing.Title + "\n" + listing.Location + "\n" + listing.Description
		wordCount := len(strings.Fields(listing.Description))
		require.True(t, wordCount >= 60 && wordCount <= 150, "%d words: %s", wordCount, text)
		require.LessOrEqual(t, len(listing.Title), 200)
		require.NotContains(t, text, "{")

		a := vocabulary.Annotate(&search.Advert{
			Title:          listing.Title,
			Department:     listing.Department,
			Specialty:      listing.Specialty,
			Description:    listing.Description,
			Requirements:   listing.Requirements,
			ContractType:   listing.ContractType,
			EmploymentType: listing.EmploymentType,
			Remote:         listing.Remote,
			Country:        strings.ToLower(o.code),
		})
		tag, ok := a.Find(post.Concept)
		require.True(t, ok && tag.Level == search.Head, "%s is not the main role of %q", post.Concept, listing.Title)

		place, ok := g.Resolve(listing.Location)
		require.True(t, ok, listing.Location)
		require.Equal(t, place, *listing.Place, listing.Location)
		require.Equal(t, o.code, place.Country, listing.Location)
		require.Contains(t, listing.Location, place.Name[strings.LastIndex(place.Name, ", ")+1:])

		checkContract(t, listing, o, post)

		if listing.Remote {
			require.True(t, post.IsRemote, text)
			require.NotRegexp(t, `(?i)\bwards?\b|inpatient`, text)
		}

		if o.code == "US" {
			require.NotRegexp(t, britishWords, text+strings.Join(listing.Requirements, " ")+strings.Join(listing.Benefits, " "))
		}
	}
}

// checkContract checks that the contract, the title and the pay of a listing agree: cover is
// paid by the hour, and amounts are in minor units such as cents.
func checkContract(t *testing.T, listing listings.Listing, o *employer, p *post) {
	t.Helper()

	isCover := listing.ContractType == "temporary"
	require.Equal(t, isCover, regexp.MustCompile(`(?i)\bbank\b|\blocum\b`).MatchString(listing.Title) || listing.EmploymentType == "per-diem", listing.Title)
	require.False(t, p.IsFixedTerm && listing.ContractType == "permanent", listing.Title)
	require.Equal(t, o.Currency, listing.Salary.Currency)

	switch {
	case isCover:
		require.Equal(t, "hour", listing.Salary.Period, listing.Title)
	case o.code != "US":
		require.Equal(t, "year", listing.Salary.Period, listing.Title)
	}

	if listing.Salary.Period == "hour" {
		require.True(t, *listing.Salary.Min >= 1_000 && *listing.Salary.Max <= 30_000,
			"%s: %d to %d cents an hour", listing.Title, *listing.Salary.Min, *listing.Salary.Max)
	}

	if strings.HasPrefix(p.Grade, "Band") {
		require.Contains(t, listing.Description, p.Grade)
	}

	require.Contains(t, listing.Description, "You will work", listing.Title)
	require.Contains(t, listing.Description, "You will need", listing.Title)
}

// TestDemoListings_DefaultNumber_EveryRoleAndCountry checks that the 200 listings that `locum
// seed` creates by default show the whole variety.
func TestDemoListings_DefaultNumber_EveryRoleAndCountry(t *testing.T) {
	t.Parallel()
	const defaultNumber = 200
	seeder := newSeeder(time.Now().UTC(), defaultNumber)
	titles := map[string]bool{}
	countries := map[string]int{}
	concepts := map[string]bool{}

	for _, m := range seeder.Markets {
		for _, posts := range m.posts {
			for _, p := range posts {
				for _, title := range p.Titles {
					titles[title] = true
				}
			}
		}
	}

	require.Greater(t, len(titles), 150)

	for i := range defaultNumber {
		o, p := seeder.pickPost(i)
		countries[o.code]++
		concepts[p.Concept] = true
	}

	for _, r := range seeder.Occupations {
		require.Contains(t, concepts, r.Concept)
	}

	for code := range seeder.Markets {
		require.Greater(t, countries[code], 30, code)
	}
}
