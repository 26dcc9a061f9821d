package gormdb

import "context"

// CountByListing implements hiring.ApplicationCounts.
func (d Applications) CountByListing(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error) {
	return countedBy[string](d.unprepared(ctx).Table("applications").Select("listing_id AS name, count(*) AS n").
		Where("organization_id = ?", organizationID).Where(d.dialect.In("listing_id", listingIDs)).Group("listing_id"))
}
