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

	const (
		listingCount       = 5_000
		minWords, maxWords = 60, 150
		maxTitle           = 200
	)

	places := gazetteer.New()

	seeder := newSeeder(time.Now().UTC(), listingCount)
	for i := range listingCount {
		employer, post := seeder.pickPost(i)
		listing := seeder.newListing(i, seeder.now, employer, post)
		text := listing.Title + "\n" + listing.Location + "\n" + listing.Description

		// The length of the text.
		wordCount := len(strings.Fields(listing.Description))
		require.True(t, wordCount >= minWords && wordCount <= maxWords, "%d words: %s", wordCount, text)
		require.LessOrEqual(t, len(listing.Title), maxTitle, listing.Title)
		require.NotContains(t, text, "{", "a placeholder of a template")

		// The role, as the search understands it. The head is the main role of a title.
		annotation := vocabulary.Annotate(&search.Advert{
			Title:          listing.Title,
			Department:     listing.Department,
			Specialty:      listing.Specialty,
			Description:    listing.Description,
			Requirements:   listing.Requirements,
			ContractType:   listing.ContractType,
			EmploymentType: listing.EmploymentType,
			Remote:         listing.Remote,
			Country:        strings.ToLower(employer.code),
		})
		tag, isFound := annotation.Find(post.Concept)
		require.True(t, isFound && tag.Level == search.Head, "%s is not the main role of %q", post.Concept, listing.Title)

		// The place. The last part of its name is the region or the country.
		place, isKnown := places.Resolve(listing.Location)
		require.True(t, isKnown, listing.Location)
		require.Equal(t, place, *listing.Place, listing.Location)
		require.Equal(t, employer.code, place.Country, listing.Location)

		lastPart := place.Name[strings.LastIndex(place.Name, ", ")+1:]
		require.Contains(t, listing.Location, lastPart)

		// The contract, and the words of the text.
		checkContract(t, listing, employer, post)

		if listing.Remote {
			require.True(t, post.IsRemote, text)
			require.NotRegexp(t, `(?i)\bwards?\b|inpatient`, text)
		}

		if employer.code == "US" {
			lists := strings.Join(listing.Requirements, " ") + strings.Join(listing.Benefits, " ")
			require.NotRegexp(t, britishWords, text+lists)
		}
	}
}

// coverTitle matches the title of a listing for temporary cover.
var coverTitle = regexp.MustCompile(`(?i)\bbank\b|\blocum\b`)

// checkContract checks that the contract, the title and the pay of a listing agree. Temporary cover
// is named in the title or has the employment type per-diem, and is paid by the hour. Amounts are in
// minor units such as cents.
func checkContract(t *testing.T, listing listings.Listing, o *employer, p *post) {
	t.Helper()

	isCover := listing.ContractType == "temporary"
	isNamedCover := coverTitle.MatchString(listing.Title) || listing.EmploymentType == "per-diem"
	require.Equal(t, isCover, isNamedCover, listing.Title)
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

	const (
		defaultNumber         = 200
		minTitles             = 150 // different titles that can be chosen
		minListingsPerCountry = 30
	)

	seeder := newSeeder(time.Now().UTC(), defaultNumber)

	// Count the titles of all countries.
	titles := map[string]bool{}
	for _, market := range seeder.Markets {
		for _, posts := range market.posts {
			for _, post := range posts {
				for _, title := range post.Titles {
					titles[title] = true
				}
			}
		}
	}

	require.Greater(t, len(titles), minTitles)

	// Every role and every country is chosen.
	listingsByCountry := map[string]int{}
	concepts := map[string]bool{}

	for i := range defaultNumber {
		employer, post := seeder.pickPost(i)
		listingsByCountry[employer.code]++
		concepts[post.Concept] = true
	}

	for _, occupation := range seeder.Occupations {
		require.Contains(t, concepts, occupation.Concept)
	}

	for code := range seeder.Markets {
		require.Greater(t, listingsByCountry[code], minListingsPerCountry, code)
	}
}
