package hiring

import (
	"context"

	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// ListVisible lists visible applications with their details, newest first. Filters that
// are not ids select nothing.
func (s *Service) ListVisible(ctx context.Context, v Visibility, f ApplicationFilter, r page.Request) (page.Result[Application], error) {
	nothing := page.Result[Application]{Items: []Application{}}
	if err := r.CheckID(); err != nil {
		return nothing, err
	}
	for i, listingID := range f.ListingIDs {
		var ok bool
		if f.ListingIDs[i], ok = id.Canonical(listingID); !ok {
			return nothing, nil
		}
	}
	if f.ApplicantID != "" {
		var ok bool
		if f.ApplicantID, ok = id.Canonical(f.ApplicantID); !ok {
			return nothing, nil
		}
	}
	if v == (Visibility{}) {
		return nothing, nil
	}
	f.Details = true
	return s.Applications.List(ctx, v, f, r)
}

// GetVisible returns a visible application with its details.
func (s *Service) GetVisible(ctx context.Context, v Visibility, applicationID string) (Application, error) {
	applicationID, err := canonical(applicationID, ErrNotFound)
	if err != nil || v == (Visibility{}) {
		return Application{}, ErrNotFound
	}
	return s.Applications.Get(ctx, v, applicationID)
}
