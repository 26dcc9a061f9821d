package gormdb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings"
)

// filter takes out what the filters do not let through.
func (m *match) filter(found bitset) {
	f := m.search.q.Filters
	if f.Near != nil {
		found.and(m.nearby(f.Near))
	}
	if len(f.LocationWords) > 0 {
		found.and(m.located(f.LocationWords))
	}
	if len(f.Specialties) > 0 {
		found.and(m.special(f.Specialties))
	}
	for i := range m.docs {
		l := &m.docs[i]
		if found.has(i) && (f.ContractType != "" && l.ContractType != f.ContractType ||
			f.EmploymentType != "" && l.EmploymentType != f.EmploymentType ||
			f.SalaryMin != nil && (!l.paid || l.highest < *f.SalaryMin) ||
			f.SalaryMax != nil && (!l.paid || l.lowest > *f.SalaryMax) ||
			f.Remote != nil && l.Remote != *f.Remote ||
			f.PostedAfter != nil && (l.PostedAt == nil || l.PostedAt.Before(*f.PostedAfter))) {
			found[i/64] &^= 1 << (i % 64)
		}
	}
}

// nearby are the listings in the place, or within the radius of a town.
func (m *match) nearby(p *listings.Place) bitset {
	key := fmt.Sprintf("%s %s %s %s %v %v %v %v", p.Kind, p.Region, p.Nation, p.Country, p.Lat, p.Lon, p.Regions, m.search.q.Radius)
	if known, ok := m.near[key]; ok {
		return known
	}
	out := m.where(func(l *matched) bool { return l.Remote || l.Place != nil && lies(l.Place, p, m.search.q.Radius) })
	if len(m.near) >= mostRemembered {
		clear(m.near)
	}
	m.near[key] = out
	return out
}

// lies reports whether a listing's place is in the other, or near it.
func lies(l, in *listings.Place, radius float64) bool {
	switch {
	case in.Kind == listings.Town:
		return l.Kind == listings.Town && milesBetween(l, in) <= radius+0.01
	case l.Country != in.Country:
		return false
	case in.Kind == listings.Country:
		return true
	case len(in.Regions) > 0:
		return slices.Contains(in.Regions, l.Region)
	case in.Region != "":
		return l.Region == in.Region
	}
	return l.Nation == in.Nation
}

func milesBetween(a, b *listings.Place) float64 {
	const rad = math.Pi / 180
	lat, lon := math.Sin((a.Lat-b.Lat)*rad/2), math.Sin((a.Lon-b.Lon)*rad/2)
	return 2 * earthMiles * math.Asin(math.Sqrt(math.Min(1, lat*lat+math.Cos(b.Lat*rad)*math.Cos(a.Lat*rad)*lon*lon)))
}

// located are the listings whose own location has all of the words.
func (m *match) located(words []string) bitset {
	out, ok := m.said(listings.Term{Words: words})
	if ok {
		out = slices.Clone(out)
	} else {
		out = slices.Clone(m.all)
	}
	for _, w := range words {
		if ascii(w) && !listings.StopWord(w) {
			out.and(m.where(func(l *matched) bool { return strings.Contains(l.place, w) }))
		}
	}
	if len(words) == 1 && words[0] == "remote" {
		out.or(m.where(func(l *matched) bool { return l.Remote }))
	}
	return out
}

// special are the listings whose specialty has one of the names.
func (m *match) special(names []string) bitset {
	out := m.where(func(l *matched) bool { return slices.Contains(names, l.specialty) })
	for _, n := range names {
		if has, ok := m.said(listings.Term{Words: strings.Fields(n), Adjacent: true}); ok {
			part := m.where(func(l *matched) bool { return strings.Contains(" "+l.specialty+" ", " "+n+" ") })
			part.and(has)
			out.or(part)
		}
	}
	return out
}
