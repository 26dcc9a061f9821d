package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/argonhash"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// seed fills an empty storage with demo data: organizations, users and listings. Except for the
// passwords the data is the same every time, relative to the present day. It returns the accounts to
// sign in with.
//
// seed sets the clock, which the hiring service uses, to the times at which applications arrive
// and are decided. It calls onStored with the size of each stored batch of listings.
func seed(
	ctx context.Context,
	storage adapters.Storage,
	hiringSvc *hiring.Service,
	clock *pastClock,
	listingCount int,
	onStored func(int),
) ([]demoAccount, error) {
	accounts, hashes, err := newDemoPasswords(ctx)
	if err != nil {
		return nil, err
	}

	today := time.Now().UTC().Truncate(24 * time.Hour)
	seeder := newSeeder(today, listingCount)

	// Listings come first, because the seeder remembers those to which the users will apply.
	if err := storage.Listings.Loader.Load(ctx, seeder.listings(listingCount), onStored); err != nil {
		return nil, err
	}

	return accounts, storage.Identity.Tx.Do(ctx, func(ctx context.Context) error {
		if err := seeder.createPeople(ctx, storage, listingCount, hashes); err != nil {
			return err
		}

		return seeder.createApplications(ctx, hiringSvc, clock)
	})
}

// newDemoPasswords returns the demo accounts with new passwords, and the hashes of the
// passwords by e-mail address.
func newDemoPasswords(ctx context.Context) (accounts []demoAccount, hashes map[string]string, err error) {
	accounts, hashes = slices.Clone(demoAccounts), map[string]string{}

	hasher := argonhash.New()
	for i := range accounts {
		account := &accounts[i]
		account.Password = auth.NewSecret("Demo1-", 12) // the prefix has the characters that passwords require

		hashes[account.Email], err = hasher.Hash(ctx, account.Password)
		if err != nil {
			return nil, nil, err
		}
	}

	return accounts, hashes, nil
}

// seeder creates all demo data. Its random number generator has a fixed seed, so that the data is the same
// every time.
//
// The data is composed from these terms of the corpus: a market is a country with its towns and texts. A
// family is a profession, such as nursing, with what its occupations have in common. A post is an occupation
// in one market, with its titles, grade and pay.
type seeder struct {
	*corpus           // the words, names and numbers of the data, read from seed.json
	now     time.Time // the beginning of the present day
	rng     *rand.Rand
	places  map[town]*listings.Place // where the towns are; towns that the gazetteer does not know are missing
	orgs    []employer
	orgDraw []int // indices of orgs for random choices: an organization of weight 2 is in it twice

	// Users apply to the first organization only. These fields have what createApplications needs for that.
	seekerIDs       []string           // the users who apply
	open            []listings.Listing // the listings of the first organization to which they apply
	recruiterID     string             // the member of the first organization who decides about the applications
	interviewerName string
}

// employer is an invented organization.
type employer struct {
	identity.Organization
	*market            // the towns, posts and texts of its country
	setting     string // kind of workplace, such as hospital or care home
	site        string // name of the workplace, for locations
	towns       []town // where it has workplaces
	boilerplate string // sentences at the end of each description
}

const (
	listingsPerEmployer = 40  // on average, with at least one employer of each kind
	maxEmployers        = 600 // each has a demo admin, of whom there are at most maxDemoAccounts
)

// demoTowns are the towns of the first employer, to which the demo accounts belong. They are
// neighbours, as the sites of one hospital trust are; random towns could be far from each other.
var demoTowns = []string{"Leeds", "Bradford", "Wakefield"}

// newSeeder returns a seeder with the employers of the listings and the places of all towns. A larger
// number of listings has more employers.
func newSeeder(now time.Time, listingCount int) *seeder {
	seeder := &seeder{
		corpus: loadCorpus(),
		now:    now,
		rng:    rand.New(rand.NewPCG(2026, 1120)), //nolint:gosec // a fixed seed, so that the data is the same every time
		places: map[town]*listings.Place{},
	}
	employersByCountry := map[string]int{}

	employerCount := min(max(listingCount/listingsPerEmployer, len(seeder.Employers)), maxEmployers)
	for i := range employerCount {
		seeder.addEmployer(i, employersByCountry)
	}

	resolver := gazetteer.New()
	for _, market := range seeder.Markets {
		for _, town := range market.Towns {
			location := "Hospital, " + market.formatAddress(town) // in the form that newListing writes
			if place, isKnown := resolver.Resolve(location); isKnown {
				seeder.places[town] = &place
			}
		}
	}

	return seeder
}

// addEmployer adds employer number i, and counts it by its country. The first town of an employer is
// the next one of its country, so that the employers spread over the country.
func (s *seeder) addEmployer(i int, employersByCountry map[string]int) {
	template := s.Employers[i%len(s.Employers)]
	founded := s.now.AddDate(-1, 0, 0)
	market := s.Markets[template.Country]

	org := employer{market: market, setting: template.Setting}

	firstTown, townCount := employersByCountry[market.code], 1+s.rng.IntN(4)
	for k := range townCount {
		org.towns = append(org.towns, market.Towns[(firstTown+k)%len(market.Towns)])
	}

	employersByCountry[market.code]++

	isNamedAfterTown := strings.Contains(template.Name, "{town}")
	if isNamedAfterTown {
		org.towns = org.towns[:1]
	}

	hasDemoAccounts := i == 0
	if hasDemoAccounts {
		org.towns = list.Map(demoTowns, market.townNamed)
	}

	home := org.towns[0].Name

	// Names are used again after the last one. Each round through them begins 7 names later, so that
	// a template does not get the same name again.
	const shiftPerRound = 7
	round := i / len(s.Names)
	name := s.Names[(i+shiftPerRound*round)%len(s.Names)]
	placeholders := strings.NewReplacer("{name}", name, "{town}", home)
	org.site = placeholders.Replace(template.Site)
	org.boilerplate = strings.Join(s.pickSome(market.Boilerplate, 2, 2), " ")
	org.Organization = identity.Organization{
		ID:        demoID(founded, "org", i),
		Name:      s.uniqueOrgName(placeholders.Replace(template.Name), home),
		Industry:  "Healthcare",
		Size:      s.pick(s.Sizes),
		CreatedAt: founded,
		UpdatedAt: founded,
	}
	org.Description = fmt.Sprintf("%s cares for the people of %s and the towns around it.", org.Name, home)
	org.Website = "https://" + slugify(org.Name) + ".example"

	s.orgs = append(s.orgs, org)
	for range template.Weight {
		s.orgDraw = append(s.orgDraw, i)
	}
}

// townNamed returns the town with the name, which the market must have.
func (m *market) townNamed(name string) town {
	hasName := func(t town) bool { return t.Name == name }
	return m.Towns[slices.IndexFunc(m.Towns, hasName)]
}

// formatAddress returns a town with its postcode: Leeds LS1 3EX; Boston, MA 02108.
func (m *market) formatAddress(t town) string {
	if m.code == "US" {
		return t.Name + ", " + t.Code
	}

	return t.Name + " " + t.Code
}

// demoID returns the UUIDv7 of item number n of a kind: 48 bits of the time, and then bits of a hash
// in place of random ones. So it returns the same id for the same arguments.
func demoID(at time.Time, kind string, n int) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16) // the upper 48 bits are the milliseconds
	copy(id[6:], hash[:])

	id[6] = id[6]&0x0f | 0x70 // version 7 in the upper 4 bits (RFC 9562)
	id[8] = id[8]&0x3f | 0x80 // the variant of the RFC, 10, in the upper 2 bits

	return id.String()
}

// pick returns one of the items.
func (s *seeder) pick(items []string) string { return items[s.rng.IntN(len(items))] }

// pickSome returns from minCount to maxCount of the items, in their order. It returns all of
// them if there are fewer.
func (s *seeder) pickSome(items []string, minCount, maxCount int) []string {
	count := min(minCount+s.rng.IntN(maxCount-minCount+1), len(items))

	// Selection sampling: each item is picked with the probability missing / remaining, which
	// gives all subsets of the size count the same probability.
	var picked []string
	for i, item := range items {
		missing := count - len(picked)

		remaining := len(items) - i
		if s.rng.IntN(remaining) < missing {
			picked = append(picked, item)
		}
	}

	return picked
}

// uniqueOrgName returns the name, with a suffix if another employer has the name.
func (s *seeder) uniqueOrgName(name, town string) string {
	for _, suffix := range []string{"", " " + town, " North", " South", " East", " West", " Group"} {
		if !slices.ContainsFunc(s.orgs, func(org employer) bool { return org.Name == name+suffix }) {
			return name + suffix
		}
	}

	return name + " Partnership"
}

// slugify returns the name in lower case with hyphens between words, for a host name.
func slugify(name string) string {
	isSeparator := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), isSeparator), "-")
}

// postingPeriod returns the period in which the listings were posted: about 100 a day, over at
// least 45 days, and over less than the year for which the employers exist.
func postingPeriod(listingCount int) time.Duration {
	days := min(max(listingCount/100, 45), 364)
	return time.Duration(days) * 24 * time.Hour
}

// listings returns n listings in the order of posting.
func (s *seeder) listings(n int) iter.Seq[listings.Listing] {
	return func(yield func(listings.Listing) bool) {
		interval := postingPeriod(n) / time.Duration(n)

		postedAt := s.now.Add(-postingPeriod(n))
		for i := range n {
			org, post := s.pickPost(i)
			listing := s.newListing(i, postedAt.Truncate(time.Microsecond), org, post) // as databases store times
			s.remember(listing)

			if !yield(listing) {
				return
			}

			postedAt = postedAt.Add(interval)
		}
	}
}

// newListing returns listing number i, in which the employer advertises the post. A post is an occupation in
// the country of the employer, with its titles, grade and pay. Its family is the profession to which it
// belongs, such as nursing. The shift pattern says at which times the person works, such as "Part Time".
func (s *seeder) newListing(i int, postedAt time.Time, org *employer, post *post) listings.Listing {
	family := org.Families[post.Family]
	town := org.towns[s.rng.IntN(len(org.towns))]
	listing := listings.Listing{
		ID:             demoID(postedAt, "listing", i),
		OrganizationID: org.ID,
		Version:        1,
		Company:        org.Name,
		Place:          s.places[town],
		Status:         listings.Active,
		Open:           true,
		PostedAt:       &postedAt,
		CreatedAt:      postedAt,
		UpdatedAt:      postedAt,
	}
	listing.Location = org.site + ", " + org.formatAddress(town)
	listing.Remote = post.IsRemote

	field := family.Label // what the texts call the work: the specialty, or the profession for a post without one
	if post.Specialties != "" {
		listing.Specialty = s.pick(org.Specialties[post.Specialties])
		listing.Department = listing.Specialty
		field = listing.Specialty
	}

	shifts := org.Shifts[post.Shifts]
	pattern := shifts[s.rng.IntN(len(shifts))]
	s.setContract(&listing, org, post, family)

	// A listing must not be full-time while its text describes a part-time pattern.
	if pattern.Label == "Part Time" && listing.EmploymentType == "full-time" {
		listing.EmploymentType = "part-time"
	}

	title := s.pick(post.Titles)
	listing.Title = s.composeTitle(strings.ReplaceAll(title, "{specialty}", listing.Specialty), &listing, org, post, pattern)
	listing.Salary = s.choosePay(org.market, post, listing.ContractType)
	placeholders := strings.NewReplacer(
		"{org}", org.Name,
		"{town}", town.Name,
		"{specialty}", field,
		"{a role}", withArticle(strings.TrimSuffix(title, " in {specialty}")),
		"{state}", region(listing.Place),
	)

	for _, requirement := range s.pickSome(family.Requirements, 2, 3) {
		listing.Requirements = append(listing.Requirements, placeholders.Replace(requirement))
	}

	// The last requirement is the entry in the professional register of the country. The text of the corpus
	// begins with a small letter, because descriptions use it inside a sentence.
	register := placeholders.Replace(family.Registers[org.code])
	listing.Requirements = append(listing.Requirements, strings.ToUpper(register[:1])+register[1:])

	listing.Benefits = s.pickSome(org.Benefits, 3, 5)
	for k, question := range s.pickSome(s.Questions, 0, 3) {
		questionNumber := i*10 + k // unique, because a listing has fewer than ten questions
		listing.Questions = append(listing.Questions, listings.Question{
			ID:       demoID(postedAt, "question", questionNumber),
			Text:     question,
			Required: k == 0,
		})
	}

	listing.Description = placeholders.Replace(s.composeDescription(org, post, family, pattern))
	s.setState(&listing)

	return listing
}

// setState makes one listing in 40 each closed, inactive and a draft, and gives six in ten a
// deadline in the next two months.
func (s *seeder) setState(listing *listings.Listing) {
	switch s.rng.IntN(40) {
	case 0:
		listing.Status, listing.Open = listings.Closed, false
	case 1:
		listing.Status, listing.Open = listings.Inactive, false
	case 2:
		listing.Status = listings.Draft
		listing.Open = false
		listing.PostedAt = nil
	}

	if s.rng.IntN(10) < 6 {
		lastDay := s.now.AddDate(0, 0, 3+s.rng.IntN(60))
		deadline := lastDay.Add(24*time.Hour - time.Second)
		listing.Deadline = &deadline
	}
}

// pickPost chooses an employer and a post for listing number i. The first listings go through the
// occupations, so that a small board has each of them.
func (s *seeder) pickPost(i int) (*employer, *post) {
	choose := func() (*employer, []*post) {
		org := &s.orgs[s.orgDraw[s.rng.IntN(len(s.orgDraw))]]
		return org, org.posts[org.setting]
	}

	// Choose employers until one has a post of occupation number i. The limit ends the loop for an
	// occupation that no employer has.
	for tries := 0; i < len(s.Occupations) && tries < 1000; tries++ {
		org, posts := choose()

		k := slices.IndexFunc(posts, func(p *post) bool { return p.occupation == s.Occupations[i] })
		if k >= 0 {
			return org, posts[k]
		}
	}

	org, posts := choose()

	return org, posts[s.rng.IntN(len(posts))]
}

// setContract chooses the contract and the hours of a listing. The contract is "permanent", "temporary" (to
// fill a gap for a short time) or "contract" (for a fixed term).
//
// family.Cover says how employers of the profession fill a gap for a short time: "bank" (with their own pool
// of staff), "locum" (with a substitute from outside), or "permanent" (they do not).
func (s *seeder) setContract(listing *listings.Listing, org *employer, post *post, family *family) {
	listing.ContractType = s.pick([]string{"permanent", "permanent", "permanent", "permanent", "temporary", "temporary", "contract"})

	// Replace two impossible combinations by a fixed term. A training post ends with the training, so it
	// cannot be permanent. A profession with the cover "permanent" has no temporary posts.
	isPermanentTraining := post.IsFixedTerm && listing.ContractType == "permanent"
	isTemporaryWithoutCover := family.Cover == "permanent" && listing.ContractType == "temporary"

	if isPermanentTraining || isTemporaryWithoutCover {
		listing.ContractType = "contract"
	}

	listing.EmploymentType = s.pick([]string{"full-time", "full-time", "full-time", "part-time", "flexible"})
	if listing.ContractType != "temporary" {
		return
	}

	// Temporary work has hours of its own in two cases. In the United States, it is paid per day. In other
	// countries, the staff of a bank work when they are needed. Locums have the hours chosen above.
	switch {
	case org.code == "US":
		listing.EmploymentType = "per-diem"
	case family.Cover == "bank":
		listing.EmploymentType = "bank"
	}
}

// composeTitle adds the specialty, the band (the pay grade of the NHS), the contract and the shift
// to a title. It omits some of them at random, as employers do.
func (s *seeder) composeTitle(title string, listing *listings.Listing, org *employer, post *post, pattern shift) string {
	separator := " – "
	if org.code == "US" {
		separator = ", "
	}

	if listing.Specialty != "" && !strings.Contains(title, listing.Specialty) && s.rng.IntN(4) > 0 {
		title += separator + listing.Specialty
	}

	if strings.HasPrefix(post.Grade, "Band") && s.rng.IntN(2) == 0 {
		title += ", " + post.Grade
	}

	switch {
	case listing.EmploymentType == "bank":
		title = "Bank " + title
	case listing.EmploymentType == "per-diem":
		title += separator + "Per Diem"
	case listing.ContractType == "temporary":
		title = "Locum " + title
	case org.code == "US" && listing.ContractType == "contract" && post.Family == "nurse":
		title = "Travel " + title
	}

	if s.rng.IntN(6) == 0 {
		title += " (" + pattern.Label + ")"
	}

	return title
}

// The hours of a full-time year, to convert yearly pay to hourly pay.
const (
	hoursInEurope  = 1950
	hoursInAmerica = 2080
)

// doctorsPay is the yearly pay in US dollars from which a post is one for a doctor.
const doctorsPay = 150_000

// choosePay returns the pay of the post. It is by the hour for temporary work, and in the United
// States also for contracts and about half of the other posts below a doctor's pay. It is yearly
// for all others.
func (s *seeder) choosePay(m *market, post *post, contract string) *listings.Salary {
	isHourly := contract == "temporary"

	hoursPerYear := float64(hoursInEurope)
	if m.code == "US" {
		hoursPerYear = hoursInAmerica
		isHourly = isHourly || post.High < doctorsPay && (contract == "contract" || s.rng.IntN(2) == 0)
	}

	// Both functions convert yearly pay to minor units, such as cents.
	yearlyPay := func(yearly float64) *int64 { return new(int64(yearly) * 100) }
	hourlyPay := func(yearly float64) *int64 {
		// Pay by the hour is a tenth higher, and rounded down to 5 cents: there are 20 steps of
		// 5 cents in a unit of the currency, and 22 with the additional tenth.
		steps := int64(yearly / hoursPerYear * 22)
		return new(steps * 5)
	}

	if isHourly {
		return &listings.Salary{Currency: m.Currency, Period: "hour", Min: hourlyPay(post.Low), Max: hourlyPay(post.High)}
	}

	return &listings.Salary{Currency: m.Currency, Period: "year", Min: yearlyPay(post.Low), Max: yearlyPay(post.High)}
}

// composeDescription returns the text of a listing: an opening, the duties, the shift pattern, the
// grade, and the required entry in the register of the profession. newListing fills its placeholders,
// such as {org}.
func (s *seeder) composeDescription(org *employer, post *post, family *family, pattern shift) string {
	var text strings.Builder
	text.WriteString(s.pick(org.Openings) + "\n\nWhat you will do:\n")

	for _, duty := range s.pickSome(family.Duties, 3, 4) {
		text.WriteString("- " + duty + ".\n")
	}

	text.WriteString("\n" + pattern.Sentence)

	switch {
	case strings.HasPrefix(post.Grade, "Band"):
		text.WriteString(" This is an Agenda for Change " + post.Grade + " post.")
	case post.Grade != "":
		text.WriteString(" The post is paid on the " + post.Grade + " scale.")
	}

	text.WriteString(" You will need " + family.Registers[org.code] + ".\n\n" + org.boilerplate + " " + s.pick(org.Closings))

	return text.String()
}

// withArticle puts "a" or "an" before a title, which begins with a capital letter. Titles with U, such
// as "Unit Manager", have "a".
func withArticle(title string) string {
	if strings.ContainsRune("AEIO", rune(title[0])) {
		return "an " + title
	}

	return "a " + title
}

// region returns the region of the place, empty for none.
func region(place *listings.Place) string {
	if place == nil {
		return ""
	}

	return place.Region
}
