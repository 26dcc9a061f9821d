package bootstrap

import (
	"context"
	"errors"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// newHiring builds the module from the storage and the adapters.
func newHiring(
	cfg *config.Config,
	storage adapters.Storage,
	deps adapters.Deps,
	listingsSvc *listings.Service,
	identitySvc *identity.Service,
	mailer mail.Mailer,
	counts limit.Limiter,
	ring keyRing,
	fileStore files.Store,
) (*hiring.Service, error) {
	shared := &hiring.Shared{
		Tx:            storage.Hiring.Tx,
		Events:        storage.Hiring.Events,
		Clock:         deps.Clock,
		NewID:         deps.NewID,
		Tasks:         storage.Hiring.Tasks,
		People:        userReader[hiring.Person]{identitySvc},
		Organizations: hiringOrganizations{identitySvc},
		Mailer:        mailer,
		PublicURL:     cfg.HTTP.PublicURL,
		HasSite:       cfg.Site.Enabled,
	}
	hiringSvc := &hiring.Service{
		Shared: shared,
		ExportService: &hiring.ExportService{
			Shared:  shared,
			Audit:   storage.Hiring.Audit,
			Exports: storage.Hiring.Exports,
			Files:   fileStore,
			Sealer:  ring,
		},
		Applications:       storage.Hiring.Applications,
		Appointments:       storage.Hiring.Appointments,
		Messages:           storage.Hiring.Messages,
		Notes:              storage.Hiring.Notes,
		Ratings:            storage.Hiring.Ratings,
		Documents:          storage.Hiring.Documents,
		ApplicantDocuments: hiringDocuments{jobseeker.DocumentService{Documents: storage.Jobseeker.Documents, Files: fileStore}},
		Listings:           hiringListings{listingsSvc},
		Preferences:        hiringPreferences{storage.Jobseeker.Profiles},
		PersonalData:       storage.Hiring.PersonalData,
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
		return hiring.ApplicantDocument{}, hiring.ErrDocumentNotFound
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
