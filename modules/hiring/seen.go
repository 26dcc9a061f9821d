package hiring

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Sight is whose applications somebody may see: those to an organization, those
// of an applicant, each empty for none.
type Sight struct{ OrganizationID, ApplicantID string }

// SeenFilter narrows a list of applications. Zero values do not.
type SeenFilter struct {
	ListingID   string
	ApplicantID string
	Statuses    []Status
	// After and Before are about the submission: not before the one, before the
	// other.
	After, Before time.Time
}

// Seen lists what is in sight, the newest first. What is not an id finds
// nothing.
func (s *Service) Seen(ctx context.Context, v Sight, f SeenFilter, r page.Request) (page.Result[Application], error) {
	nothing := page.Result[Application]{Items: []Application{}}
	if err := r.CheckID(); err != nil {
		return nothing, err
	}
	for _, name := range []*string{&f.ListingID, &f.ApplicantID} {
		if *name == "" {
			continue
		}
		var ok bool
		if *name, ok = id.Canonical(*name); !ok {
			return nothing, nil
		}
	}
	if v == (Sight{}) {
		return nothing, nil
	}
	return s.Applications.PageSeen(ctx, v, f, r)
}

// SeenOne is one application that is in sight.
func (s *Service) SeenOne(ctx context.Context, v Sight, applicationID string) (Application, error) {
	applicationID, err := canonical(applicationID, ErrNotFound)
	if err != nil || v == (Sight{}) {
		return Application{}, ErrNotFound
	}
	return s.Applications.Seen(ctx, v, applicationID)
}
