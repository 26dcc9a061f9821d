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

// errRenames reports a new name that the rate limiter has not counted yet.
var errRenames = errors.New("identity: the new name of the organization must be counted first")

// maybeRenaming runs fn in a transaction. If fn renames the organization, the transaction
// is rolled back, the renaming is counted by the limiter, and fn runs once more: only the
// transaction can detect a new name, and the limiter must not be called within it.
func (s *Service) maybeRenaming(ctx context.Context, organizationID string, fn func(ctx context.Context, counted bool) error) error {
	err := s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, false) })
	if !errors.Is(err, errRenames) {
		return err
	}
	if err := limit.Take(ctx, s.Limiter, renamesPerOrganization, organizationID); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, true) })
}
