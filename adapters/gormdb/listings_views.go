package gormdb

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/listings"
)

// views implements listings.Views.
type views struct{ *DB }

// Add implements listings.Views.
func (d views) Add(ctx context.Context, vs []listings.Visit) error {
	return d.Do(ctx, func(ctx context.Context) error {
		ids := list.Map(vs, func(v listings.Visit) string { return v.ListingID })
		var owners []listingRow

		err := d.unprepared(ctx).Table("listings").
			Select("id", "organization_id").
			Where(d.dialect.In("id", ids)).
			Find(&owners).Error
		if err != nil {
			return wrap(err)
		}

		ownerOf := list.ToMap(owners, func(l listingRow) (id, organizationID string) { return l.ID, l.OrganizationID })

		vs = slices.DeleteFunc(slices.Clone(vs), func(v listings.Visit) bool {
			owner, exists := ownerOf[v.ListingID]
			return !exists || owner == v.OrganizationID // visits of the employer's own team do not count
		})
		if len(vs) == 0 {
			return nil
		}

		// Rows are locked in this order, so that two processes do not deadlock.
		slices.SortFunc(vs, func(a, b listings.Visit) int {
			return cmp.Or(cmp.Compare(a.ListingID, b.ListingID), cmp.Compare(a.Visitor, b.Visitor), cmp.Compare(a.Day, b.Day))
		})

		vs, err = d.limitPerNetwork(ctx, vs)
		if err != nil || len(vs) == 0 {
			return err
		}

		rows := list.Map(vs, func(v listings.Visit) listingVisitRow {
			return listingVisitRow{Day: v.Day, ListingID: v.ListingID, Visitor: v.Visitor, Network: v.Network}
		})

		counted, err := insertIfAbsent(d.unprepared(ctx), rows, "day", "listing_id", "visitor")
		if err != nil || len(counted) == 0 {
			return err
		}

		newViews := map[string]int{} // by listing id
		for _, r := range counted {
			newViews[r.ListingID]++
		}

		sums := list.Map(slices.Sorted(maps.Keys(newViews)), func(id string) listingViewRow { return listingViewRow{id, newViews[id]} })

		return wrap(d.unprepared(ctx).Clauses(d.addOnConflict("listing_views", []string{"listing_id"}, "views")).Create(&sums).Error)
	})
}

type listingVisitRow struct{ Day, ListingID, Visitor, Network string }

type listingViewRow struct {
	ListingID string
	Views     int
}

type listingVisitSaltRow struct{ Day, Salt string }

// limitPerNetwork removes visits from networks that have reached MaxVisitors. The hash of a
// network is different for each listing and day.
func (d views) limitPerNetwork(ctx context.Context, vs []listings.Visit) ([]listings.Visit, error) {
	networks := withoutEmpty(list.Distinct(vs, func(v listings.Visit) string { return v.Network }))
	if len(networks) == 0 {
		return vs, nil
	}

	var known []struct{ Network, Visitor string }

	err := d.unprepared(ctx).
		Table("listing_visits").
		Select("network", "visitor").
		Where("?", d.dialect.In("network", networks)).
		Scan(&known).
		Error
	if err != nil {
		return nil, wrap(err)
	}

	visitors := map[string]map[string]bool{}

	// isCounted adds the visitor to those of the network, and reports whether it is one of its
	// first MaxVisitors.
	isCounted := func(network, visitor string) bool {
		if visitors[network] == nil {
			visitors[network] = map[string]bool{}
		}

		if len(visitors[network]) < listings.MaxVisitors {
			visitors[network][visitor] = true
		}

		return visitors[network][visitor]
	}

	for _, k := range known {
		isCounted(k.Network, k.Visitor)
	}

	return slices.DeleteFunc(vs, func(v listings.Visit) bool {
		return v.Network != "" && !isCounted(v.Network, v.Visitor)
	}), nil
}

// GetOrCreateSalt implements listings.Views.
func (d views) GetOrCreateSalt(ctx context.Context, day, newSalt string) (salt string, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		if err := d.conn(ctx).Clauses(ignoreOnConflict([]string{"day"})).Create(&listingVisitSaltRow{day, newSalt}).Error; err != nil {
			return wrap(err)
		}

		r, err := takeRow[listingVisitSaltRow](d.conn(ctx).Where("day = ?", day), errNotFound)
		salt = r.Salt

		return err
	})

	return salt, err
}

// Get implements listings.Views.
func (d views) Get(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error) {
	return scanCounts[string](d.unprepared(ctx).Table("listings").Select("listing_views.listing_id AS name, listing_views.views AS n").
		Joins("JOIN listing_views ON listing_views.listing_id = listings.id").
		Where("listings.organization_id = ?", organizationID).Where(d.dialect.In("listings.id", listingIDs)))
}

// deleteVisitsBefore deletes the visitors and salts of the days before the day.
func (d views) deleteVisitsBefore(ctx context.Context, day string, n int) (int, error) {
	if err := d.conn(ctx).Where("day < ?", day).Delete(&listingVisitSaltRow{}).Error; err != nil {
		return 0, wrap(err)
	}

	return deleteLimited[listingVisitRow](d.conn(ctx).Where("day < ?", day), n, "day", "day", "listing_id", "visitor")
}
