package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

// renamesPerOrganization limits renamings, because each updates all listings of the
// organization.
var renamesPerOrganization = limit.Rule{Name: "rename-organization", Max: 20, Per: time.Hour}

// errRenames is that a name would change which was not counted yet.
var errRenames = errors.New("identity: a new name of an organization is to be counted first")

// maybeRenaming runs fn in a transaction. If fn renames the organization, the transaction
// is rolled back, the renaming is counted by the limiter, and fn runs once more: only the
// transaction can detect a new name, and the limiter must not be called within it.
func (s *Service) maybeRenaming(ctx context.Context, organizationID string, fn func(ctx context.Context, counted bool) error) error {
	err := s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, false) })
	if !errors.Is(err, errRenames) {
		return err
	}
	switch d, err := s.Limiter.Take(ctx, renamesPerOrganization, organizationID); {
	case err != nil:
		return err
	case !d.Allowed:
		return fault.ErrRateLimit.WithRetryAfter(d.RetryAfter)
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error { return fn(ctx, true) })
}
