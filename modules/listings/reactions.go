package listings

import (
	"context"

	"github.com/locumhq/locum/core/event"
)

// OnOrganizationClosed closes what the organization had posted: nobody is left
// to read the applications.
func (s *Service) OnOrganizationClosed(ctx context.Context, e event.OrganizationClosed) error {
	return s.CloseOrganization(ctx, e.OrganizationID)
}
