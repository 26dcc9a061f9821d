package identity

import (
	"context"

	"github.com/locumhq/locum/core/page"
)

// IsActive reports whether the account exists, is active and is not locked. It is
// one look-up by primary key.
func (s *Service) IsActive(ctx context.Context, userID string) (bool, error) {
	found, err := s.Users.GetByIDs(ctx, []string{userID})
	return err == nil && len(found) == 1 && found[0].Status == UserActive && found[0].LockedAt.IsZero(), err
}

const (
	membersPerPage   = 500
	maxListedMembers = 10_000
)

// ListMemberIDs returns the user ids of the organization's active members, at most
// 10,000.
func (s *Service) ListMemberIDs(ctx context.Context, organizationID string) ([]string, error) {
	var ids []string
	for r := page.After("", membersPerPage); ; {
		team, err := s.Members.List(ctx, organizationID, MemberFilter{Status: MemberActive}, r)
		if err != nil {
			return nil, err
		}
		for _, m := range team.Items {
			ids = append(ids, m.UserID)
		}
		if r.Cursor = team.NextCursor; r.Cursor == "" || len(ids) >= maxListedMembers {
			return ids, nil
		}
	}
}
