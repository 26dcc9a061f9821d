package listings

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

// State is the state of a listing as its organization sees it: its status, unless the listing is
// hidden or has expired.
type State string

// The states that are not a Status.
const (
	// StateHidden is the state of a hidden listing, whatever its status.
	StateHidden State = "hidden"
	// StateExpired is the state of an active listing whose deadline has passed.
	StateExpired State = "expired"
)

// states are all states.
var states = []State{
	State(Active), State(Inactive), State(Closed), State(Draft), State(Archived), StateHidden, StateExpired,
}

// State returns the state of the listing at the time now.
func (l *Listing) State(now time.Time) State {
	switch {
	case l.HiddenAt != nil:
		return StateHidden
	case l.Status == Active && !l.IsPublic(now):
		return StateExpired
	}

	return State(l.Status)
}

// ListByState returns a page of the organization's listings in the state, the newest first. An
// empty state selects all listings.
func (s *Service) ListByState(ctx context.Context, by auth.Actor, state State, r page.Request) (page.Result[Listing], error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return page.Result[Listing]{}, err
	}

	if state != "" && !slices.Contains(states, state) {
		return page.Result[Listing]{}, nil // no listing has it, and Postgres refuses some texts
	}

	return s.Listings.ListByState(ctx, by.OrganizationID, state, s.Clock.Now(), r)
}

// CountByState counts the organization's listings by their state. A state without listings may
// be absent.
func (s *Service) CountByState(ctx context.Context, by auth.Actor) (map[State]int, error) {
	if err := by.Require(auth.AnyPermission); err != nil {
		return nil, err
	}

	return s.Listings.CountByState(ctx, by.OrganizationID, s.Clock.Now())
}

// HiddenReason is why a listing is hidden.
type HiddenReason string

// The reasons.
const (
	HiddenByDecision  HiddenReason = "decision"     // a moderator or an operator has taken the listing down
	HiddenForReview   HiddenReason = "review"       // a moderator has still to decide about the organization
	HiddenWithCompany HiddenReason = "organization" // the organization must not have public listings
)

// HiddenInfo is what an organization learns about a hidden listing.
type HiddenInfo struct {
	Reason HiddenReason
	// Message is the moderators' message to the employer with their decision. It may be empty.
	Message string
}

// ListHiddenInfo returns why listings of the actor's organization, at most 100, are hidden, by their
// ids. Listings that are not hidden are left out.
func (s *Service) ListHiddenInfo(ctx context.Context, by auth.Actor, ls ...Listing) (map[string]HiddenInfo, error) {
	// A listing is hidden by a decision unless its case, the record of its moderation, says
	// that it is held because of its organization.
	infoByID := map[string]HiddenInfo{}
	for _, l := range ls {
		if l.HiddenAt != nil {
			infoByID[l.ID] = HiddenInfo{Reason: HiddenByDecision}
		}
	}

	if len(infoByID) == 0 {
		return infoByID, nil
	}

	ids := list.Distinct(ls, func(l Listing) string { return l.ID })
	f := CaseFilter{OrganizationID: by.OrganizationID, ListingIDs: ids}

	cases, err := s.Cases.List(ctx, f, page.After("", len(ids)))
	if err != nil {
		return nil, err
	}

	for _, c := range cases.Items {
		info, isHidden := infoByID[c.ListingID]
		switch {
		case !isHidden:
			continue
		case c.Held && c.State == CaseOpen:
			info.Reason = HiddenForReview
		case c.Held:
			info.Reason = HiddenWithCompany
		default:
			info.Message = c.Note
		}

		infoByID[c.ListingID] = info
	}

	return infoByID, nil
}
