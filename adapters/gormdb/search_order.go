package gormdb

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/locumhq/locum/modules/listings"
)

// segment is one stretch of a result.
type segment struct {
	where cond
	// rough is where without what the planner would misjudge.
	rough cond
	// fts is the part of the words that SQLite's text index answers in the
	// order of dates; empty on Postgres.
	fts string
	// key is what comes before the date in the order, empty for nothing; asc
	// turns it round, and reverse the whole order.
	key     cond
	asc     bool
	reverse bool
	hits    float64 // the relevance of its listings, 0 if they have to be asked
	whole   bool    // there is no other segment
}

// date and rank are the directions of the order's date and key.
func (g segment) date() direction { return direction(g.reverse) }
func (g segment) rank() direction { return direction(g.asc != g.reverse) }

// direction is of an order, true for up.
type direction bool

func (d direction) sql() string {
	if d {
		return " ASC"
	}
	return " DESC"
}

// beyond compares with the last value seen.
func (d direction) beyond() string {
	if d {
		return " > "
	}
	return " < "
}

// sortKey is a number or a text.
type sortKey struct{ v any }

// Scan implements sql.Scanner.
func (k *sortKey) Scan(v any) error {
	switch v := v.(type) {
	case int64:
		k.v = float64(v)
	case []byte:
		k.v = string(v)
	default:
		k.v = v
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (k *sortKey) MarshalJSON() ([]byte, error) { return json.Marshal(k.v) }

// UnmarshalJSON implements json.Unmarshaler.
func (k *sortKey) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &k.v) }

// number is the key as a number, false if it is a text.
func (k *sortKey) number() (float64, bool) {
	x, ok := k.v.(float64)
	return x, ok
}

// hitRow is a listing with its place in the order.
type hitRow struct {
	Row     fullListingRow `gorm:"embedded"`
	Miles   *float64
	Segment int
	Key     *sortKey
	// Total is how many there are altogether, if the query that found the
	// listing had to find them all.
	Total int
}

// field is where a column of a result goes. Scanning by hand takes half as long
// as letting GORM find the fields, and this is the hottest read of all.
func (r *hitRow) field(column string) any { //nolint:cyclop // long and simple
	l, f := &r.Row.Short, &r.Row
	switch column {
	case "id":
		return &l.ID
	case "title":
		return &l.Title
	case "company":
		return &l.Company
	case "department":
		return &l.Department
	case "contract_type":
		return &l.ContractType
	case "employment_type":
		return &l.EmploymentType
	case "specialty":
		return &l.Specialty
	case "remote":
		return &l.Remote
	case "location":
		return &l.Location
	case "salary_min":
		return &l.SalaryMin
	case "salary_max":
		return &l.SalaryMax
	case "salary_currency":
		return &l.SalaryCurrency
	case "salary_period":
		return &l.SalaryPeriod
	case "application_deadline":
		return &l.ApplicationDeadline
	case "posted_at":
		return &l.PostedAt
	case "organization_id":
		return &l.OrganizationID
	case "version":
		return &l.Version
	case "place_kind":
		return &l.PlaceKind
	case "city":
		return &l.City
	case "region":
		return &l.Region
	case "nation":
		return &l.Nation
	case "country":
		return &l.Country
	case "lat":
		return &l.Lat
	case "lon":
		return &l.Lon
	case "status":
		return &l.Status
	case "open":
		return &l.Open
	case "archived_at":
		return &l.ArchivedAt
	case "deleted_at":
		return &l.DeletedAt
	case "created_at":
		return &l.CreatedAt
	case "updated_at":
		return &l.UpdatedAt
	case "description":
		return &f.Description
	case "requirements":
		return &f.Requirements
	case "benefits":
		return &f.Benefits
	case "questions":
		return &f.Questions
	case "meta":
		return &f.Meta
	case "miles":
		return &r.Miles
	case "segment":
		return &r.Segment
	case "key":
		return &r.Key
	case "total":
		return &r.Total
	}
	return new(any) // a column that only the query itself needed
}

// searchCursor is where a result goes on.
type searchCursor struct {
	Segment  int
	Key      *sortKey `json:",omitempty"`
	PostedAt time.Time
	ID       string
}

// fits reports whether a cursor's key is of the kind that the segment sorts by.
func (k *sortKey) fits(sort listings.Sort, g segment) bool {
	if k == nil || g.key.sql == "" {
		return k == nil && g.key.sql == ""
	}
	_, number := k.number()
	return number != (sort == listings.ByTitle || sort == listings.ByLocation)
}

// list names the order that a cursor belongs to.
func list(q listings.Query) string {
	if q.Ascending {
		return string(q.Sort) + "-asc"
	}
	return string(q.Sort)
}

// order is the ORDER BY of a segment, by the columns of l and of k.
func (g segment) order(key string) string {
	date := "l.posted_at" + g.date().sql() + ", l.id" + g.date().sql()
	if g.key.sql == "" {
		return date
	}
	return key + g.rank().sql() + ", " + date
}

// after is the keyset condition of a cursor.
func (g segment) after(c *searchCursor) cond {
	if c == nil {
		return cond{}
	}
	date := cond{"(l.posted_at, l.id)" + g.date().beyond() + "(?, ?)", []any{c.PostedAt, c.ID}}
	if g.key.sql == "" {
		return date
	}
	beyond := cond{g.key.sql + g.rank().beyond() + "?", append(slices.Clone(g.key.args), c.Key.v)}
	same := cond{g.key.sql + " = ?", append(slices.Clone(g.key.args), c.Key.v)}
	return or(beyond, and(same, date))
}
