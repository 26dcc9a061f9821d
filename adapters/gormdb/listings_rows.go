package gormdb

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/listings"
)

// listingRow is a row of the table listings, without the columns of long texts.
type listingRow struct {
	ID             string
	OrganizationID string
	Version        int64
	Title          string
	Company        string
	Department     string
	ContractType   string
	EmploymentType string
	Specialty      string
	Remote         bool
	Location       string // as the employer has written it

	// The place in the gazetteer that Location names. All columns are empty if it is not known.
	// City is the name of the place. Lat and Lon are NULL for places larger than a town.
	PlaceKind listings.PlaceKind
	City      string
	Region    string
	Nation    string
	Country   string
	Lat       *float64
	Lon       *float64

	Salary              listings.Salary `gorm:"embedded;embeddedPrefix:salary_"`
	Status              listings.Status
	Open                bool // the listing was public when it was last stored
	ApplicationDeadline *time.Time
	PostedAt            *time.Time
	ArchivedAt          *time.Time
	DeletedAt           *time.Time
	HiddenAt            *time.Time
	CreatedAt           time.Time
	UpdatedAt           time.Time
}

// fullListingRow is a row of the table listings with all columns. JSON columns are read as text and
// decoded afterwards, so that the search index and lists of public listings can skip a row
// that cannot be decoded.
type fullListingRow struct {
	Short        listingRow `gorm:"embedded"` // the other columns
	Description  string
	Requirements jsonText
	Benefits     jsonText
	Questions    jsonText
	Meta         jsonText
}

// TableName implements schema.Tabler.
func (fullListingRow) TableName() string { return "listings" }

// jsonText is a JSON column, which drivers return as text or as bytes.
type jsonText string

// Scan implements sql.Scanner.
func (j *jsonText) Scan(stored any) error {
	var text sql.Null[string]
	err := text.Scan(stored)
	*j = jsonText(text.V)

	return err
}

// jsonArray returns the items as a JSON array. T must be a type that can always be encoded.
func jsonArray[T any](items []T) jsonText {
	if len(items) == 0 {
		return "[]"
	}

	text, _ := json.Marshal(items) //nolint:errchkjson // text

	return jsonText(text)
}

// decodeArray decodes a JSON array. items is a pointer to a nil slice, which an empty array leaves nil.
func decodeArray(array jsonText, items any) error {
	if array == "" || array == "[]" {
		return nil
	}

	return json.Unmarshal([]byte(array), items)
}

// listing returns the listing without its long texts.
func (r listingRow) listing() listings.Listing {
	listing := listings.Listing{
		ID:             r.ID,
		OrganizationID: r.OrganizationID,
		Version:        r.Version,
		Company:        r.Company,
		Content: listings.Content{
			Title: r.Title, Department: r.Department, ContractType: r.ContractType, EmploymentType: r.EmploymentType,
			Specialty: r.Specialty, Location: r.Location, Remote: r.Remote, Deadline: r.ApplicationDeadline,
		},
		Status:     r.Status,
		Open:       r.Open,
		PostedAt:   r.PostedAt,
		ArchivedAt: r.ArchivedAt,
		DeletedAt:  r.DeletedAt,
		HiddenAt:   r.HiddenAt,
		CreatedAt:  r.CreatedAt,
		UpdatedAt:  r.UpdatedAt,
	}

	if hasSalary := r.Salary.Min != nil || r.Salary.Max != nil; hasSalary {
		listing.Salary = &r.Salary
	}

	if isPlaceKnown := r.PlaceKind != ""; isPlaceKnown {
		listing.Place = &listings.Place{Kind: r.PlaceKind, Name: r.City, Region: r.Region, Nation: r.Nation, Country: r.Country}
		if r.Lat != nil && r.Lon != nil {
			listing.Place.Lat, listing.Place.Lon = *r.Lat, *r.Lon
		}
	}

	return listing
}

// listing returns the listing, or an error if a JSON column cannot be decoded.
func (r fullListingRow) listing() (listings.Listing, error) {
	listing := r.Short.listing()
	listing.Description, listing.Meta = r.Description, json.RawMessage(r.Meta)

	firstError := cmp.Or(
		decodeArray(r.Requirements, &listing.Requirements),
		decodeArray(r.Benefits, &listing.Benefits),
		decodeArray(r.Questions, &listing.Questions),
	)

	return listing, firstError
}

// findFull returns the listings that q selects, with their long texts.
func findFull(q *gorm.DB) ([]listings.Listing, error) {
	var rows []fullListingRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}

	found := make([]listings.Listing, len(rows))
	for i, r := range rows {
		var err error
		if found[i], err = r.listing(); err != nil {
			return nil, err
		}
	}

	return found, nil
}

// newListingRow returns the row that stores the listing.
func newListingRow(listing listings.Listing) fullListingRow {
	short := listingRow{
		ID:                  listing.ID,
		OrganizationID:      listing.OrganizationID,
		Version:             listing.Version,
		Title:               listing.Title,
		Company:             listing.Company,
		Department:          listing.Department,
		ContractType:        listing.ContractType,
		EmploymentType:      listing.EmploymentType,
		Specialty:           listing.Specialty,
		Remote:              listing.Remote,
		Location:            listing.Location,
		Status:              listing.Status,
		Open:                listing.Open,
		ApplicationDeadline: utc(listing.Deadline),
		PostedAt:            utc(listing.PostedAt),
		ArchivedAt:          utc(listing.ArchivedAt),
		DeletedAt:           utc(listing.DeletedAt),
		HiddenAt:            utc(listing.HiddenAt),
		CreatedAt:           listing.CreatedAt.UTC(),
		UpdatedAt:           listing.UpdatedAt.UTC(),
	}
	if listing.Salary != nil {
		short.Salary = *listing.Salary
	}

	if place := listing.Place; place != nil {
		short.PlaceKind = place.Kind
		short.City = place.Name
		short.Region = place.Region
		short.Nation = place.Nation
		short.Country = place.Country

		if place.Kind == listings.Town { // larger places have no position
			short.Lat, short.Lon = &place.Lat, &place.Lon
		}
	}

	return fullListingRow{
		Short:        short,
		Description:  listing.Description,
		Requirements: jsonArray(listing.Requirements),
		Benefits:     jsonArray(listing.Benefits),
		Questions:    jsonArray(listing.Questions),
		Meta:         cmp.Or(jsonText(listing.Meta), "{}"),
	}
}

// utc returns a copy of the timestamp as databases store it: in UTC with microseconds.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}

	stored := t.UTC().Truncate(time.Microsecond)

	return &stored
}
