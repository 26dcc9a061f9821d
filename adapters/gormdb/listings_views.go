package gormdb

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/listings"
)

// views implements listings.Views. A visit is a request for the page of a listing. A view is the first visit of a visitor
// to a listing on a day. Only views are counted.
type views struct{ *DB }

// Add implements listings.Views. It stores who has visited which listing on which day, and adds the new
// visitors to the numbers of views.
func (d views) Add(ctx context.Context, visits []listings.Visit) error {
	return d.Do(ctx, func(ctx context.Context) error {
		counted, err := d.withoutOwnVisits(ctx, visits)
		if err != nil || len(counted) == 0 {
			return err
		}

		// Rows are locked in this order, so that two processes do not deadlock.
		slices.SortFunc(counted, func(a, b listings.Visit) int {
			return cmp.Or(cmp.Compare(a.ListingID, b.ListingID), cmp.Compare(a.Visitor, b.Visitor), cmp.Compare(a.Day, b.Day))
		})

		counted, err = d.limitPerNetwork(ctx, counted)
		if err != nil || len(counted) == 0 {
			return err
		}

		// A visitor counts once per listing and day.
		rows := list.Map(counted, func(v listings.Visit) listingVisitRow {
			return listingVisitRow{Day: v.Day, ListingID: v.ListingID, Visitor: v.Visitor, Network: v.Network}
		})

		inserted, err := insertIfAbsent(d.unprepared(ctx), rows, "day", "listing_id", "visitor")
		if err != nil || len(inserted) == 0 {
			return err
		}

		newViews := map[string]int{} // by listing id
		for _, r := range inserted {
			newViews[r.ListingID]++
		}

		// Add the new views to the stored numbers, or store them for a listing without views.
		viewRows := list.Map(slices.Sorted(maps.Keys(newViews)), func(id string) listingViewRow {
			return listingViewRow{ListingID: id, Views: newViews[id]}
		})
		add := d.addOnConflict("listing_views", []string{"listing_id"}, "views")

		return wrap(d.unprepared(ctx).Clauses(add).Create(&viewRows).Error)
	})
}

// withoutOwnVisits returns the visits without those by the team of the listing's own organization, and
// without those of deleted listings.
func (d views) withoutOwnVisits(ctx context.Context, visits []listings.Visit) ([]listings.Visit, error) {
	ids := list.Map(visits, func(v listings.Visit) string { return v.ListingID })

	var visited []listingRow

	err := d.unprepared(ctx).Table("listings").
		Select("id", "organization_id").
		Where(d.dialect.In("id", ids)).
		Find(&visited).Error
	if err != nil {
		return nil, wrap(err)
	}

	ownerOf := list.ToMap(visited, func(l listingRow) (id, organizationID string) { return l.ID, l.OrganizationID })
	isNotCounted := func(v listings.Visit) bool {
		owner, exists := ownerOf[v.ListingID]
		return !exists || owner == v.OrganizationID
	}

	return slices.DeleteFunc(slices.Clone(visits), isNotCounted), nil
}

// listingVisitRow is a visitor of a listing on a day. Visitor and Network, the network of the visitor's IP
// address, are hashes.
type listingVisitRow struct{ Day, ListingID, Visitor, Network string }

// listingViewRow is the number of views of a listing.
type listingViewRow struct {
	ListingID string
	Views     int
}

// listingVisitSaltRow is the salt of the hashes of a day. After it is deleted, visitors cannot be identified.
type listingVisitSaltRow struct{ Day, Salt string }

// limitPerNetwork removes visits by new visitors from networks that have reached MaxVisitors. So one network
// cannot increase the number of views at will. The limit applies to each listing and day separately, because
// the hash of a network is different for each of them.
func (d views) limitPerNetwork(ctx context.Context, visits []listings.Visit) ([]listings.Visit, error) {
	networks := withoutEmpty(list.Distinct(visits, func(v listings.Visit) string { return v.Network }))
	if len(networks) == 0 {
		return visits, nil
	}

	var stored []struct{ Network, Visitor string }

	err := d.unprepared(ctx).
		Table("listing_visits").
		Select("network", "visitor").
		Where(d.dialect.In("network", networks)).
		Scan(&stored).
		Error
	if err != nil {
		return nil, wrap(err)
	}

	visitorsOf := map[string]map[string]bool{} // the sets of visitors by network

	// addVisitor adds the visitor to those of the network, unless there are MaxVisitors.
	addVisitor := func(network, visitor string) {
		if visitorsOf[network] == nil {
			visitorsOf[network] = map[string]bool{}
		}

		if len(visitorsOf[network]) < listings.MaxVisitors {
			visitorsOf[network][visitor] = true
		}
	}

	for _, visit := range stored {
		addVisitor(visit.Network, visit.Visitor)
	}

	var kept []listings.Visit
	for _, v := range visits {
		hasNoLimit := v.Network == ""
		if !hasNoLimit {
			addVisitor(v.Network, v.Visitor)
		}

		if hasNoLimit || visitorsOf[v.Network][v.Visitor] {
			kept = append(kept, v)
		}
	}

	return kept, nil
}

// GetOrCreateSalt implements listings.Views. It returns the salt of the day, which is newSalt if no other
// process has stored one.
func (d views) GetOrCreateSalt(ctx context.Context, day, newSalt string) (salt string, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		row := listingVisitSaltRow{Day: day, Salt: newSalt}
		if err := d.conn(ctx).Clauses(ignoreOnConflict([]string{"day"})).Create(&row).Error; err != nil {
			return wrap(err)
		}

		stored, err := takeRow[listingVisitSaltRow](d.conn(ctx).Where("day = ?", day), errNotFound)
		salt = stored.Salt

		return err
	})

	return salt, err
}

// Get implements listings.Views. It returns the numbers of views by the ids of the organization's listings. A
// listing without views is not contained.
func (d views) Get(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error) {
	return scanCounts[string](d.unprepared(ctx).
		Table("listings").
		Select("listing_views.listing_id AS name, listing_views.views AS n").
		Joins("JOIN listing_views ON listing_views.listing_id = listings.id").
		Where("listings.organization_id = ?", organizationID).
		Where(d.dialect.In("listings.id", listingIDs)))
}

// deleteVisitsBefore deletes all salts of the days before the day, one for each of them, and at most n of their
// visitors. It returns the number of deleted visitors.
func (d views) deleteVisitsBefore(ctx context.Context, day string, n int) (int, error) {
	if err := d.conn(ctx).Where("day < ?", day).Delete(&listingVisitSaltRow{}).Error; err != nil {
		return 0, wrap(err)
	}

	return deleteLimited[listingVisitRow](d.conn(ctx).Where("day < ?", day), n, "day", "day", "listing_id", "visitor")
}
