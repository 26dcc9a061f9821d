package identity

import (
	"context"
	"slices"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

// IsActive reports whether all of the accounts exist, are active and are not locked. It executes one
// query by primary key.
func (s *Service) IsActive(ctx context.Context, userIDs ...string) (bool, error) {
	users, err := s.Users.GetByIDs(ctx, userIDs)
	if err != nil {
		return false, err
	}

	isActive := list.ToMap(users, func(u User) (string, bool) { return u.ID, u.Status == UserActive && u.LockedAt.IsZero() })
	hasInactive := slices.ContainsFunc(userIDs, func(userID string) bool { return !isActive[userID] })

	return !hasInactive, nil
}

const (
	// membersPerPage is the number of members that ListMemberIDs reads at a time.
	membersPerPage = 500
	// maxListedMembers is the maximum number of members that ListMemberIDs returns. It is a multiple
	// of membersPerPage.
	maxListedMembers = 10_000
)

// ListMemberIDs returns the user ids of the organization's active members. If there are more than
// maxListedMembers, it omits the others.
func (s *Service) ListMemberIDs(ctx context.Context, organizationID string) ([]string, error) {
	var ids []string
	for r := page.After("", membersPerPage); ; {
		team, err := s.Members.List(ctx, organizationID, MemberFilter{Status: MemberActive}, r)
		if err != nil {
			return nil, err
		}

		ids = append(ids, list.Map(team.Items, func(m Member) string { return m.UserID })...)

		r.Cursor = team.NextCursor
		if r.Cursor == "" || len(ids) >= maxListedMembers {
			return ids, nil
		}
	}
}
