package gormdb

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings"
)

// Views implements listings.Views.
type Views struct{ *DB }

// Count implements listings.Views.
func (d Views) Count(ctx context.Context, vs []listings.Visit) error {
	return d.Do(ctx, func(ctx context.Context) error {
		ids := make([]string, len(vs))
		for i, v := range vs {
			ids[i] = v.ListingID
		}
		var owners []struct{ ID, OrganizationID string }
		if err := d.unprepared(ctx).Raw("SELECT id, organization_id FROM listings WHERE ?", d.dialect.among(ids)).Scan(&owners).Error; err != nil {
			return wrap(err)
		}
		ownerOf := make(map[string]string, len(owners))
		for _, o := range owners {
			ownerOf[o.ID] = o.OrganizationID
		}
		vs = slices.DeleteFunc(slices.Clone(vs), func(v listings.Visit) bool {
			owner, there := ownerOf[v.ListingID]
			return !there || owner == v.OrganizationID
		})
		if len(vs) == 0 {
			return nil
		}
		// Locked in order, so that two processes do not deadlock.
		slices.SortFunc(vs, func(a, b listings.Visit) int {
			return cmp.Or(cmp.Compare(a.ListingID, b.ListingID), cmp.Compare(a.Visitor, b.Visitor), cmp.Compare(a.Day, b.Day))
		})
		vs, err := d.withinNetworks(ctx, vs)
		if err != nil || len(vs) == 0 {
			return err
		}
		var visits []any
		for _, v := range vs {
			visits = append(visits, v.Day, v.ListingID, v.Visitor, v.Network)
		}
		var counted []string
		err = d.unprepared(ctx).Raw("INSERT INTO listing_visits (day, listing_id, visitor, network) VALUES "+tuples(len(vs), "(?, ?, ?, ?)")+
			" ON CONFLICT (day, listing_id, visitor) DO NOTHING RETURNING listing_id", visits...).Scan(&counted).Error
		if err != nil || len(counted) == 0 {
			return wrap(err)
		}
		more := map[string]int{}
		for _, id := range counted {
			more[id]++
		}
		var sums []any
		for _, id := range slices.Sorted(maps.Keys(more)) {
			sums = append(sums, id, more[id])
		}
		return wrap(d.unprepared(ctx).Exec("INSERT INTO listing_views (listing_id, views) VALUES "+tuples(len(more), "(?, ?)")+
			" ON CONFLICT (listing_id) DO UPDATE SET views = listing_views.views + excluded.views", sums...).Error)
	})
}

// withinNetworks returns the visits without those beyond the number of visitors of
// a network, whose hash is different for each listing and day.
func (d Views) withinNetworks(ctx context.Context, vs []listings.Visit) ([]listings.Visit, error) {
	var networks []string
	for _, v := range vs {
		if v.Network != "" {
			networks = append(networks, v.Network)
		}
	}
	if len(networks) == 0 {
		return vs, nil
	}
	var known []struct{ Network, Visitor string }
	err := d.unprepared(ctx).Table("listing_visits").Select("network", "visitor").Where("?", d.dialect.columnAmong("network", networks)).Scan(&known).Error
	if err != nil {
		return nil, wrap(err)
	}
	visitors := map[string]map[string]bool{}
	admit := func(network, visitor string) bool {
		if visitors[network] == nil {
			visitors[network] = map[string]bool{}
		}
		if len(visitors[network]) < listings.MaxVisitors {
			visitors[network][visitor] = true
		}
		return visitors[network][visitor]
	}
	for _, k := range known {
		admit(k.Network, k.Visitor)
	}
	return slices.DeleteFunc(vs, func(v listings.Visit) bool {
		return v.Network != "" && !admit(v.Network, v.Visitor)
	}), nil
}

// tuples returns the placeholders of n rows.
func tuples(n int, row string) string {
	return strings.TrimSuffix(strings.Repeat(row+", ", n), ", ")
}

// Salt implements listings.Views.
func (d Views) Salt(ctx context.Context, day, fresh string) (salt string, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		if err := d.q(ctx).Exec("INSERT INTO listing_visit_salts (day, salt) VALUES (?, ?) ON CONFLICT (day) DO NOTHING", day, fresh).Error; err != nil {
			return wrap(err)
		}
		return wrap(d.q(ctx).Raw("SELECT salt FROM listing_visit_salts WHERE day = ?", day).Scan(&salt).Error)
	})
	return salt, err
}

// Of implements listings.Views.
func (d Views) Of(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error) {
	return countedBy[string](d.unprepared(ctx).Raw(`SELECT v.listing_id AS name, v.views AS n FROM listings l JOIN listing_views v ON v.listing_id = l.id
		WHERE l.organization_id = ? AND ?`, organizationID, d.dialect.among(listingIDs)))
}

// deleteVisitsBefore deletes the visitors and salts of the days before the day.
func (d Views) deleteVisitsBefore(ctx context.Context, day string, n int) (int, error) {
	if err := d.q(ctx).Exec("DELETE FROM listing_visit_salts WHERE day < ?", day).Error; err != nil {
		return 0, wrap(err)
	}
	res := d.q(ctx).Exec(`DELETE FROM listing_visits WHERE (day, listing_id, visitor) IN
		(SELECT day, listing_id, visitor FROM listing_visits WHERE day < ? LIMIT ?)`, day, n)
	return int(res.RowsAffected), wrap(res.Error)
}
