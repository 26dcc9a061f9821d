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

// withRenameLimit runs fn, which may rename the organization, in a transaction. First it calls fn with
// isCounted false. If fn would rename the organization, it fails with errRenameNotCounted. Then the
// limiter counts a renaming, and fn runs in another transaction, with isCounted true.
//
// Only the transaction can detect that the name changes. But it must not call the limiter, because a
// transaction may be repeated and would then count a renaming twice.
func (s *Service) withRenameLimit(
	ctx context.Context,
	organizationID string,
	fn func(ctx context.Context, isCounted bool) error,
) error {
	const notCounted, counted = false, true

	err := s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, notCounted) })
	if !errors.Is(err, errRenameNotCounted) {
		return s.countOrganizationChange(err)
	}

	if err := limit.Take(ctx, s.Limiter, renamesPerOrganization, organizationID); err != nil {
		return err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, counted) })

	return s.countOrganizationChange(err)
}
