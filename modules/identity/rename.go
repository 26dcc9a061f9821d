package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/limit"
)

// renamesPerOrganization limits renamings, because each updates all listings of the
// organization.
var renamesPerOrganization = limit.Rule{Name: "rename-organization", Max: 20, Per: time.Hour}

// errRenameNotCounted is returned by a transaction that renames an organization before the
// rate limiter has counted the renaming.
var errRenameNotCounted = errors.New("identity: the new name of the organization must be counted first")

// withRenameLimit runs fn in a transaction. If fn fails with errRenameNotCounted, the limiter
// counts a renaming and fn runs again, with isCounted set. Only the transaction can detect that
// the name changes, but the limiter must not be called in a transaction, which may be repeated.
func (s *Service) withRenameLimit(
	ctx context.Context,
	organizationID string,
	fn func(ctx context.Context, isCounted bool) error,
) error {
	err := s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, false) })
	if !errors.Is(err, errRenameNotCounted) {
		return s.countOrganizationChange(err)
	}

	if err := limit.Take(ctx, s.Limiter, renamesPerOrganization, organizationID); err != nil {
		return err
	}

	return s.countOrganizationChange(s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, true) }))
}
