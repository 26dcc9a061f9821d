package portal

import (
	"encoding/json"
	"time"

	"github.com/locumhq/locum/modules/listings"
)

// A view is the form in which the API represents a value. The views of this file represent listings, the jobs of
// employers. The functions view… return them.

// salaryView is a range of pay in units of the currency, such as pounds. An end that is not stated is null.
type salaryView struct {
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Currency string   `json:"currency"`
	Period   string   `json:"period"`
}

// listingSummary is a public listing in a list.
type listingSummary struct {
	ID                  string      `json:"id"`
	Title               string      `json:"title"`
	Company             string      `json:"company"`
	Department          string      `json:"department"`
	Location            string      `json:"location"`
	Remote              bool        `json:"remote"`
	Specialty           string      `json:"specialty"`
	ContractType        string      `json:"contractType"`
	EmploymentType      string      `json:"employmentType"`
	Salary              *salaryView `json:"salary"`
	ApplicationDeadline *time.Time  `json:"applicationDeadline"`
	PostedAt            *time.Time  `json:"postedAt"`
	// DistanceMiles is present if the search has a place and the place of the listing is known.
	DistanceMiles *float64 `json:"distanceMiles,omitempty"`
}

// viewSummary returns the view of a hit, which is a listing that a search has found.
func viewSummary(h listings.Hit) listingSummary {
	listing := h.Listing

	v := listingSummary{
		ID:                  listing.ID,
		Title:               listing.Title,
		Company:             listing.Company,
		Department:          listing.Department,
		Location:            listing.Location,
		Remote:              listing.Remote,
		Specialty:           listing.Specialty,
		ContractType:        listing.ContractType,
		EmploymentType:      listing.EmploymentType,
		Salary:              (*salaryView)(listing.Salary.InMajorUnits()),
		ApplicationDeadline: listing.Deadline,
		PostedAt:            listing.PostedAt,
	}
	if h.Miles != nil {
		tenths := int64(*h.Miles*10 + 0.5) // rounded
		miles := float64(tenths) / 10
		v.DistanceMiles = &miles
	}

	return v
}

// foundListing is a listing in the result of a search, with what it has in common with the search.
type foundListing struct {
	listingSummary
	listings.Match
}

func viewFoundListing(h listings.Hit) foundListing {
	return foundListing{viewSummary(h), h.Match}
}

// listingsView is the result of a search by query parameters.
type listingsView struct {
	Listings   []foundListing `json:"listings"`
	Pagination struct {
		Page  int `json:"page"`
		Limit int `json:"limit"`
		Total int `json:"total"`
	} `json:"pagination"`
	Next
	foundView
}

// searchResult is a listing in the result of a search by a body, with its rank among the results.
type searchResult struct {
	foundListing
	Relevance float64 `json:"relevance"`
}

func viewSearchResult(h listings.Hit) searchResult {
	return searchResult{viewFoundListing(h), h.Relevance}
}

// searchView is the result of a search by a body.
type searchView struct {
	Results []searchResult `json:"results"`
	Total   int            `json:"total"`
	Next
	foundView
}

// listingDetail is a public listing with all public fields.
type listingDetail struct {
	listingSummary
	UUID         string              `json:"uuid"`
	Description  string              `json:"description"`
	Requirements []string            `json:"requirements"`
	Benefits     []string            `json:"benefits"`
	Questions    []listings.Question `json:"questions"`
	Status       listings.Status     `json:"status"`
	UpdatedAt    time.Time           `json:"updatedAt"`
}

func viewDetail(l listings.Listing) listingDetail {
	return listingDetail{
		listingSummary: viewSummary(listings.Hit{Listing: l}),
		UUID:           l.ID,
		Description:    l.Description,
		Requirements:   append([]string{}, l.Requirements...),
		Benefits:       append([]string{}, l.Benefits...),
		Questions:      append([]listings.Question{}, l.Questions...),
		Status:         l.Status,
		UpdatedAt:      l.UpdatedAt,
	}
}

// jobSummary is a listing in its organization's list.
type jobSummary struct {
	ID                  string          `json:"id"`
	Title               string          `json:"title"`
	Company             string          `json:"company"`
	Department          string          `json:"department"`
	Location            string          `json:"location"`
	ContractType        string          `json:"contractType"`
	Status              listings.Status `json:"status"`
	ApplicationDeadline *time.Time      `json:"applicationDeadline"`
	PostedAt            *time.Time      `json:"postedAt"`
	ArchivedAt          *time.Time      `json:"archivedAt"`
	DeletedAt           *time.Time      `json:"deletedAt"`
	// Hidden is true for a listing that a moderator or the operator of the service has hidden, or that is hidden
	// because of its organization. It is not public in any status.
	Hidden    bool      `json:"hidden"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func viewJobSummary(listing listings.Listing) jobSummary {
	return jobSummary{
		ID:                  listing.ID,
		Title:               listing.Title,
		Company:             listing.Company,
		Department:          listing.Department,
		Location:            listing.Location,
		ContractType:        listing.ContractType,
		Status:              listing.Status,
		ApplicationDeadline: listing.Deadline,
		PostedAt:            listing.PostedAt,
		ArchivedAt:          listing.ArchivedAt,
		DeletedAt:           listing.DeletedAt,
		Hidden:              listing.HiddenAt != nil,
		CreatedAt:           listing.CreatedAt,
		UpdatedAt:           listing.UpdatedAt,
	}
}

type jobsView struct {
	Listings []jobSummary `json:"listings"`
	Paged
}

// jobDetail is a listing with all fields for its organization.
type jobDetail struct {
	jobSummary
	UUID           string              `json:"uuid"`
	Description    string              `json:"description"`
	EmploymentType string              `json:"employmentType"`
	Specialty      string              `json:"specialty"`
	Remote         bool                `json:"remote"`
	Salary         *salaryView         `json:"salary"`
	Requirements   []string            `json:"requirements"`
	Benefits       []string            `json:"benefits"`
	Questions      []listings.Question `json:"questions"`
	// Public reports whether the listing is currently public.
	Public bool            `json:"public"`
	Meta   json.RawMessage `json:"meta" sample:"{\"listing\":{\"title\":\"RN\"}}"`
}

type jobView struct {
	Job jobDetail `json:"job"`
}

func viewJob(listing listings.Listing) jobView {
	return jobView{Job: jobDetail{
		jobSummary:     viewJobSummary(listing),
		UUID:           listing.ID,
		Description:    listing.Description,
		EmploymentType: listing.EmploymentType,
		Specialty:      listing.Specialty,
		Remote:         listing.Remote,
		Salary:         (*salaryView)(listing.Salary.InMajorUnits()),
		Requirements:   append([]string{}, listing.Requirements...),
		Benefits:       append([]string{}, listing.Benefits...),
		Questions:      append([]listings.Question{}, listing.Questions...),
		Public:         listing.Open,
		Meta:           metaOf(listing),
	}}
}

// metaOf returns the metadata of a listing: JSON that its employer has stored. It is {} for a listing without metadata.
func metaOf(l listings.Listing) json.RawMessage {
	if len(l.Meta) == 0 {
		return json.RawMessage("{}")
	}

	return l.Meta
}

type jobID struct {
	ID string `json:"id"`
}

func viewJobID(l listings.Listing) jobID { return jobID{l.ID} }

// jobTitle is the id of a job with its title.
type jobTitle struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

func viewJobTitle(l listings.Listing) jobTitle { return jobTitle{ID: l.ID, Title: l.Title} }

// failedJob is an item of a batch as it was sent, with the reason why it failed.
type failedJob struct {
	Job   json.RawMessage `json:"job"`
	Error string          `json:"error"`
}

// createdView is the result of a batch that creates jobs. Failed has the jobs that could not be created.
type createdView struct {
	Created []jobTitle  `json:"created"`
	Failed  []failedJob `json:"failed"`
}

// updatedView is the result of a batch that changes jobs. Failed has the items that could not be applied.
type updatedView struct {
	Updated []jobID     `json:"updated"`
	Failed  []failedJob `json:"failed"`
}

// renewedView is a job after its active period was extended.
type renewedView struct {
	ID                  string          `json:"id"`
	Status              listings.Status `json:"status"`
	ApplicationDeadline *time.Time      `json:"applicationDeadline"`
}

// metaView is the metadata of a job: JSON that its employer has stored.
type metaView struct {
	UUID string          `json:"uuid"`
	Meta json.RawMessage `json:"meta" sample:"{\"listing\":{\"title\":\"RN\"}}"`
}

// metaResult is the result for one item of a batch. Index is its position in the request.
type metaResult struct {
	Success bool   `json:"success"`
	UUID    string `json:"uuid"`
	Index   int    `json:"index"`
	Error   string `json:"error,omitempty"`
}

// SearchOptions are common to all searches by query parameters. Relaxed also returns listings that satisfy the search
// only in part. Facets are properties by whose values the results are counted.
type SearchOptions struct {
	Relaxed bool     `query:"relaxed" default:"true"`
	Facets  []string `query:"facets" validate:"dive,oneof=role specialty band contractType employmentType shift region"`
}

// foundView is embedded in the result of a search. Report describes how the text of the search was interpreted.
// RelaxedCount is the number of results on the page that satisfy the search only in part. Facets has the number of the
// other results for each value of a property, such as the role.
type foundView struct {
	listings.Report
	RelaxedCount int                              `json:"relaxedCount"`
	Facets       map[string][]listings.FacetValue `json:"facets,omitempty"`
}

// viewInterpretation returns the foundView of a result.
func viewInterpretation(f listings.Found) foundView {
	return foundView{Report: f.Report, RelaxedCount: f.Relaxed, Facets: f.Facets}
}

type completionsView struct {
	Suggestions []listings.Completion `json:"suggestions"`
}
