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

func TestDemoListings_FollowTheRules(t *testing.T) {
	t.Parallel()
	vocabulary, err := search.Load()
	require.NoError(t, err)
	g := gazetteer.New()
	seeder := newSeeder(time.Now().UTC(), 5_000)
	for i := range 5_000 {
		o, p := seeder.pickVacancy(i)
		l := seeder.newListing(i, seeder.now, o, p)
		text := l.Title + "\n" + l.Location + "\n" + l.Description
		wordCount := len(strings.Fields(l.Description))
		require.True(t, wordCount >= 60 && wordCount <= 150, "%d words: %s", wordCount, text)
		require.LessOrEqual(t, len(l.Title), 200)
		require.NotContains(t, text, "{")

		a := vocabulary.Annotate(&search.Advert{
			Title:          l.Title,
			Department:     l.Department,
			Specialty:      l.Specialty,
			Description:    l.Description,
			Requirements:   l.Requirements,
			ContractType:   l.ContractType,
			EmploymentType: l.EmploymentType,
			Remote:         l.Remote,
			Country:        strings.ToLower(o.code),
		})
		tag, ok := a.Find(p.Concept)
		require.True(t, ok && tag.Level == search.Head, "%s is not the main role of %q", p.Concept, l.Title)

		place, ok := g.Resolve(l.Location)
		require.True(t, ok, l.Location)
		require.Equal(t, place, *l.Place, l.Location)
		require.Equal(t, o.code, place.Country, l.Location)
		require.Contains(t, l.Location, place.Name[strings.LastIndex(place.Name, ", ")+1:])

		checkContract(t, l, o, p)
		if l.Remote {
			require.True(t, p.IsRemote, text)
			require.NotRegexp(t, `(?i)\bwards?\b|inpatient`, text)
		}
		if o.code == "US" {
			require.NotRegexp(t, britishWords, text+strings.Join(l.Requirements, " ")+strings.Join(l.Benefits, " "))
		}
	}
}

func checkContract(t *testing.T, l listings.Listing, o *employer, p *post) {
	t.Helper()
	isCover := l.ContractType == "temporary"
	require.Equal(t, isCover, regexp.MustCompile(`(?i)\bbank\b|\blocum\b`).MatchString(l.Title) || l.EmploymentType == "per-diem", l.Title)
	require.False(t, p.IsFixedTerm && l.ContractType == "permanent", l.Title)
	require.Equal(t, o.Currency, l.Salary.Currency)
	switch {
	case isCover:
		require.Equal(t, "hour", l.Salary.Period, l.Title)
	case o.code != "US":
		require.Equal(t, "year", l.Salary.Period, l.Title)
	}
	if l.Salary.Period == "hour" {
		require.True(
			t,
			*l.Salary.Min >= 1_000 && *l.Salary.Max <= 30_000,
			"%s: %d to %d cents an hour",
			l.Title,
			*l.Salary.Min,
			*l.Salary.Max,
		)
	}
	if strings.HasPrefix(p.Grade, "Band") {
		require.Contains(t, l.Description, p.Grade)
	}
	require.Contains(t, l.Description, "You will work", l.Title)
	require.Contains(t, l.Description, "You will need", l.Title)
}

func TestDemoListings_EveryRoleAndCountryInTheDefaultNumber(t *testing.T) {
	t.Parallel()
	const defaultNumber = 200
	seeder := newSeeder(time.Now().UTC(), defaultNumber)
	titles, countries, concepts := map[string]bool{}, map[string]int{}, map[string]bool{}
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
		o, p := seeder.pickVacancy(i)
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
