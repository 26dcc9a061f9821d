package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/argonhash"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// DemoAccount is a demo account to sign in with.
type DemoAccount struct{ Email, Password, What string }

// demoAccounts are the demo accounts that have a password. Each seeding chooses
// new ones.
var demoAccounts = []DemoAccount{
	{Email: "employer@" + identity.DemoDomain, What: "admin of Northgate University Hospitals NHS Foundation Trust"},
	{Email: "recruiter@" + identity.DemoDomain, What: "recruiter there"},
	{Email: "viewer@" + identity.DemoDomain, What: "viewer there"},
	{Email: "jobseeker@" + identity.DemoDomain, What: "jobseeker"},
}

// demoFile keeps the demo accounts with their passwords, relative to the working
// directory.
const demoFile = "data/demo.txt"

// maxSeed bounds what one seeding makes.
const maxSeed = 5_000_000

// errHasUsers is the refusal to mix demo data with the data of users.
var errHasUsers = errors.New("the store has users; demo data is for an empty store")

func (o *operator) seed() *cobra.Command {
	var n int
	var remove, optional, public bool
	cmd := &cobra.Command{
		Use: "seed", Short: "Fill an empty store with demo data, or remove it", Args: cobra.NoArgs,
		Long: "Fill an empty store with organizations, people, listings and a few applications: the same ones each time, except for the passwords, which are printed and kept in " + demoFile + ".",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1 || n > maxSeed {
				return fmt.Errorf("--listings wants a number from 1 to %d", maxSeed)
			}
			return o.withNewStorage(cmd, func(ctx context.Context, c *config.Config, s adapters.Storage) error {
				log := newLogger(cmd.ErrOrStderr(), c.Log.Level)
				if err := fitSchema(ctx, c, s, log); err != nil {
					return err
				}
				if remove {
					return removeDemo(ctx, cmd.OutOrStdout(), c, s, newDeps(log))
				}
				err := mayHoldDemo(ctx, c, s, public)
				if err == nil {
					return seedTo(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), s, n)
				}
				if optional {
					fmt.Fprintf(cmd.OutOrStdout(), "no demo data is added: %s\n", oneLine(err))
					return nil
				}
				return err
			})
		},
	}
	cmd.Flags().IntVar(&n, "listings", 200, "how many listings")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the demo data")
	cmd.Flags().BoolVar(&optional, "optional", false, "succeed without demo data where it is refused")
	cmd.Flags().BoolVar(&public, "public", false, "allow demo data where http.public_url is not on this machine")
	return cmd
}

// mayHoldDemo returns why the store must not get demo data.
func mayHoldDemo(ctx context.Context, c *config.Config, s adapters.Storage, public bool) error {
	if !public && !isLoopbackURL(c.HTTP.PublicURL) {
		return c.Err("http.public_url", "demo data is for this machine; --public adds it all the same")
	}
	exist, err := s.Users.Exist(ctx)
	if err == nil && exist {
		err = errHasUsers
	}
	return err
}

func isLoopbackURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && a.IsLoopback()
}

// seedTo seeds with a progress bar, prints the accounts and keeps them in a file.
func seedTo(ctx context.Context, out, progress io.Writer, s adapters.Storage, n int) error {
	visible := false
	if f, ok := progress.(*os.File); ok {
		visible = term.IsTerminal(int(f.Fd()))
	}
	bar := progressbar.NewOptions(n, progressbar.OptionSetWriter(progress), progressbar.OptionSetVisibility(visible),
		progressbar.OptionSetDescription("listings"), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	began := time.Now()
	accounts, err := Seed(ctx, s, n, func(n int) { _ = bar.Add(n) })
	if err != nil {
		return err
	}
	_ = bar.Finish()
	var list strings.Builder
	for _, a := range accounts {
		fmt.Fprintf(&list, "%-26s %s   (%s)\n", a.Email, a.Password, a.What)
	}
	fmt.Fprintf(out, "seeded %d listings in %s\n%s", n, time.Since(began).Round(10*time.Millisecond), list.String())
	if err := errors.Join(os.MkdirAll(filepath.Dir(demoFile), 0o700), os.WriteFile(demoFile, []byte(list.String()), 0o600)); err != nil {
		return fmt.Errorf("failed to keep the passwords: %w", err)
	}
	fmt.Fprintf(out, "these passwords are kept in %s\n", demoFile)
	return nil
}

// demoSignIns returns the lines of the kept demo accounts, none if the store has
// no demo data or they cannot sign in.
func demoSignIns(ctx context.Context, c *config.Config, s adapters.Storage) []string {
	if _, err := s.Users.FindByEmail(ctx, demoAccounts[0].Email); err != nil || strings.HasPrefix(c.HTTP.PublicURL, "https:") {
		return nil
	}
	kept, err := os.ReadFile(demoFile)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(kept)), "\n")
}

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

// demoRoles begin the addresses of demo accounts, before a number and the domain.
var demoRoles = []string{"employer", "admin", "recruiter", "viewer", "jobseeker"}

// maxDemoAccounts bounds the accounts of a role.
const maxDemoAccounts = 2_000

// removeDemo deletes the demo organizations' listings and the demo accounts.
// What others keep of them is erased in the background.
func removeDemo(ctx context.Context, out io.Writer, c *config.Config, s adapters.Storage, d adapters.Deps) error {
	people := newIdentity(c, s, d, nil, nil, nil)
	var accounts []string
	organizations := map[string]bool{}
	for _, role := range demoRoles {
		for i := range maxDemoAccounts {
			email := role + "@" + identity.DemoDomain
			if i > 0 {
				email = fmt.Sprintf("%s%d@%s", role, i, identity.DemoDomain)
			}
			u, err := s.Users.FindByEmail(ctx, email)
			if errors.Is(err, identity.ErrUserNotFound) {
				continue
			} else if err != nil {
				return err
			}
			m, err := s.Organizations.MembershipOf(ctx, u.ID)
			if err != nil {
				return err
			}
			if m != nil {
				organizations[m.OrganizationID] = true
			}
			accounts = append(accounts, u.ID)
		}
	}
	n, err := s.ListingLoader.Remove(ctx, slices.Sorted(maps.Keys(organizations)))
	if err != nil {
		return err
	}
	// The accounts come last: without them the listings would not be found.
	for _, userID := range accounts {
		if err := people.DeleteAccount(ctx, auth.Actor{UserID: userID, ConfirmedAt: d.Clock.Now()}); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "removed %d demo accounts and %d listings\n", len(accounts), n)
	if err := os.Remove(demoFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
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
