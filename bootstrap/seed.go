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
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// Seed fills an empty store with organizations, people and n listings, the same
// ones every time, as of today. It returns the accounts to sign in with.
func Seed(ctx context.Context, s adapters.Storage, n int, done func(int)) ([]DemoAccount, error) {
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
	if err := s.ListingLoader.Load(ctx, w.listings(n), done); err != nil {
		return nil, err
	}
	return accounts, s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := w.people(ctx, s, n, hashes); err != nil {
			return err
		}
		return w.applications(ctx, s)
	})
}

// world makes everything from one stream of chance, so that it is always the
// same one.
type world struct {
	now    time.Time
	chance *rand.Rand
	places map[string]*listings.Place
	orgs   []employer
	// Who applies, to which listings of the first organization, and who decides.
	seekers         []string
	open            []listings.Listing
	recruiter, lead string
}

// employer is an invented organization.
type employer struct {
	identity.Organization
	nation nation
	towns  []string
}

func newWorld(now time.Time, n int) *world {
	w := &world{now: now, chance: rand.New(rand.NewPCG(2026, 1120)), places: map[string]*listings.Place{}} //nolint:gosec // the same every time is the point
	g := gazetteer.New()
	count := min(max(n/40, 12), 600)
	for i := range count {
		nat := nations[[]int{0, 0, 0, 1, 2, 0, 2, 0, 1, 2}[i%10]]
		o := employer{nation: nat}
		home := i / 2 % len(nat.towns)
		for k := range 1 + w.chance.IntN(4) {
			o.towns = append(o.towns, nat.towns[(home+k)%len(nat.towns)])
		}
		if i == 0 {
			o.towns = []string{"Leeds", "Bradford", "Wakefield"}
		}
		o.Organization, _ = identity.Found(w.id(now.AddDate(-1, 0, 0), "org", i), "", "", w.orgName(i, nat, o.towns[0]), "Healthcare", sizes[w.chance.IntN(len(sizes))], now.AddDate(-1, 0, 0))
		o.Description = fmt.Sprintf("%s cares for the people of %s and the towns around it.", o.Name, o.towns[0])
		o.Website = "https://" + slug(o.Name) + ".example"
		w.orgs = append(w.orgs, o)
	}
	for _, nat := range nations {
		for _, t := range nat.towns {
			if p, ok := g.Resolve(t + ", " + nat.name); ok {
				w.places[t+nat.name] = &p
			} else if p, ok := g.Resolve(t); ok {
				w.places[t+nat.name] = &p
			}
		}
	}
	return w
}

// id is a UUIDv7 of the moment, the same one for the same thing.
func (w *world) id(at time.Time, kind string, n int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	copy(b[6:], h[:])
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

func (w *world) pick(of []string) string { return of[w.chance.IntN(len(of))] }

// some gives a few of the items, in their order.
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

func (w *world) orgName(i int, nat nation, town string) string {
	if i == 0 {
		return "Northgate University Hospitals NHS Foundation Trust"
	}
	name := strings.NewReplacer("{town}", town, "{name}", orgNames[(i*7+i/len(orgNames))%len(orgNames)]).Replace(nat.orgs[i%len(nat.orgs)])
	for _, o := range w.orgs {
		if o.Name == name {
			return name + " " + w.pick([]string{"North", "South", "East", "West", "Group", "Partnership"})
		}
	}
	return name
}

func slug(name string) string {
	return strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }), "-"), "-")
}

// span is over how long the listings were posted.
func span(n int) time.Duration {
	return time.Duration(min(max(n/100, 45), 364)) * 24 * time.Hour
}

// listings are n listings in the order of posting.
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
	at = at.Truncate(time.Microsecond)
	o := &w.orgs[w.chance.IntN(len(w.orgs))]
	r := &trades[w.trade(i)]
	town := w.pick(o.towns)
	l := listings.Listing{
		ID: w.id(at, "listing", i), OrganizationID: o.ID, Version: 1, Company: o.Name, Place: w.places[town+o.nation.name],
		Status: listings.Active, Open: true, PostedAt: &at, CreatedAt: at, UpdatedAt: at,
	}
	specialty := w.pick(r.specialties)
	l.Specialty, l.Department = specialty, specialty+" "+w.pick([]string{"Department", "Unit", "Service", "Team", "Ward"})
	l.Location = town + o.nation.suffix
	l.ContractType = w.pick([]string{"permanent", "permanent", "permanent", "permanent", "temporary", "temporary", "contract"})
	l.EmploymentType = w.pick([]string{"full-time", "full-time", "full-time", "part-time", "flexible"})
	if l.ContractType == "temporary" {
		l.EmploymentType = w.pick([]string{"bank", "full-time", "part-time"})
		if o.nation.name == "United States" {
			l.EmploymentType = w.pick([]string{"per-diem", "full-time"})
		}
	}
	l.Remote = r.remote && w.chance.IntN(6) == 0
	grade := &r.grades[w.chance.IntN(len(r.grades))]
	l.Salary = w.pay(o.nation, grade, l.ContractType)
	l.Title = w.title(grade, specialty, o.nation, l.ContractType)
	l.Requirements = w.some(r.requirements, 2, 4)
	l.Requirements = append(l.Requirements, o.nation.register[r.family])
	l.Benefits = w.some(o.nation.benefits, 3, 5)
	for k, q := range w.some(questions, 0, 3) {
		l.Questions = append(l.Questions, listings.Question{ID: w.id(at, "question", i*10+k), Text: q, Required: k == 0})
	}
	l.Description = w.description(o, r, grade, specialty, town)
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

// trade picks what is wanted: nurses most of all.
func (w *world) trade(i int) int {
	if i < len(trades) {
		return i // in a small board everything is there once
	}
	if w.chance.IntN(3) == 0 {
		return w.chance.IntN(4)
	}
	return w.chance.IntN(len(trades))
}

func (w *world) title(g *grade, specialty string, nat nation, contract string) string {
	t := w.pick(g.titles)
	if nat.name == "United States" && g.american != "" {
		t = g.american
	}
	t = strings.ReplaceAll(t, "{specialty}", specialty)
	if nat.name == "United Kingdom" && g.band != "" && w.chance.IntN(2) == 0 {
		t += " – Band " + g.band
	}
	switch {
	case contract == "temporary" && w.chance.IntN(3) == 0 && nat.name != "United States":
		t = "Bank " + t
	case w.chance.IntN(12) == 0:
		t += " (" + w.pick([]string{"Nights", "Weekends", "Relocation support", "Immediate start", "Newly qualified welcome"}) + ")"
	}
	return t
}

func (w *world) pay(nat nation, g *grade, contract string) *listings.Salary {
	low, high := g.low, g.high
	s := listings.Salary{Currency: nat.currency, Period: "year"}
	hours := 1950.0
	switch nat.name {
	case "Ireland":
		low, high = low*1.25, high*1.25
	case "United States":
		low, high, hours = low*1.75, high*1.75, 2080
	}
	if contract != "permanent" || nat.name == "United States" && w.chance.IntN(2) == 0 {
		s.Period = "hour"
		minor := func(x float64) *int64 { n := int64(x/hours*20) * 5; return &n }
		s.Min, s.Max = minor(low*1.1), minor(high*1.1)
		return &s
	}
	minor := func(x float64) *int64 { n := int64(x/50) * 50 * 100; return &n }
	s.Min, s.Max = minor(low), minor(high)
	return &s
}

func (w *world) description(o *employer, r *trade, g *grade, specialty, town string) string {
	fill := strings.NewReplacer("{org}", o.Name, "{town}", town, "{specialty}", strings.ToLower(specialty), "{role}", strings.ToLower(r.name), "{hours}", w.pick(shifts))
	var b strings.Builder
	b.WriteString(w.pick(openings) + " " + w.pick(teams))
	b.WriteString("\n\nWhat you will do\n")
	for _, d := range w.some(r.duties, 3, 6) {
		b.WriteString("- " + d + "\n")
	}
	for _, d := range w.some(duties, 1, 3) {
		b.WriteString("- " + d + "\n")
	}
	b.WriteString("\n" + w.pick(about) + " " + w.pick(growth))
	if w.chance.IntN(2) == 0 {
		b.WriteString(" " + w.pick(about2))
	}
	if g.band != "" && o.nation.name == "United Kingdom" {
		b.WriteString("\n\nThis is an Agenda for Change Band " + g.band + " post.")
	}
	b.WriteString("\n\n" + w.pick(closings))
	return fill.Replace(b.String())
}
