package developer

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// A job of this API is a listing in the modules.

// jobRoutes returns the routes of the public jobs.
func jobRoutes(s adapters.Services, publicURL string) []web.Route {
	const tag = "Jobs"
	h := jobHandlers{s, publicURL}

	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/v1/jobs",
			Scope:   integrations.JobsRead,
			Search:  true,
			Tag:     tag,
			Summary: "Search the public jobs",
			Op:      web.Op(h.search).MapFaults(renameFields(searchParameters)),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/v1/jobs/suggest",
			Scope:   integrations.JobsRead,
			Search:  true,
			Tag:     tag,
			Summary: "Complete an unfinished search",
			Op:      web.Op(h.suggest),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/v1/jobs/:job_id",
			Scope:   integrations.JobsRead,
			Tag:     tag,
			Summary: "Get a public job",
			Op:      web.Op(h.get),
		},
	}
}

// searchParameters maps the fields of listings.FindInput to the parameters of this API.
var searchParameters = map[string]string{
	"query":          "keywords",
	"contractType":   "contract_type",
	"employmentType": "employment_type",
	"salaryMin":      "salary_min",
	"salaryMax":      "salary_max",
	"postedAfter":    "posted_after",
}

// jobHandlers handles the requests of jobRoutes.
type jobHandlers struct {
	services  adapters.Services
	publicURL string
}

// search handles a search for jobs.
func (h jobHandlers) search(ctx context.Context, c web.Call, in JobsInput) (JobList, error) {
	// Caller.Actor has no role and no permissions, so that the results do not depend on them.
	r, err := h.services.Listings.Find(ctx, c.Caller.Actor(), in.find())
	if err != nil {
		return JobList{}, err
	}

	// Read the organizations of all hits, the jobs that the search has found, with one query.
	organizationIDs := list.Distinct(r.Items, func(hit listings.Hit) string { return hit.Listing.OrganizationID })

	organizationsByID, err := h.services.Identity.OrganizationsOf(ctx, organizationIDs)
	if err != nil {
		return JobList{}, err
	}

	jobs := make([]Job, len(r.Items))
	for i, hit := range r.Items {
		organization := organizationsByID[hit.Listing.OrganizationID]

		jobs[i] = Job{JobView: ViewJob(hit.Listing, organization, h.publicURL), Match: hit.Match}

		// A place can also be a part of the keywords. Then only the distance shows that the search has one.
		hasPlace := strings.TrimSpace(in.Location) != "" || hit.Miles != nil
		if hasPlace {
			jobs[i].DistanceMiles.isPresent = true
			if !hit.Listing.Remote { // remote jobs have no distance
				jobs[i].DistanceMiles.miles = hit.Miles
			}
		}
	}

	return JobList{
		List:         newList(jobs, r.Result, in.Paging, h.publicURL, c.URL),
		Report:       r.Report,
		RelaxedCount: r.Relaxed,
		Facets:       viewFacets(r.Facets),
	}, nil
}

// suggest returns completions of the text that a user has typed into a search field.
func (h jobHandlers) suggest(ctx context.Context, c web.Call, in listings.SuggestInput) (One[[]listings.Completion], error) {
	completions, err := h.services.Listings.Complete(ctx, c.Caller.Actor(), in.Query)
	return One[[]listings.Completion]{completions}, err
}

// get returns a public job. For a job that is not public the error is errJobNotFound, as if it did not exist.
func (h jobHandlers) get(ctx context.Context, c web.Call, in JobPath) (One[integrations.JobView], error) {
	listing, err := h.services.Listings.Detail(ctx, c.Caller.Actor(), in.ID)
	if fault.KindOf(err) == fault.NotFound {
		return One[integrations.JobView]{}, errJobNotFound
	}

	if err != nil {
		return One[integrations.JobView]{}, err
	}

	organizationsByID, err := h.services.Identity.OrganizationsOf(ctx, []string{listing.OrganizationID})
	organization := organizationsByID[listing.OrganizationID]

	return One[integrations.JobView]{Data: ViewJob(listing, organization, h.publicURL)}, err
}

// errJobNotFound is listings.ErrNotFound with the code and message of this API.
var errJobNotFound = fault.New(fault.NotFound, "job_not_found", "Job not found")

// JobPath is the input of an operation on one job.
type JobPath struct {
	ID string `path:"job_id"`
}

// JobsInput is a search for jobs. With Relaxed, the result also has jobs that satisfy the search only in part.
// Facets are the properties by whose values the results are counted.
type JobsInput struct {
	web.Paging
	Relaxed        bool     `query:"relaxed" default:"true"`
	Facets         []string `query:"facets" validate:"dive,oneof=role specialty band contract_type employment_type shift region"`
	Currency       string   `query:"currency" validate:"max=3"`
	Keywords       string   `query:"keywords" validate:"max=200"`
	Location       string   `query:"location" validate:"max=200"`
	Radius         *float64 `query:"radius" default:"10" validate:"omitempty,gt=0,max=500"`
	Specialty      string   `query:"specialty" validate:"max=200"`
	EmploymentType string   `query:"employment_type" validate:"omitempty,oneof=full-time part-time bank per-diem flexible"`
	ContractType   string   `query:"contract_type" validate:"omitempty,oneof=permanent temporary contract"`
	SalaryMin      *float64 `query:"salary_min" validate:"omitempty,min=0,max=1000000000"`
	SalaryMax      *float64 `query:"salary_max" validate:"omitempty,min=0,max=1000000000"`
	Remote         *bool    `query:"remote"`
	PostedAfter    string   `query:"posted_after"`
	Sort           string   `query:"sort" validate:"omitempty,oneof=relevance date salary distance"`
}

// Problems returns the violations of rules that tags cannot express.
func (in JobsInput) Problems() []fault.Field {
	var problems []fault.Field
	if in.SalaryMin != nil && in.SalaryMax != nil && *in.SalaryMax < *in.SalaryMin {
		problems = append(problems, fault.Field{Name: "salary_max", Message: "must not be less than salary_min"})
	}

	if _, err := parseTimestamp(in.PostedAfter); err != nil {
		problems = append(problems, fault.Field{Name: "posted_after", Message: err.Error()})
	}

	return problems
}

// find converts the parameters of this API into the input of the search, which the website also
// uses.
func (in JobsInput) find() listings.FindInput {
	return listings.FindInput{
		Text:   in.Keywords,
		Sort:   in.Sort,
		Page:   in.Request(),
		Full:   true, // with all fields of the listings
		Exact:  !in.Relaxed,
		Facets: web.Each(in.Facets, func(name string) string { return cmp.Or(facetNames[name], name) }),
		Filters: listings.FilterInput{
			Location:       in.Location,
			Radius:         in.Radius,
			ContractType:   []string{in.ContractType},
			EmploymentType: []string{in.EmploymentType},
			Specialty:      []string{in.Specialty},
			SalaryMin:      in.SalaryMin,
			SalaryMax:      in.SalaryMax,
			Currency:       in.Currency,
			Remote:         in.Remote,
			PostedAfter:    in.PostedAfter,
		},
	}
}

// Job is a job in a list.
type Job struct {
	integrations.JobView
	// DistanceMiles is present if the search has a place, and null if the job is
	// remote or its place is unknown.
	DistanceMiles Miles `json:"distance_miles,omitzero" sample:"3.4"`
	listings.Match
}

// Miles is the distance between the place of a search and a job.
type Miles struct {
	isPresent bool     // the search has a place, so that the response has the member
	miles     *float64 // nil for an unknown distance
}

// IsZero reports whether the search has no place. The tag omitzero then leaves out the member.
func (m Miles) IsZero() bool { return !m.isPresent }

// MarshalJSON returns the distance in miles, rounded to tenths, or null for an unknown distance.
func (m Miles) MarshalJSON() ([]byte, error) {
	if m.miles == nil {
		return []byte("null"), nil
	}

	return json.Marshal(math.Round(*m.miles*10) / 10)
}

// JSONTypes returns the types that MarshalJSON writes.
func (Miles) JSONTypes() []string { return []string{"number", "null"} }

// JobList is a page of jobs. Report describes how the text of the search was interpreted. RelaxedCount is
// the number of jobs on the page that satisfy the search only in part. Facets are the numbers of
// other results by the values of a property, such as the region.
type JobList struct {
	List[Job]
	listings.Report
	RelaxedCount int                              `json:"relaxed_count"`
	Facets       map[string][]listings.FacetValue `json:"facets,omitempty"`
}

// facetNames are the names of facets that differ in this API.
var facetNames = map[string]string{"contract_type": "contractType", "employment_type": "employmentType"}

// viewFacets renames the facets in the map to the names of this API, and returns the same map.
func viewFacets(facets map[string][]listings.FacetValue) map[string][]listings.FacetValue {
	for snake, camel := range facetNames {
		if values, ok := facets[camel]; ok {
			facets[snake] = values
			delete(facets, camel)
		}
	}

	return facets
}

// ViewJob returns the listing as the developer API and webhooks represent it. organization is the
// organization that has posted the listing. For a closed organization it is the zero value: the company
// then has only the name that the listing contains.
func ViewJob(listing listings.Listing, organization identity.Organization, publicURL string) integrations.JobView {
	v := integrations.JobView{
		ID:          listing.ID,
		Title:       listing.Title,
		Description: listing.Description,
		Company: integrations.CompanyView{
			ID:      listing.OrganizationID,
			Name:    listing.Company,
			Website: nullIfEmpty(organization.Website),
			Logo:    nullIfEmpty(organization.Logo),
		},
		Remote:         listing.Remote,
		Specialty:      nullIfEmpty(listing.Specialty),
		EmploymentType: nullIfEmpty(listing.EmploymentType),
		ContractType:   nullIfEmpty(listing.ContractType),
		Salary:         (*integrations.PayView)(listing.Salary.InMajorUnits()),
		Requirements:   append([]string{}, listing.Requirements...),
		Benefits:       append([]string{}, listing.Benefits...),
		Questions: web.Each(listing.Questions, func(q listings.Question) integrations.QuestionView {
			return integrations.QuestionView(q)
		}),
		Status:              string(listing.Status),
		ApplicationDeadline: listing.Deadline,
		PostedAt:            listing.PostedAt,
		UpdatedAt:           listing.UpdatedAt,
		URL:                 publicURL + "/jobs/" + listing.ID,
	}

	// A listing that moderators have hidden is closed for programs. Only the event job.closed contains one.
	if listing.HiddenAt != nil {
		v.Status = string(listings.Closed)
	}

	v.Location.Text = nullIfEmpty(listing.Location)
	if p := listing.Place; p != nil {
		if p.Kind == listings.Town {
			v.Location.City = nullIfEmpty(p.Name)
		}

		v.Location.Region = nullIfEmpty(p.Region)
		v.Location.Country = nullIfEmpty(p.Country)
		v.Location.Latitude = &p.Lat
		v.Location.Longitude = &p.Lon
	}

	return v
}

// nullIfEmpty returns a pointer to the text, or nil, which is null in JSON, if the text is empty.
func nullIfEmpty(text string) *string {
	if text == "" {
		return nil
	}

	return &text
}
