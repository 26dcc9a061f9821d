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
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// seed fills an empty storage with organizations, users and n listings. The data is the
// same every time, relative to the present day. It returns the accounts to sign in with.
// The clock of the services is set to the times at which applications arrive and are decided.
func seed(
	ctx context.Context,
	storage adapters.Storage,
	hiringSvc *hiring.Service,
	clock *pastClock,
	n int,
	done func(int),
) ([]demoAccount, error) {
	accounts, hashes, err := newDemoPasswords(ctx)
	if err != nil {
		return nil, err
	}

	seeder := newSeeder(time.Now().UTC().Truncate(24*time.Hour), n)
	if err := storage.Listings.Loader.Load(ctx, seeder.listings(n), done); err != nil {
		return nil, err
	}

	return accounts, storage.Identity.Tx.Do(ctx, func(ctx context.Context) error {
		if err := seeder.createPeople(ctx, storage, n, hashes); err != nil {
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
		a := &accounts[i]

		a.Password = auth.NewSecret("Demo1-", 12)
		if hashes[a.Email], err = hasher.Hash(ctx, a.Password); err != nil {
			return nil, nil, err
		}
	}

	return accounts, hashes, nil
}

// seeder creates all data from one random number generator with a fixed seed, so that it
// is the same every time.
type seeder struct {
	*corpus
	now     time.Time
	rng     *rand.Rand
	places  map[town]*listings.Place
	orgs    []employer
	orgDraw []int // indices of orgs: an organization of weight 2 is in it twice

	seekers   []string           // ids of the users who apply
	open      []listings.Listing // listings of the first organization to which they apply
	recruiter string             // id of the user who decides
	lead      string             // name of the interviewer
}

// employer is an invented organization.
type employer struct {
	identity.Organization
	*market
	setting     string // kind of workplace, such as hospital or care home
	site        string // name of the workplace, for locations
	towns       []town
	boilerplate string // sentences at the end of each description
}

const (
	listingsPerEmployer = 40 // on average, with at least one employer of each kind
	maxEmployers        = 600
)

// newSeeder returns a seeder with the employers of n listings and the places of all towns.
func newSeeder(now time.Time, n int) *seeder {
	seeder := &seeder{
		corpus: loadCorpus(),
		now:    now,
		rng:    rand.New(rand.NewPCG(2026, 1120)), //nolint:gosec // a fixed seed, so that the data is the same every time
		places: map[town]*listings.Place{},
	}
	homes := map[string]int{}

	employers := min(max(n/listingsPerEmployer, len(seeder.Employers)), maxEmployers)
	for i := range employers {
		seeder.addEmployer(i, homes)
	}

	gaz := gazetteer.New()
	for _, m := range seeder.Markets {
		for _, t := range m.Towns {
			location := "Hospital, " + m.formatAddress(t) // in the form that newListing writes
			if place, isKnown := gaz.Resolve(location); isKnown {
				seeder.places[t] = &place
			}
		}
	}

	return seeder
}

// addEmployer adds employer i. homes counts the employers of each country, so that
// their towns differ.
func (sd *seeder) addEmployer(i int, homes map[string]int) {
	template := sd.Employers[i%len(sd.Employers)]
	founded := sd.now.AddDate(-1, 0, 0)
	m := sd.Markets[template.Country]

	o := employer{market: m, setting: template.Setting}
	for k := range 1 + sd.rng.IntN(4) {
		o.towns = append(o.towns, m.Towns[(homes[m.code]+k)%len(m.Towns)])
	}

	homes[m.code]++

	if strings.Contains(template.Name, "{town}") {
		o.towns = o.towns[:1]
	}

	if i == 0 {
		o.towns = []town{m.townNamed("Leeds"), m.townNamed("Bradford"), m.townNamed("Wakefield")}
	}

	home := o.towns[0].Name

	// Each round through the names begins 7 names later, so that templates get other names.
	round := i / len(sd.Names)
	name := sd.Names[(i+7*round)%len(sd.Names)]
	fill := strings.NewReplacer("{name}", name, "{town}", home)
	o.site = fill.Replace(template.Site)
	o.boilerplate = strings.Join(sd.pickSome(m.Boilerplate, 2, 2), " ")
	o.Organization, _ = identity.NewOrganization(
		demoID(founded, "org", i),
		"",
		"",
		sd.uniqueOrgName(fill.Replace(template.Name), home),
		"Healthcare",
		sd.pick(sd.Sizes),
		founded,
	)
	o.Description = fmt.Sprintf("%s cares for the people of %s and the towns around it.", o.Name, home)
	o.Website = "https://" + slugify(o.Name) + ".example"

	sd.orgs = append(sd.orgs, o)
	for range template.Weight {
		sd.orgDraw = append(sd.orgDraw, i)
	}
}

// townNamed returns the town with the name.
func (m *market) townNamed(name string) town {
	return m.Towns[slices.IndexFunc(m.Towns, func(t town) bool { return t.Name == name })]
}

// formatAddress returns a town with its postcode: Leeds LS1 3EX; Boston, MA 02108.
func (m *market) formatAddress(t town) string {
	if m.code == "US" {
		return t.Name + ", " + t.Code
	}

	return t.Name + " " + t.Code
}

// demoID returns a UUIDv7 of the time. The same name has the same id every time.
func demoID(at time.Time, kind string, n int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16) // 48 bits of milliseconds
	copy(id[6:], h[:])

	id[6] = id[6]&0x0f | 0x70 // version 7 (RFC 9562)
	id[8] = id[8]&0x3f | 0x80 // variant of the RFC

	return id.String()
}

func (sd *seeder) pick(items []string) string { return items[sd.rng.IntN(len(items))] }

// pickSome returns some of the items, in their order.
func (sd *seeder) pickSome(items []string, minCount, maxCount int) []string {
	n := min(minCount+sd.rng.IntN(maxCount-minCount+1), len(items))

	var out []string
	for i, s := range items {
		if remaining := len(items) - i; sd.rng.IntN(remaining) < n-len(out) {
			out = append(out, s)
		}
	}

	return out
}

// uniqueOrgName makes a name unique.
func (sd *seeder) uniqueOrgName(name, town string) string {
	for _, suffix := range []string{"", " " + town, " North", " South", " East", " West", " Group"} {
		if !slices.ContainsFunc(sd.orgs, func(o employer) bool { return o.Name == name+suffix }) {
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

// postingPeriod is the period in which the listings were posted.
func postingPeriod(n int) time.Duration {
	return time.Duration(min(max(n/100, 45), 364)) * 24 * time.Hour
}

// listings returns n listings in the order of posting.
func (sd *seeder) listings(n int) iter.Seq[listings.Listing] {
	return func(yield func(listings.Listing) bool) {
		step := postingPeriod(n) / time.Duration(n)

		at := sd.now.Add(-postingPeriod(n))
		for i := range n {
			org, p := sd.pickVacancy(i)
			l := sd.newListing(i, at.Truncate(time.Microsecond), org, p)
			sd.remember(l)

			if !yield(l) {
				return
			}

			at = at.Add(step)
		}
	}
}

// newListing returns listing i, of an employer for a post.
func (sd *seeder) newListing(i int, postedAt time.Time, org *employer, p *post) listings.Listing {
	f := org.Families[p.Family]
	t := org.towns[sd.rng.IntN(len(org.towns))]
	listing := listings.Listing{
		ID:             demoID(postedAt, "listing", i),
		OrganizationID: org.ID,
		Version:        1,
		Company:        org.Name,
		Place:          sd.places[t],
		Status:         listings.Active,
		Open:           true,
		PostedAt:       &postedAt,
		CreatedAt:      postedAt,
		UpdatedAt:      postedAt,
	}
	listing.Location = org.site + ", " + org.formatAddress(t)
	listing.Remote = p.IsRemote

	field := f.Label
	if p.Specialties != "" {
		listing.Specialty = sd.pick(org.Specialties[p.Specialties])
		listing.Department = listing.Specialty
		field = listing.Specialty
	}

	s := org.Shifts[p.Shifts][sd.rng.IntN(len(org.Shifts[p.Shifts]))]
	sd.setContract(&listing, org, p, f)

	if s.Label == "Part Time" && listing.EmploymentType == "full-time" {
		listing.EmploymentType = "part-time"
	}

	title := sd.pick(p.Titles)
	listing.Title = sd.composeTitle(strings.ReplaceAll(title, "{specialty}", listing.Specialty), &listing, org, p, s)
	listing.Salary = sd.choosePay(org.market, p, listing.ContractType)
	fill := strings.NewReplacer(
		"{org}", org.Name,
		"{town}", t.Name,
		"{specialty}", field,
		"{a role}", withArticle(strings.TrimSuffix(title, " in {specialty}")),
		"{state}", region(listing.Place),
	)

	register := fill.Replace(f.Registers[org.code])
	for _, r := range sd.pickSome(f.Requirements, 2, 3) {
		listing.Requirements = append(listing.Requirements, fill.Replace(r))
	}

	listing.Requirements = append(listing.Requirements, strings.ToUpper(register[:1])+register[1:])

	listing.Benefits = sd.pickSome(org.Benefits, 3, 5)
	for k, q := range sd.pickSome(sd.Questions, 0, 3) {
		listing.Questions = append(listing.Questions, listings.Question{ID: demoID(postedAt, "question", i*10+k), Text: q, Required: k == 0})
	}

	listing.Description = fill.Replace(sd.composeDescription(org, p, f, s))
	sd.setState(&listing)

	return listing
}

// setState makes a few listings closed, inactive or a draft, and gives most a deadline.
func (sd *seeder) setState(l *listings.Listing) {
	switch sd.rng.IntN(40) {
	case 0:
		l.Status, l.Open = listings.Closed, false
	case 1:
		l.Status, l.Open = listings.Inactive, false
	case 2:
		l.Status = listings.Draft
		l.Open = false
		l.PostedAt = nil
	}

	if sd.rng.IntN(10) < 6 {
		deadline := sd.now.AddDate(0, 0, 3+sd.rng.IntN(60)).Add(24*time.Hour - time.Second)
		l.Deadline = &deadline
	}
}

// pickVacancy chooses an employer and a post. The first vacancies go through the
// occupations, so that a small board has each of them.
func (sd *seeder) pickVacancy(i int) (*employer, *post) {
	choose := func() (*employer, []*post) {
		org := &sd.orgs[sd.orgDraw[sd.rng.IntN(len(sd.orgDraw))]]
		return org, org.posts[org.setting]
	}

	for tries := 0; i < len(sd.Occupations) && tries < 1000; tries++ {
		org, posts := choose()

		k := slices.IndexFunc(posts, func(p *post) bool { return p.occupation == sd.Occupations[i] })
		if k >= 0 {
			return org, posts[k]
		}
	}

	org, posts := choose()

	return org, posts[sd.rng.IntN(len(posts))]
}

// setContract chooses the contract and its hours.
func (sd *seeder) setContract(l *listings.Listing, org *employer, p *post, f *family) {
	l.ContractType = sd.pick([]string{"permanent", "permanent", "permanent", "permanent", "temporary", "temporary", "contract"})
	if p.IsFixedTerm && l.ContractType == "permanent" || f.Cover == "permanent" && l.ContractType == "temporary" {
		l.ContractType = "contract"
	}

	l.EmploymentType = sd.pick([]string{"full-time", "full-time", "full-time", "part-time", "flexible"})
	if l.ContractType != "temporary" {
		return
	}

	switch {
	case org.code == "US":
		l.EmploymentType = "per-diem"
	case f.Cover == "bank":
		l.EmploymentType = "bank"
	}
}

// composeTitle adds to a title the specialty, band, contract and shift.
func (sd *seeder) composeTitle(t string, listing *listings.Listing, org *employer, p *post, s shift) string {
	separator := " – "
	if org.code == "US" {
		separator = ", "
	}

	if listing.Specialty != "" && !strings.Contains(t, listing.Specialty) && sd.rng.IntN(4) > 0 {
		t += separator + listing.Specialty
	}

	if strings.HasPrefix(p.Grade, "Band") && sd.rng.IntN(2) == 0 {
		t += ", " + p.Grade
	}

	switch {
	case listing.EmploymentType == "bank":
		t = "Bank " + t
	case listing.EmploymentType == "per-diem":
		t += separator + "Per Diem"
	case listing.ContractType == "temporary":
		t = "Locum " + t
	case org.code == "US" && listing.ContractType == "contract" && p.Family == "nurse":
		t = "Travel " + t
	}

	if sd.rng.IntN(6) == 0 {
		t += " (" + s.Label + ")"
	}

	return t
}

// The hours of a full-time year.
const (
	hoursInEurope  = 1950
	hoursInAmerica = 2080
)

// doctorsPay is the yearly pay in US dollars from which a post is one for a doctor.
const doctorsPay = 150_000

// choosePay returns the pay of the post: by the hour for temporary work and, in the United
// States, for contracts and about half of the other posts below a doctor's pay. It is yearly
// for all others.
func (sd *seeder) choosePay(m *market, p *post, contract string) *listings.Salary {
	s := listings.Salary{Currency: m.Currency, Period: "year"}
	isHourly := contract == "temporary"

	hours := float64(hoursInEurope)
	if m.code == "US" {
		hours = hoursInAmerica
		isHourly = isHourly || p.High < doctorsPay && (contract == "contract" || sd.rng.IntN(2) == 0)
	}

	toMinor := func(yearly float64) *int64 { return new(int64(yearly) * 100) }
	if isHourly {
		s.Period = "hour"

		// In steps of 5 cents: 20 in a unit of the currency, and 2 because pay by the hour is a
		// tenth higher.
		toMinor = func(yearly float64) *int64 { return new(int64(yearly/hours*22) * 5) }
	}

	s.Min, s.Max = toMinor(p.Low), toMinor(p.High)

	return &s
}

// composeDescription returns the text of a listing, with placeholders for the names.
func (sd *seeder) composeDescription(org *employer, p *post, f *family, s shift) string {
	var b strings.Builder
	b.WriteString(sd.pick(org.Openings) + "\n\nWhat you will do:\n")

	for _, d := range sd.pickSome(f.Duties, 3, 4) {
		b.WriteString("- " + d + ".\n")
	}

	b.WriteString("\n" + s.Sentence)

	switch {
	case strings.HasPrefix(p.Grade, "Band"):
		b.WriteString(" This is an Agenda for Change " + p.Grade + " post.")
	case p.Grade != "":
		b.WriteString(" The post is paid on the " + p.Grade + " scale.")
	}

	b.WriteString(" You will need " + f.Registers[org.code] + ".\n\n" + org.boilerplate + " " + sd.pick(org.Closings))

	return b.String()
}

// withArticle puts a or an before a title.
func withArticle(title string) string {
	if strings.ContainsRune("AEIO", rune(title[0])) {
		return "an " + title
	}

	return "a " + title
}

// region returns the region of the place, empty for none.
func region(p *listings.Place) string {
	if p == nil {
		return ""
	}

	return p.Region
}
