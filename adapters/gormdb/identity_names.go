package gormdb

import (
	"context"

	"github.com/locumhq/locum/core/list"
)

// verifiedNames implements identity.VerifiedNames.
type verifiedNames struct{ *DB }

// verifiedNameRow is a simplified form of the name of a verified organization, called key. If the name of
// another organization has the same form, the names resemble each other, and the other organization
// may be an impostor.
type verifiedNameRow struct {
	NameKey        string
	OrganizationID string
}

// Replace implements identity.VerifiedNames. Afterwards the organization has exactly the given keys.
func (d verifiedNames) Replace(ctx context.Context, organizationID string, keys []string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := deleteFrom(d.conn(ctx).Where("organization_id = ?", organizationID), verifiedNameRow{}); err != nil {
			return err
		}

		rows := list.Map(keys, func(key string) verifiedNameRow {
			return verifiedNameRow{NameKey: key, OrganizationID: organizationID}
		})

		return createRows(d.unprepared(ctx), rows)
	})
}

// Find implements identity.VerifiedNames. It returns the ids of at most n organizations that have one of the
// keys.
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
