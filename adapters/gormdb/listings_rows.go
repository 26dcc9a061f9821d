package gormdb

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/locumhq/locum/modules/listings"
)

// listingRow is a row of listings without the columns of long texts.
type listingRow struct {
	ID                  string
	OrganizationID      string
	Version             int64
	Title               string
	Company             string
	Department          string
	ContractType        string
	EmploymentType      string
	Specialty           string
	Remote              bool
	Location            string
	PlaceKind           string
	City                string
	Region              string
	Nation              string
	Country             string
	Lat                 *float64
	Lon                 *float64
	SalaryMin           *int64
	SalaryMax           *int64
	SalaryCurrency      string
	SalaryPeriod        string
	Status              string
	Open                bool
	ApplicationDeadline *time.Time
	PostedAt            *time.Time
	ArchivedAt          *time.Time
	DeletedAt           *time.Time
	HiddenAt            *time.Time
	CreatedAt           time.Time
	UpdatedAt           time.Time
}

// TableName implements schema.Tabler of GORM.
func (listingRow) TableName() string { return "listings" }

// fullListingRow is a row of listings with all columns that are read.
type fullListingRow struct {
	Short        listingRow `gorm:"embedded"`
	Description  string
	Requirements jsonText
	Benefits     jsonText
	Questions    jsonText
	Meta         jsonText
}

// TableName implements schema.Tabler of GORM.
func (fullListingRow) TableName() string { return "listings" }

// jsonText is a JSON column, which drivers return as text or as bytes.
type jsonText string

// Scan implements sql.Scanner.
func (j *jsonText) Scan(v any) error {
	switch v := v.(type) {
	case string:
		*j = jsonText(v)
	case []byte:
		*j = jsonText(v)
	case nil:
		*j = "null"
	default:
		return fmt.Errorf("JSON column of type %T", v)
	}
	return nil
}

func toJSON(v any) (jsonText, error) {
	text, err := json.Marshal(v)
	return jsonText(text), err
}

// jsonArray decodes a column with an array. An empty one is nil.
func jsonArray[T any](j jsonText) ([]T, error) {
	if j == "" || j == "[]" || j == "null" {
		return nil, nil
	}
	var out []T
	return out, json.Unmarshal([]byte(j), &out)
}

func orEmpty[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

func (r listingRow) listing() listings.Listing {
	l := listings.Listing{
		ID: r.ID, OrganizationID: r.OrganizationID, Version: r.Version, Company: r.Company,
		Content: listings.Content{
			Title: r.Title, Department: r.Department, ContractType: r.ContractType, EmploymentType: r.EmploymentType,
			Specialty: r.Specialty, Location: r.Location, Remote: r.Remote, Deadline: r.ApplicationDeadline,
		},
		Status: listings.Status(r.Status), Open: r.Open,
		PostedAt: r.PostedAt, ArchivedAt: r.ArchivedAt, DeletedAt: r.DeletedAt, HiddenAt: r.HiddenAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.SalaryMin != nil || r.SalaryMax != nil {
		l.Salary = &listings.Salary{Min: r.SalaryMin, Max: r.SalaryMax, Currency: r.SalaryCurrency, Period: r.SalaryPeriod}
	}
	if r.PlaceKind != "" {
		l.Place = &listings.Place{Kind: listings.PlaceKind(r.PlaceKind), Name: r.City, Region: r.Region, Nation: r.Nation, Country: r.Country}
		if r.Lat != nil && r.Lon != nil {
			l.Place.Lat, l.Place.Lon = *r.Lat, *r.Lon
		}
	}
	return l
}

func (r fullListingRow) listing() (listings.Listing, error) {
	l := r.Short.listing()
	l.Description, l.Meta = r.Description, json.RawMessage(r.Meta)
	var err error
	if l.Requirements, err = jsonArray[string](r.Requirements); err != nil {
		return l, err
	}
	if l.Benefits, err = jsonArray[string](r.Benefits); err != nil {
		return l, err
	}
	l.Questions, err = jsonArray[listings.Question](r.Questions)
	return l, err
}

func newListingRow(l *listings.Listing) (fullListingRow, error) {
	short := listingRow{
		ID: l.ID, OrganizationID: l.OrganizationID, Version: l.Version, Title: l.Title, Company: l.Company, Department: l.Department,
		ContractType: l.ContractType, EmploymentType: l.EmploymentType, Specialty: l.Specialty, Remote: l.Remote, Location: l.Location,
		Status: string(l.Status), Open: l.Open,
		ApplicationDeadline: utc(l.Deadline), PostedAt: utc(l.PostedAt), ArchivedAt: utc(l.ArchivedAt), DeletedAt: utc(l.DeletedAt), HiddenAt: utc(l.HiddenAt),
		CreatedAt: l.CreatedAt.UTC(), UpdatedAt: l.UpdatedAt.UTC(),
	}
	if s := l.Salary; s != nil {
		short.SalaryMin, short.SalaryMax, short.SalaryCurrency, short.SalaryPeriod = s.Min, s.Max, s.Currency, s.Period
	}
	if p := l.Place; p != nil {
		short.PlaceKind, short.City, short.Region, short.Nation, short.Country = string(p.Kind), p.Name, p.Region, p.Nation, p.Country
		if p.Kind == listings.Town {
			short.Lat, short.Lon = &p.Lat, &p.Lon
		}
	}
	r := fullListingRow{Short: short, Description: l.Description, Meta: "{}"}
	if len(l.Meta) > 0 {
		r.Meta = jsonText(l.Meta)
	}
	var err error
	if r.Requirements, err = toJSON(orEmpty(l.Requirements)); err != nil {
		return r, err
	}
	if r.Benefits, err = toJSON(orEmpty(l.Benefits)); err != nil {
		return r, err
	}
	r.Questions, err = toJSON(orEmpty(l.Questions))
	return r, err
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC().Truncate(time.Microsecond)
	return &u
}
