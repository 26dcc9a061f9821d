package hiring

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// VisibleTo returns which applications the actor may see: those to their organization,
// their own, or both.
func VisibleTo(by auth.Actor) (v Visibility) {
	if by.May(auth.ApplicationsView) {
		v.OrganizationID = by.OrganizationID
	}
	if by.Seeker {
		v.ApplicantID = by.UserID
	}
	return v
}

// ListVisible lists the applications that the actor may see with their details, newest
// first. Filters that are not ids select nothing.
func (s *Service) ListVisible(ctx context.Context, by auth.Actor, f ApplicationFilter, r page.Request) (page.Result[Application], error) {
	nothing := page.Result[Application]{Items: []Application{}}
	if err := by.RequireUser(auth.ScopeApplicationsRead); err != nil {
		return nothing, err
	}
	v := VisibleTo(by)
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

// GetVisible returns an application that the actor may see with its details.
func (s *Service) GetVisible(ctx context.Context, by auth.Actor, applicationID string) (Application, error) {
	if err := by.RequireUser(auth.ScopeApplicationsRead); err != nil {
		return Application{}, err
	}
	v := VisibleTo(by)
	applicationID, err := canonical(applicationID, ErrNotFound)
	if err != nil || v == (Visibility{}) {
		return Application{}, ErrNotFound
	}
	return s.Applications.Get(ctx, v, applicationID)
}
