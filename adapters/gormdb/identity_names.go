package gormdb

import (
	"context"

	"github.com/locumhq/locum/core/list"
)

// verifiedNames implements identity.VerifiedNames.
type verifiedNames struct{ *DB }

// verifiedNameRow is a form of the name of a verified organization. A new organization whose name has the same form
// resembles it, and may be an impostor.
type verifiedNameRow struct {
	NameKey        string
	OrganizationID string
}

// Replace implements identity.VerifiedNames.
func (d verifiedNames) Replace(ctx context.Context, organizationID string, keys []string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := deleteFrom(d.conn(ctx).Where("organization_id = ?", organizationID), verifiedNameRow{}); err != nil {
			return err
		}

		return createRows(
			d.unprepared(ctx),
			list.Map(keys, func(key string) verifiedNameRow { return verifiedNameRow{key, organizationID} }),
		)
	})
}

// Find implements identity.VerifiedNames.
func (d verifiedNames) Find(ctx context.Context, keys []string, n int) (organizationIDs []string, err error) {
	if len(keys) == 0 {
		return nil, nil
	}

	err = d.unprepared(ctx).
		Model(&verifiedNameRow{}).
		Where("name_key IN ?", keys).
		Distinct().
		Limit(n).
		Pluck("organization_id", &organizationIDs).
		Error

	return organizationIDs, wrap(err)
}
