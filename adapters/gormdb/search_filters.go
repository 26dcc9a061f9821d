package gormdb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings"
)

// filterConds are the conditions beside the words.
func (s *search) filterConds() cond {
	f := s.q.Filters
	conds := []cond{{"l.open AND (l.application_deadline IS NULL OR l.application_deadline > ?)", []any{s.q.Now}}}
	add := func(sql string, args ...any) { conds = append(conds, cond{sql, args}) }
	if f.Near != nil {
		conds = append(conds, s.near(*f.Near))
	}
	if len(f.LocationWords) > 0 {
		conds = append(conds, s.located(f.LocationWords))
	}
	if f.ContractType != "" {
		add("l.contract_type = ?", f.ContractType)
	}
	if f.EmploymentType != "" {
		add("l.employment_type = ?", f.EmploymentType)
	}
	if len(f.Specialties) > 0 {
		conds = append(conds, s.specialty(f.Specialties))
	}
	if f.SalaryMin != nil {
		add("l.salary_year_max >= ?", *f.SalaryMin)
	}
	if f.SalaryMax != nil {
		add("l.salary_year_min <= ?", *f.SalaryMax)
	}
	if f.Remote != nil {
		if *f.Remote {
			add("l.remote")
		} else {
			add("NOT l.remote")
		}
	}
	if f.PostedAfter != nil {
		add("l.posted_at >= ?", *f.PostedAfter)
	}
	for _, c := range s.q.Text.Clauses {
		if !c.Plain() {
			conds = append(conds, s.mixed(c))
		}
	}
	s.narrowed = len(conds) > 1
	return and(conds...)
}

// mixed is a clause that something other than words may fulfil.
func (s *search) mixed(c listings.Clause) cond {
	var parts []cond
	for _, p := range c.Near {
		parts = append(parts, s.near(p))
	}
	if len(c.ContractTypes) > 0 {
		parts = append(parts, cond{"l.contract_type IN ?", []any{c.ContractTypes}})
	}
	if len(c.EmploymentTypes) > 0 {
		parts = append(parts, cond{"l.employment_type IN ?", []any{c.EmploymentTypes}})
	}
	if c.Remote {
		parts = append(parts, cond{sql: "l.remote"})
	}
	for _, t := range c.Terms {
		x := s.matcher(listings.Text{Clauses: []listings.Clause{{Terms: []listings.Term{t}}}}).body(s)
		switch t.Unstated {
		case listings.NoContractType:
			x = and(cond{sql: "l.contract_type = ''"}, x)
		case listings.NoEmploymentType:
			x = and(cond{sql: "l.employment_type = ''"}, x)
		case listings.Stated:
		}
		parts = append(parts, x)
	}
	return or(parts...)
}

// specialty is the condition that the listing's own has one of the names, or
// has it among other words.
func (s *search) specialty(names []string) cond {
	parts := []cond{{"l.specialty_key IN ?", []any{names}}}
	for _, n := range names {
		term := listings.Term{Words: strings.Fields(n), Adjacent: true}
		words := s.matcher(listings.Text{Clauses: []listings.Clause{{Terms: []listings.Term{term}}}}).body(s)
		if words.sql != "" {
			parts = append(parts, and(words, cond{`' ' || l.specialty_key || ' ' LIKE ? ESCAPE '\'`, []any{"% " + likePattern.Replace(n) + " %"}}))
		}
	}
	return or(parts...)
}

// located is a location that no gazetteer knows: all of its words.
func (s *search) located(words []string) cond {
	term := listings.Term{Words: words}
	conds := []cond{s.matcher(listings.Text{Clauses: []listings.Clause{{Terms: []listings.Term{term}}}}).body(s)}
	for _, w := range words {
		if ascii(w) && !listings.StopWord(w) {
			conds = append(conds, cond{`lower(l.location) LIKE ? ESCAPE '\'`, []any{"%" + likePattern.Replace(w) + "%"}})
		}
	}
	if len(words) == 1 && words[0] == "remote" {
		return or(and(conds...), cond{sql: "l.remote"})
	}
	return and(conds...)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

const earthMiles = 3958.7613

// near is the condition of lying in the place, or within the radius of a town.
// What is done from anywhere is near everywhere.
func (s *search) near(p listings.Place) cond {
	var c cond
	switch {
	case p.Kind == listings.Town:
		s.spatial = true
		c = s.within(&p, s.q.Radius)
	case p.Kind == listings.Country:
		c = cond{"l.country = ?", []any{p.Country}}
	case len(p.Regions) > 0:
		c = cond{"l.country = ? AND l.region IN ?", []any{p.Country, p.Regions}}
	case p.Region != "":
		c = cond{"l.country = ? AND l.region = ?", []any{p.Country, p.Region}}
	default:
		c = cond{"l.country = ? AND l.nation = ?", []any{p.Country, p.Nation}}
	}
	return or(c, cond{sql: "l.remote"})
}

// within is a box, which an index answers, and the circle in it.
func (s *search) within(p *listings.Place, radius float64) cond {
	deg := radius / earthMiles * 180 / math.Pi
	box := cond{"l.lat BETWEEN ? AND ?", []any{p.Lat - deg, p.Lat + deg}}
	if edge := math.Abs(p.Lat) + deg; edge < 89 {
		wide := math.Asin(math.Min(1, math.Sin(deg*math.Pi/180)/math.Cos(p.Lat*math.Pi/180))) * 180 / math.Pi
		west, east := p.Lon-wide, p.Lon+wide
		lon := cond{"l.lon BETWEEN ? AND ?", []any{west, east}}
		switch {
		case west < -180:
			lon = or(lon, cond{"l.lon >= ?", []any{west + 360}})
		case east > 180:
			lon = or(lon, cond{"l.lon <= ?", []any{east - 360}})
		}
		box = and(box, lon)
	}
	d := s.miles(p)
	// The centres of towns stand with three decimals.
	return and(box, cond{d.sql + " <= ?", append(d.args, radius+0.01)})
}

// miles is the distance of a listing from the place (haversine).
func (s *search) miles(p *listings.Place) cond {
	least := "least"
	if !s.pg() {
		least = "min"
	}
	return cond{
		fmt.Sprintf("(%v * asin(sqrt(%s(1.0, power(sin(radians(l.lat - ?) / 2), 2) + ? * cos(radians(l.lat)) * power(sin(radians(l.lon - ?) / 2), 2)))))", 2*earthMiles, least),
		[]any{p.Lat, math.Cos(p.Lat * math.Pi / 180), p.Lon},
	}
}

// reach is the distance by which results are sorted: a remote listing is at
// most the radius away.
func (s *search) reach() cond {
	d, least := s.miles(s.q.From), "least"
	if !s.pg() {
		least = "min"
	}
	args := slices.Concat([]any{s.q.Radius}, d.args, []any{s.q.Radius}, d.args)
	return cond{"CASE WHEN l.remote THEN " + least + "(?, coalesce(" + d.sql + ", ?)) ELSE " + d.sql + " END", args}
}
