package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

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
// The services have the clock.
func seed(ctx context.Context, s adapters.Storage, h *hiring.Service, clock *pastClock, n int, done func(int)) ([]demoAccount, error) {
	accounts, hashes := slices.Clone(demoAccounts), map[string]string{}
	hasher := argonhash.New()
	for i := range accounts {
		a := &accounts[i]
		a.Password = auth.NewSecret("Demo1-", 12)
		hash, err := hasher.Hash(ctx, a.Password)
		if err != nil {
			return nil, err
		}
		hashes[a.Email] = hash
	}
	w := newWorld(time.Now().UTC().Truncate(24*time.Hour), n)
	if err := s.Listings.Loader.Load(ctx, w.listings(n), done); err != nil {
		return nil, err
	}
	return accounts, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
		if err := w.people(ctx, s, n, hashes); err != nil {
			return err
		}
		return w.applications(ctx, h, clock)
	})
}

// world creates all data from one random number generator with a fixed seed, so that it
// is the same every time.
type world struct {
	*corpus
	now    time.Time
	chance *rand.Rand
	places map[town]*listings.Place
	orgs   []employer
	turns  []int // of orgs; one of weight 2 is in it twice
	// Who applies, to which listings of the first organization, and who decides.
	seekers         []string
	open            []listings.Listing
	recruiter, lead string
}

// employer is an invented organization.
type employer struct {
	identity.Organization
	*market
	setting, site string
	towns         []town
	boilerplate   string
}

func newWorld(now time.Time, n int) *world {
	w := &world{corpus: loadCorpus(), now: now, chance: rand.New(rand.NewPCG(2026, 1120)), places: map[town]*listings.Place{}} //nolint:gosec // a fixed seed, so that the data is the same every time
	homes := map[string]int{}
	for i := range min(max(n/40, len(w.Employers)), 600) {
		w.addEmployer(i, homes)
	}
	g := gazetteer.New()
	for _, m := range w.Markets {
		for _, t := range m.Towns {
			if p, ok := g.Resolve("Hospital, " + m.address(t)); ok { // as locations are written
				w.places[t] = &p
			}
		}
	}
	return w
}

// addEmployer adds employer i. homes counts the employers of each country, so that
// their towns differ.
func (w *world) addEmployer(i int, homes map[string]int) {
	kind, founded := w.Employers[i%len(w.Employers)], w.now.AddDate(-1, 0, 0)
	m := w.Markets[kind.Country]
	o := employer{market: m, setting: kind.Setting}
	for k := range 1 + w.chance.IntN(4) {
		o.towns = append(o.towns, m.Towns[(homes[m.code]+k)%len(m.Towns)])
	}
	homes[m.code]++
	if strings.Contains(kind.Name, "{town}") {
		o.towns = o.towns[:1]
	}
	if i == 0 {
		o.towns = []town{m.town("Leeds"), m.town("Bradford"), m.town("Wakefield")}
	}
	home := o.towns[0].Name
	fill := strings.NewReplacer("{name}", w.Names[(i+i/len(w.Names)*7)%len(w.Names)], "{town}", home)
	o.site = fill.Replace(kind.Site)
	o.boilerplate = strings.Join(w.some(m.Boilerplate, 2, 2), " ")
	o.Organization, _ = identity.NewOrganization(demoID(founded, "org", i), "", "", w.orgName(fill.Replace(kind.Name), home), "Healthcare", w.pick(w.Sizes), founded)
	o.Description = fmt.Sprintf("%s cares for the people of %s and the towns around it.", o.Name, home)
	o.Website = "https://" + slug(o.Name) + ".example"
	w.orgs = append(w.orgs, o)
	for range kind.Weight {
		w.turns = append(w.turns, i)
	}
}

// town returns the town with the name.
func (m *market) town(name string) town {
	return m.Towns[slices.IndexFunc(m.Towns, func(t town) bool { return t.Name == name })]
}

// address returns a town with its postcode: Leeds LS1 3EX; Boston, MA 02108.
func (m *market) address(t town) string {
	if m.code == "US" {
		return t.Name + ", " + t.Code
	}
	return t.Name + " " + t.Code
}

// demoID returns a UUIDv7 of the time. The same name has the same id every time.
func demoID(at time.Time, kind string, n int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	copy(b[6:], h[:])
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

func (w *world) pick(of []string) string { return of[w.chance.IntN(len(of))] }

// some returns some of the items, in their order.
func (w *world) some(of []string, least, most int) []string {
	n := min(least+w.chance.IntN(most-least+1), len(of))
	var out []string
	for i, s := range of {
		if left := len(of) - i; w.chance.IntN(left) < n-len(out) {
			out = append(out, s)
		}
	}
	return out
}

// orgName makes a name unique.
func (w *world) orgName(name, town string) string {
	for _, suffix := range []string{"", " " + town, " North", " South", " East", " West", " Group"} {
		if !slices.ContainsFunc(w.orgs, func(o employer) bool { return o.Name == name+suffix }) {
			return name + suffix
		}
	}
	return name + " Partnership"
}

func slug(name string) string {
	return strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }), "-"), "-")
}

// span is the period in which the listings were posted.
func span(n int) time.Duration {
	return time.Duration(min(max(n/100, 45), 364)) * 24 * time.Hour
}

// listings returns n listings in the order of posting.
func (w *world) listings(n int) iter.Seq[listings.Listing] {
	return func(yield func(listings.Listing) bool) {
		step := span(n) / time.Duration(n)
		at := w.now.Add(-span(n))
		for i := range n {
			l := w.listing(i, at)
			w.remember(l)
			if !yield(l) {
				return
			}
			at = at.Add(step)
		}
	}
}

func (w *world) listing(i int, at time.Time) listings.Listing {
	o, p := w.vacancy(i)
	return w.advert(i, at.Truncate(time.Microsecond), o, p)
}

// advert returns a listing of an employer for a post.
func (w *world) advert(i int, at time.Time, o *employer, p *post) listings.Listing {
	f := o.Families[p.Family]
	t := o.towns[w.chance.IntN(len(o.towns))]
	l := listings.Listing{
		ID: demoID(at, "listing", i), OrganizationID: o.ID, Version: 1, Company: o.Name, Place: w.places[t],
		Status: listings.Active, Open: true, PostedAt: &at, CreatedAt: at, UpdatedAt: at,
	}
	l.Location, l.Remote = o.site+", "+o.address(t), p.IsRemote
	field := f.Label
	if p.Specialties != "" {
		l.Specialty = w.pick(o.Specialties[p.Specialties])
		l.Department, field = l.Specialty, l.Specialty
	}
	s := o.Shifts[p.Shifts][w.chance.IntN(len(o.Shifts[p.Shifts]))]
	w.contract(&l, o, p, f)
	if s.Label == "Part Time" && l.EmploymentType == "full-time" {
		l.EmploymentType = "part-time"
	}
	title := w.pick(p.Titles)
	l.Title = w.title(strings.ReplaceAll(title, "{specialty}", l.Specialty), &l, o, p, s)
	l.Salary = w.pay(o.market, p, l.ContractType)
	fill := strings.NewReplacer("{org}", o.Name, "{town}", t.Name, "{specialty}", field, "{a role}", withArticle(strings.TrimSuffix(title, " in {specialty}")), "{state}", region(l.Place))
	register := fill.Replace(f.Registers[o.code])
	for _, r := range w.some(f.Requirements, 2, 3) {
		l.Requirements = append(l.Requirements, fill.Replace(r))
	}
	l.Requirements = append(l.Requirements, strings.ToUpper(register[:1])+register[1:])
	l.Benefits = w.some(o.Benefits, 3, 5)
	for k, q := range w.some(w.Questions, 0, 3) {
		l.Questions = append(l.Questions, listings.Question{ID: demoID(at, "question", i*10+k), Text: q, Required: k == 0})
	}
	l.Description = fill.Replace(w.description(o, p, f, s))
	switch w.chance.IntN(40) {
	case 0:
		l.Status, l.Open = listings.Closed, false
	case 1:
		l.Status, l.Open = listings.Inactive, false
	case 2:
		l.Status, l.Open, l.PostedAt = listings.Draft, false, nil
	}
	if w.chance.IntN(10) < 6 {
		until := w.now.AddDate(0, 0, 3+w.chance.IntN(60)).Add(24*time.Hour - time.Second)
		l.Deadline = &until
	}
	return l
}

// vacancy chooses an employer and a post. The first vacancies go through the
// occupations, so that a small board has each of them.
func (w *world) vacancy(i int) (*employer, *post) {
	choose := func() (*employer, []*post) {
		o := &w.orgs[w.turns[w.chance.IntN(len(w.turns))]]
		return o, o.posts[o.setting]
	}
	for tries := 0; i < len(w.Occupations) && tries < 1000; tries++ {
		o, posts := choose()
		at := slices.IndexFunc(posts, func(p *post) bool { return p.occupation == w.Occupations[i] })
		if at >= 0 {
			return o, posts[at]
		}
	}
	o, posts := choose()
	return o, posts[w.chance.IntN(len(posts))]
}

// contract chooses the contract and its hours.
func (w *world) contract(l *listings.Listing, o *employer, p *post, f *family) {
	l.ContractType = w.pick([]string{"permanent", "permanent", "permanent", "permanent", "temporary", "temporary", "contract"})
	if p.IsFixedTerm && l.ContractType == "permanent" || f.Cover == "permanent" && l.ContractType == "temporary" {
		l.ContractType = "contract"
	}
	l.EmploymentType = w.pick([]string{"full-time", "full-time", "full-time", "part-time", "flexible"})
	switch {
	case l.ContractType != "temporary":
	case o.code == "US":
		l.EmploymentType = "per-diem"
	case f.Cover == "bank":
		l.EmploymentType = "bank"
	}
}

// title adds to a title the specialty, band, contract and shift.
func (w *world) title(t string, l *listings.Listing, o *employer, p *post, s shift) string {
	separator := " – "
	if o.code == "US" {
		separator = ", "
	}
	if l.Specialty != "" && !strings.Contains(t, l.Specialty) && w.chance.IntN(4) > 0 {
		t += separator + l.Specialty
	}
	if strings.HasPrefix(p.Grade, "Band") && w.chance.IntN(2) == 0 {
		t += ", " + p.Grade
	}
	switch {
	case l.EmploymentType == "bank":
		t = "Bank " + t
	case l.EmploymentType == "per-diem":
		t += separator + "Per Diem"
	case l.ContractType == "temporary":
		t = "Locum " + t
	case o.code == "US" && l.ContractType == "contract" && p.Family == "nurse":
		t = "Travel " + t
	}
	if w.chance.IntN(6) == 0 {
		t += " (" + s.Label + ")"
	}
	return t
}

// The hours of a full-time year.
const (
	hoursInEurope  = 1950
	hoursInAmerica = 2080
)

// pay is hourly for cover, and in the United States for most posts that are not a
// doctor's; it is yearly for the others.
func (w *world) pay(m *market, p *post, contract string) *listings.Salary {
	s := listings.Salary{Currency: m.Currency, Period: "year"}
	hourly, hours := contract == "temporary", float64(hoursInEurope)
	if m.code == "US" {
		hours = hoursInAmerica
		hourly = hourly || p.High < 150_000 && (contract == "contract" || w.chance.IntN(2) == 0)
	}
	minor := func(x float64) *int64 { n := int64(x) * 100; return &n }
	if hourly {
		s.Period = "hour"
		minor = func(x float64) *int64 { n := int64(x/hours*22) * 5; return &n } // a tenth more, in steps of 5 cents
	}
	s.Min, s.Max = minor(p.Low), minor(p.High)
	return &s
}

func (w *world) description(o *employer, p *post, f *family, s shift) string {
	var b strings.Builder
	b.WriteString(w.pick(o.Openings) + "\n\nWhat you will do:\n")
	for _, d := range w.some(f.Duties, 3, 4) {
		b.WriteString("- " + d + ".\n")
	}
	b.WriteString("\n" + s.Sentence)
	switch {
	case strings.HasPrefix(p.Grade, "Band"):
		b.WriteString(" This is an Agenda for Change " + p.Grade + " post.")
	case p.Grade != "":
		b.WriteString(" The post is paid on the " + p.Grade + " scale.")
	}
	b.WriteString(" You will need " + f.Registers[o.code] + ".\n\n" + o.boilerplate + " " + w.pick(o.Closings))
	return b.String()
}

// withArticle puts a or an before a title.
func withArticle(title string) string {
	if strings.ContainsRune("AEIO", rune(title[0])) {
		return "an " + title
	}
	return "a " + title
}

func region(p *listings.Place) string {
	if p == nil {
		return ""
	}
	return p.Region
}
