package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/filetypes"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/adapters/mailboxes"
	"github.com/locumhq/locum/adapters/webhookout"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// The types in this file implement the ports of one module with the service of another. They
// only convert between the types of the modules.

func newListings(
	cfg *config.Config,
	s adapters.Storage,
	d adapters.Deps,
	identitySvc *identity.Service,
	engine *listings.Engine,
) (*listings.Service, error) {
	deps := listings.Deps{
		Tx:            s.Listings.Tx,
		Events:        s.Listings.Events,
		Audit:         s.Listings.Audit,
		Clock:         d.Clock,
		NewID:         d.NewID,
		Listings:      s.Listings.Listings,
		Engine:        engine,
		NewBatch:      newBatch,
		Public:        s.Listings.Public,
		Cases:         s.Listings.Cases,
		Retention:     s.Listings.Retention,
		Views:         s.Listings.Views,
		Applications:  s.Hiring.Counts,
		Gazetteer:     gazetteer.New(),
		Organizations: listingsOrganizations{identitySvc},
		Seekers:       listingsSeekers{s.Jobseeker.Profiles},
		SearchTimeout: cfg.Limits.SearchTimeout,
		SearchCPU:     time.Duration(cfg.Limits.SearchCPU * float64(time.Second)),
	}
	return listings.New(deps), checkDeps("listings", deps)
}

// listingsOrganizations implements listings.Organizations.
type listingsOrganizations struct{ *identity.Service }

func (b listingsOrganizations) CompanyName(ctx context.Context, organizationID string) (string, error) {
	return b.OrganizationName(ctx, organizationID)
}

// listingsSeekers implements listings.Seekers. It reads profiles from the repository: the
// service of module jobseeker depends on module listings.
type listingsSeekers struct{ jobseeker.Profiles }

func (b listingsSeekers) HomeLocation(ctx context.Context, userID string) (string, error) {
	p, err := b.Get(ctx, userID)
	return p.Home(), err
}

func newHiring(
	cfg *config.Config,
	s adapters.Storage,
	deps adapters.Deps,
	listingsSvc *listings.Service,
	identitySvc *identity.Service,
	mailer mail.Mailer,
	counts limit.Limiter,
	ring keyRing,
	fileStore files.Store,
) (*hiring.Service, error) {
	shared := &hiring.Shared{
		Tx: s.Hiring.Tx, Events: s.Hiring.Events, Clock: deps.Clock, NewID: deps.NewID, Tasks: s.Hiring.Tasks,
		People: userReader[hiring.Person]{
			identitySvc,
		}, Organizations: hiringOrganizations{identitySvc}, Mailer: mailer, PublicURL: cfg.HTTP.PublicURL,
	}
	hiringSvc := &hiring.Service{
		Shared: shared,
		ExportService: &hiring.ExportService{
			Shared:  shared,
			Audit:   s.Hiring.Audit,
			Exports: s.Hiring.Exports,
			Files:   fileStore,
			Sealer:  ring,
		},
		Applications:       s.Hiring.Applications,
		Appointments:       s.Hiring.Appointments,
		Messages:           s.Hiring.Messages,
		Notes:              s.Hiring.Notes,
		Ratings:            s.Hiring.Ratings,
		Documents:          s.Hiring.Documents,
		ApplicantDocuments: hiringDocuments{jobseeker.DocumentService{Documents: s.Jobseeker.Documents, Files: fileStore}},
		Listings:           hiringListings{listingsSvc},
		Preferences:        hiringPreferences{s.Jobseeker.Profiles},
		PersonalData:       s.Hiring.PersonalData,
		Limiter:            counts,
	}
	hiringSvc.Tables = map[string]hiring.Table{"jobs": listingsSvc.Table(), "applications": hiringSvc.Table()}
	return hiringSvc, checkDeps("hiring", *hiringSvc)
}

// hiringPreferences implements hiring.Preferences. It reads profiles from the repository: the
// service of module jobseeker depends on module hiring.
type hiringPreferences struct{ jobseeker.Profiles }

func (b hiringPreferences) WantsMail(ctx context.Context, userID string) (bool, error) {
	p, err := b.Get(ctx, userID)
	return p.EmailNotifications, err
}

func (b hiringPreferences) Introduction(ctx context.Context, userID string) (*hiring.Introduction, error) {
	p, err := b.Get(ctx, userID)
	if err != nil || !p.ShowProfile {
		return nil, err
	}
	return &hiring.Introduction{
		Bio:         p.Bio,
		Location:    p.Location,
		Specialty:   p.Specialty,
		CurrentRole: p.CurrentRole,
		Experience:  p.Experience,
	}, nil
}

// hiringDocuments implements hiring.ApplicantDocuments. It uses the read-only DocumentService:
// the full service of module jobseeker depends on module hiring.
type hiringDocuments struct{ jobseeker.DocumentService }

func (b hiringDocuments) Read(ctx context.Context, userID, documentID string) (hiring.ApplicantDocument, error) {
	d, file, err := b.DocumentService.Read(ctx, userID, documentID)
	if errors.Is(err, jobseeker.ErrDocumentNotFound) {
		err = hiring.ErrDocumentNotFound
	}
	return hiring.ApplicantDocument{
		Type:      string(d.Type),
		Title:     d.Title,
		FileName:  file.Name,
		MediaType: file.MediaType,
		Extension: file.Extension(),
		Body:      file.Body,
	}, err
}

// hiringOrganizations implements hiring.Organizations.
type hiringOrganizations struct{ *identity.Service }

func (b hiringOrganizations) Name(ctx context.Context, id string) (string, error) {
	return b.OrganizationName(ctx, id)
}

func (b hiringOrganizations) May(ctx context.Context, id, userID string, p auth.Permission) (bool, error) {
	return b.MemberMay(ctx, id, userID, p)
}

// hiringListings implements hiring.Listings.
type hiringListings struct{ *listings.Service }

func (b hiringListings) ForApply(ctx context.Context, id string) (hiring.Posting, error) {
	l, err := b.Service.ForApply(ctx, id)
	if err != nil {
		return hiring.Posting{}, err
	}
	return hiring.Posting{
		ID:             l.ID,
		OrganizationID: l.OrganizationID,
		Questions: list.Map(l.Questions, func(q listings.Question) hiring.Question {
			return hiring.Question{ID: q.ID, Required: q.Required}
		}),
	}, nil
}

func (b hiringListings) Briefs(ctx context.Context, ids []string) (map[string]hiring.Brief, error) {
	listingsByID, err := b.Service.Briefs(ctx, ids)
	return list.ToMap(listingsByID, func(l listings.Brief) (string, hiring.Brief) {
		return l.ID, hiring.Brief{Title: l.Title, Company: l.Company}
	}), err
}

func (b hiringListings) Viewed(ctx context.Context, organizationID, id string) (string, int, error) {
	l, views, err := b.Service.Viewed(ctx, organizationID, id)
	return l.Title, views, err
}

func (b hiringListings) CountByStatus(ctx context.Context, organizationID string) (map[string]int, error) {
	counts, err := b.Service.CountByStatus(ctx, organizationID)
	out := make(map[string]int, len(counts))
	for status, n := range counts {
		out[string(status)] = n
	}
	return out, err
}

// userReader implements the ports with which modules read names and e-mail addresses of users.
type userReader[P ~struct{ Name, Email string }] struct{ *identity.Service }

func (b userReader[P]) ByIDs(ctx context.Context, ids []string) (map[string]P, error) {
	usersByID, err := b.People(ctx, ids)
	out := make(map[string]P, len(usersByID))
	for id, p := range usersByID {
		out[id] = P{p.Name, p.Email}
	}
	return out, err
}

func newSeekers(
	cfg *config.Config,
	s adapters.Storage,
	deps adapters.Deps,
	counts limit.Limiter,
	mailer mail.Mailer,
	fileStore files.Store,
	ring keyRing,
	listingsSvc *listings.Service,
	identitySvc *identity.Service,
	hiringSvc *hiring.Service,
) (*jobseeker.Service, error) {
	store, applied := s.Jobseeker, seekersApplied{hiringSvc}
	shared := &jobseeker.Shared{
		Tx:            store.Tx,
		Clock:         deps.Clock,
		NewID:         deps.NewID,
		Tasks:         store.Tasks,
		Profiles:      store.Profiles,
		Notifications: store.Notifications,
		Activities:    store.Activities,
		Listings:      seekersListings{listingsSvc},
	}
	documents := &jobseeker.DocumentService{
		Shared:        shared,
		Documents:     store.Documents,
		DocumentFiles: store.DocumentFiles,
		FileTypes:     filetypes.Documents{},
		Files:         fileStore,
	}
	bookmarks := &jobseeker.BookmarkService{Shared: shared, Bookmarks: store.Bookmarks}
	profiles := &jobseeker.ProfileService{Shared: shared, Accounts: identitySvc, People: userReader[jobseeker.Person]{identitySvc}}
	service := jobseeker.Service{
		Shared:              shared,
		NotificationService: &jobseeker.NotificationService{Shared: shared},
		DocumentService:     documents,
		BookmarkService:     bookmarks,
		ProfileService:      profiles,
		SearchService: &jobseeker.SearchService{
			Shared:      shared,
			Account:     profiles,
			Searches:    store.Searches,
			AlertQueue:  store.AlertQueue,
			Matches:     store.Matches,
			Subscribers: store.Subscribers,
			Mailboxes:   mailboxes.Keys{},
			Limiter:     counts,
			Mailer:      mailer,
			Sealer:      ring,
			PublicURL:   cfg.HTTP.PublicURL,
		},
		OnboardingService: &jobseeker.OnboardingService{
			Shared:      shared,
			Onboardings: store.Onboardings,
			Documents:   documents,
			Searches:    store.Searches,
			Applied:     applied,
		},
		DashboardService: &jobseeker.DashboardService{
			Shared:     shared,
			Documents:  documents,
			Saved:      bookmarks,
			Searches:   store.Searches,
			Applied:    applied,
			Dismissals: store.Dismissals,
			Plans:      seekersPlans{billing.Reader{Subscriptions: s.Billing.Subscriptions, Clock: deps.Clock}},
		},
		Retention:    store.Retention,
		PersonalData: store.PersonalData,
	}
	return &service, checkDeps("jobseeker", service)
}

// seekersListings implements jobseeker.Listings.
type seekersListings struct{ *listings.Service }

func (b seekersListings) Public(ctx context.Context, ids []string) ([]jobseeker.Posting, error) {
	ls, err := b.PublicMany(ctx, ids)
	return newPostings(ls), err
}

func (b seekersListings) Briefs(ctx context.Context, ids []string) (map[string]jobseeker.Brief, error) {
	listingsByID, err := b.Service.Briefs(ctx, ids)
	return list.ToMap(listingsByID, func(l listings.Brief) (string, jobseeker.Brief) {
		return l.ID, jobseeker.Brief{Title: l.Title, Company: l.Company, Location: l.Location, Public: l.Public}
	}), err
}

func (b seekersListings) ClosingBetween(ctx context.Context, from jobseeker.Closing, until time.Time, n int) ([]jobseeker.Closing, error) {
	found, err := b.Service.ClosingBetween(ctx, from.At, from.ID, until, n)
	return list.Map(found, func(l listings.Brief) jobseeker.Closing {
		return jobseeker.Closing{At: l.Deadline, ID: l.ID, Title: l.Title}
	}), err
}

func (b seekersListings) Suggest(ctx context.Context, w jobseeker.Wanted, n int) ([]jobseeker.Candidate, error) {
	in := listings.FindInput{Text: w.Text, Page: page.Request{Number: 1, Size: n},
		Filters: listings.FilterInput{Location: w.Location, ContractType: []string{w.ContractType}}}
	if w.Radius > 0 {
		in.Filters.Radius = &w.Radius
	}
	hits, err := b.ClosestTo(ctx, in, w.Home)
	isSpecialty := b.SpecialtyTest(w.Specialty)
	out := make([]jobseeker.Candidate, len(hits))
	for i, h := range hits {
		l := h.Listing
		out[i] = jobseeker.Candidate{
			ID:             l.ID,
			Title:          l.Title,
			Company:        l.Company,
			Location:       l.Location,
			Remote:         l.Remote,
			ContractType:   l.ContractType,
			EmploymentType: l.EmploymentType,
			Miles:          h.Miles,
			Filed:          isSpecialty(l.Specialty),
			InTitle:        !slices.ContainsFunc(h.Matched, func(m listings.Matched) bool { return m.How == search.HowText }),
		}
		if l.PostedAt != nil {
			out[i].PostedAt = *l.PostedAt
		}
		if l.Salary != nil {
			lowest, highest := l.Salary.Yearly()
			low, high := listings.Major(lowest), listings.Major(highest)
			out[i].PayLowest, out[i].PayHighest = &low, &high
		}
	}
	return out, err
}

// seekersPlans implements jobseeker.Plans.
type seekersPlans struct{ billing.Reader }

func (b seekersPlans) Plan(ctx context.Context, userID string) (jobseeker.Plan, error) {
	sub, err := b.Current(ctx, billing.Owner{Kind: billing.User, ID: userID})
	return jobseeker.Plan{Tier: sub.Plan, Active: sub.Status == billing.Active}, err
}

// seekersApplied implements jobseeker.Applied.
type seekersApplied struct{ *hiring.Service }

func (b seekersApplied) Lately(ctx context.Context, userID string, n int) ([]string, error) {
	return b.AppliedLately(ctx, userID, n)
}

func (b seekersApplied) Among(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	return b.AppliedAmong(ctx, userID, listingIDs)
}

func (b seekersApplied) Counts(ctx context.Context, userID string) (jobseeker.ApplicationCounts, error) {
	total, pending, err := b.ApplicantStats(ctx, userID)
	return jobseeker.ApplicationCounts{Total: total, Pending: pending}, err
}

func (b seekersListings) Gather(ctx context.Context, ids []string) (jobseeker.Gathered, error) {
	g, err := b.Service.Gather(ctx, ids)
	return seekersGathered{g}, err
}

func newPostings(ls []listings.Listing) []jobseeker.Posting {
	return list.Map(ls, func(l listings.Listing) jobseeker.Posting {
		p := jobseeker.Posting{ID: l.ID, Title: l.Title, Company: l.Company, Location: l.Location, PostedAt: l.CreatedAt}
		if l.PostedAt != nil {
			p.PostedAt = *l.PostedAt
		}
		return p
	})
}

// seekersGathered implements jobseeker.Gathered.
type seekersGathered struct{ *listings.Gathered }

func (b seekersGathered) Postings() []jobseeker.Posting { return newPostings(b.Listings()) }

func (b seekersGathered) Matching(ctx context.Context, t jobseeker.Terms) ([]int, error) {
	return b.Gathered.Matching(ctx, listings.FindKey{Text: t.Query, Location: t.Location, ContractType: t.ContractType})
}

func newBilling(
	cfg *config.Config,
	s adapters.Storage,
	d adapters.Deps,
	mailer mail.Mailer,
	payments billing.Payments,
	identitySvc *identity.Service,
) (*billing.Service, error) {
	deps := billing.Deps{
		Tx:            s.Billing.Tx,
		Events:        s.Billing.Events,
		Audit:         s.Billing.Audit,
		Clock:         d.Clock,
		NewID:         d.NewID,
		Subscriptions: s.Billing.Subscriptions,
		Charges:       s.Billing.Charges,
		Payments:      payments,
		People:        billingPeople{identitySvc, s.Integrations.Apps},
		Mailer:        mailer,
		Plans:         billingPlans(),
		PublicURL:     cfg.HTTP.PublicURL,
	}
	return billing.New(deps), checkDeps("billing", deps)
}

// billingPlans are the plans of users and applications.
func billingPlans() []billing.Plan {
	return append(billing.Plans(), list.Map(integrations.Plans(), func(p integrations.Plan) billing.Plan {
		return billing.Plan{For: billing.Application, ID: p.ID, Name: p.Name, Price: billing.Money{Minor: p.Price, Currency: "GBP"}}
	})...)
}

// billingPeople implements billing.People. It reads applications from the repository: the
// service of module integrations depends on module billing.
type billingPeople struct {
	*identity.Service
	apps integrations.Apps
}

func (b billingPeople) Payers(ctx context.Context, owners []billing.Owner) (map[billing.Owner]billing.Person, error) {
	var apps []string
	userOf := map[string]string{}
	for _, o := range owners {
		switch o.Kind {
		case billing.Application:
			apps = append(apps, o.ID)
		case billing.User:
			userOf[o.ID] = o.ID
		}
	}
	if len(apps) > 0 {
		found, err := b.apps.List(ctx, integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: apps}, page.After("", len(apps)))
		if err != nil {
			return nil, err
		}
		for _, a := range found.Items {
			userOf[a.ID] = a.OwnerID
		}
	}
	people, err := b.People(ctx, slices.Collect(maps.Values(userOf)))
	out := make(map[billing.Owner]billing.Person, len(people))
	for _, o := range owners {
		if p, there := people[userOf[o.ID]]; there {
			out[o] = billing.Person{Name: p.Name, Email: p.Email}
		}
	}
	return out, err
}

func newIntegrations(
	cfg *config.Config,
	s adapters.Storage,
	d adapters.Deps,
	counts limit.Limiter,
	identitySvc *identity.Service,
	billingSvc *billing.Service,
	mailer mail.Mailer,
	ring keyRing,
) (*integrations.Service, error) {
	deps := integrations.Deps{
		Tx:               s.Integrations.Tx,
		Events:           s.Integrations.Events,
		Audit:            s.Integrations.Audit,
		Clock:            d.Clock,
		NewID:            d.NewID,
		Tasks:            s.Integrations.Tasks,
		Retention:        s.Integrations.Retention,
		Apps:             s.Integrations.Apps,
		Keys:             s.Integrations.Keys,
		Usage:            s.Integrations.Usage,
		Grants:           s.Integrations.Grants,
		Consents:         s.Integrations.Consents,
		Webhooks:         s.Integrations.Webhooks,
		Deliveries:       s.Integrations.Deliveries,
		Accounts:         integrationsAccounts{identitySvc},
		SeparateIdentity: !isSame(s.Integrations.Tx, s.Identity.Tx),
		Payments:         integrationsPayments{billingSvc},
		Limiter:          counts,
		Sender: webhookout.New(
			webhookout.Options{Private: cfg.Webhooks.AllowPrivateNetworks},
		),
		PrivateReceivers: cfg.Webhooks.AllowPrivateNetworks,
		Vault:            ring,
		Postings:         integrationsPostings{s.Identity.Organizations, cfg.HTTP.PublicURL},
		Mailer:           mailer,
		PublicURL:        cfg.HTTP.PublicURL,
	}
	return integrations.New(deps), checkDeps("integrations", deps)
}

// isSame reports whether two modules are stored in one database. Runners that cannot be
// compared are treated as those of different databases.
func isSame(a, b tx.Runner) bool { return reflect.ValueOf(a).Comparable() && a == b }

// integrationsPayments implements integrations.Payments.
type integrationsPayments struct{ *billing.Service }

func (b integrationsPayments) Choose(ctx context.Context, appID, plan, paymentMethodID string) error {
	_, err := b.ChooseFor(
		ctx,
		billing.Owner{Kind: billing.Application, ID: appID},
		billing.ChooseInput{PlanID: plan, PaymentMethodID: paymentMethodID},
	)
	return err
}

// Paid returns the free plan at once for a cancelled subscription.
func (b integrationsPayments) Paid(ctx context.Context, appID string) (string, error) {
	sub, err := b.Current(ctx, billing.Owner{Kind: billing.Application, ID: appID})
	if !sub.AutoRenew {
		return integrations.Free, err
	}
	return sub.Plan, err
}

func (b integrationsPayments) SetUp(ctx context.Context, appID string) (integrations.PaymentSetup, error) {
	a, err := b.SetUpMethodFor(ctx, billing.Owner{Kind: billing.Application, ID: appID})
	return integrations.PaymentSetup{ClientSecret: a.ClientSecret, PublishableKey: a.PublishableKey, RedirectURL: a.RedirectURL}, err
}

// integrationsAccounts implements integrations.Accounts.
type integrationsAccounts struct{ *identity.Service }

func (b integrationsAccounts) ListMembers(ctx context.Context, organizationID string) ([]string, error) {
	return b.ListMemberIDs(ctx, organizationID)
}

func (b integrationsAccounts) Visibility(ctx context.Context, userID string) (v integrations.Visibility, err error) {
	a, err := b.ActorFor(ctx, userID)
	if errors.Is(err, fault.ErrUnauthorized) {
		return v, nil
	}
	return integrations.Visibility(hiring.VisibleTo(a)), err
}

func (b integrationsAccounts) OrganizationID(ctx context.Context, userID string) (string, error) {
	a, err := b.ActorFor(ctx, userID)
	if errors.Is(err, fault.ErrUnauthorized) {
		return "", nil
	}
	return a.OrganizationID, err
}

func (b integrationsAccounts) OwnerName(ctx context.Context, userID string) (string, error) {
	organizationID, err := b.OrganizationID(ctx, userID)
	switch {
	case err != nil:
		return "", err
	case organizationID != "":
		return b.OrganizationName(ctx, organizationID)
	}
	people, err := b.People(ctx, []string{userID})
	return people[userID].Name, err
}

// ListByIDs implements integrations.Accounts.
func (b integrationsAccounts) ListByIDs(ctx context.Context, ids []string) (map[string]integrations.Person, error) {
	return userReader[integrations.Person](b).ByIDs(ctx, ids)
}

// integrationsPostings implements integrations.Postings.
type integrationsPostings struct {
	organizations identity.Organizations
	publicURL     string
}

func (b integrationsPostings) View(ctx context.Context, snapshot json.RawMessage) (v integrations.JobView, err error) {
	var l listings.Listing
	if err := json.Unmarshal(snapshot, &l); err != nil { //nolint:musttag // encoded by module listings in the same way
		return v, err
	}
	var by identity.Organization
	found, err := b.organizations.GetByIDs(ctx, []string{l.OrganizationID})
	if len(found) > 0 {
		by, l.Company = found[0], found[0].Name
	}
	return developer.ViewJob(l, by, b.publicURL), err
}
