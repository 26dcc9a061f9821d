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

// newHiring builds module hiring from the storage and the adapters. The types below connect it
// to the other modules: each implements a port (an interface) of hiring with the service or the
// repositories of another module.
func newHiring(
	cfg *config.Config,
	storage adapters.Storage,
	deps adapters.Deps,
	listingsSvc *listings.Service,
	identitySvc *identity.Service,
	mailer mail.Mailer,
	limiter limit.Limiter,
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
		Limiter:            limiter,
	}
	hiringSvc.Tables = map[string]hiring.Table{"jobs": listingsSvc.Table(), "applications": hiringSvc.Table()}

	return hiringSvc, checkDeps("hiring", *hiringSvc)
}

// hiringPreferences implements hiring.Preferences with the stored profiles of jobseekers. It reads
// them from the repository, because the service of module jobseeker does not exist yet: it is
// built later, from the service of module hiring.
type hiringPreferences struct{ jobseeker.Profiles }

// WantsMail reports whether the jobseeker wants e-mails about their applications.
func (b hiringPreferences) WantsMail(ctx context.Context, userID string) (bool, error) {
	profile, err := b.Get(ctx, userID)
	return profile.EmailNotifications, err
}

// Introduction returns the part of the profile that employers see, or nil if the jobseeker does
// not show it to them.
func (b hiringPreferences) Introduction(ctx context.Context, userID string) (*hiring.Introduction, error) {
	profile, err := b.Get(ctx, userID)
	if err != nil || !profile.ShowProfile {
		return nil, err
	}

	return &hiring.Introduction{
		Bio:         profile.Bio,
		Location:    profile.Location,
		Specialty:   profile.Specialty,
		CurrentRole: profile.CurrentRole,
		Experience:  profile.Experience,
	}, nil
}

// hiringDocuments implements hiring.ApplicantDocuments with the documents of jobseekers. It uses the
// read-only DocumentService, because the full service of module jobseeker does not exist yet: it is
// built later, from the service of module hiring.
type hiringDocuments struct{ jobseeker.DocumentService }

// Read returns a document of the jobseeker with the contents of its file, to attach it to an application.
func (b hiringDocuments) Read(ctx context.Context, userID, documentID string) (hiring.ApplicantDocument, error) {
	document, file, err := b.DocumentService.Read(ctx, userID, documentID)
	if errors.Is(err, jobseeker.ErrDocumentNotFound) {
		return hiring.ApplicantDocument{}, hiring.ErrDocumentNotFound
	}

	return hiring.ApplicantDocument{
		Type:      string(document.Type),
		Title:     document.Title,
		FileName:  file.Name,
		MediaType: file.MediaType,
		Extension: file.Extension(),
		Body:      file.Body,
	}, err
}

// hiringOrganizations implements hiring.Organizations with the accounts of module identity.
type hiringOrganizations struct{ *identity.Service }

func (b hiringOrganizations) Name(ctx context.Context, id string) (string, error) {
	return b.OrganizationName(ctx, id)
}

// May reports whether the user has the permission as a member of the organization.
func (b hiringOrganizations) May(ctx context.Context, id, userID string, p auth.Permission) (bool, error) {
	return b.MemberMay(ctx, id, userID, p)
}

// hiringListings implements hiring.Listings with the service of module listings.
type hiringListings struct{ *listings.Service }

// GetPublic returns what hiring needs to accept an application to the listing.
func (b hiringListings) GetPublic(ctx context.Context, id string) (hiring.Posting, error) {
	listing, err := b.Service.GetPublic(ctx, id)
	if err != nil {
		return hiring.Posting{}, err
	}

	return hiring.Posting{
		ID:             listing.ID,
		OrganizationID: listing.OrganizationID,
		Questions: list.Map(listing.Questions, func(q listings.Question) hiring.Question {
			return hiring.Question{ID: q.ID, Required: q.Required}
		}),
	}, nil
}

// ListBriefs returns the titles and companies of listings, by listing id.
func (b hiringListings) ListBriefs(ctx context.Context, ids []string) (map[string]hiring.Brief, error) {
	briefs, err := b.Service.ListBriefs(ctx, ids)

	return list.ToMap(briefs, func(brief listings.Brief) (id string, hiringBrief hiring.Brief) {
		return brief.ID, hiring.Brief{Title: brief.Title, Company: brief.Company}
	}), err
}

// GetTitleAndViews returns the title of the organization's listing and the number of its views.
func (b hiringListings) GetTitleAndViews(ctx context.Context, organizationID, id string) (title string, views int, err error) {
	listing, views, err := b.GetWithViews(ctx, organizationID, id)
	return listing.Title, views, err
}

// CountByStatus returns the numbers of the organization's listings by the name of their status, because
// module hiring does not know the type of the status.
func (b hiringListings) CountByStatus(ctx context.Context, organizationID string) (map[string]int, error) {
	counts, err := b.Service.CountByStatus(ctx, organizationID)

	countsByName := make(map[string]int, len(counts))
	for status, n := range counts {
		countsByName[string(status)] = n
	}

	return countsByName, err
}
