package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// searchRoutes returns the search of jobseekers, which differs from GET /api/listings in its parameters and in that
// it shows saved jobs.
func searchRoutes(s *listings.Service, seekers *jobseeker.Service) []web.Route {
	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/search",
			Auth:    web.Optional,
			Cached:  true,
			Search:  true,
			Tag:     "Jobseeker search",
			Summary: "Search the public listings and show which of them the caller has saved",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in SeekerSearchInput) (web.Reply[seekerSearchView], error) {
					r, err := s.Find(ctx, c.Actor, in.find())
					if err != nil {
						return web.Reply[seekerSearchView]{}, err
					}

					// A hit is a listing that the search has found.
					foundIDs := web.Each(r.Items, func(hit listings.Hit) string { return hit.Listing.ID })
					isSaved, err := seekers.FindSaved(ctx, c.Actor.UserID, foundIDs)

					var v seekerSearchView
					v.Search.Jobs = web.Each(r.Items, func(hit listings.Hit) foundJob { return viewFound(hit, isSaved[hit.Listing.ID]) })
					v.Search.Pagination = seekerPagination(r.Result, web.Paging{Page: in.Page, Limit: in.Limit, Cursor: in.Cursor})
					v.Search.Next = Next{r.NextCursor}
					v.Search.foundView = viewInterpretation(r)

					return web.OK(v, ""), err
				}).MapFaults(mapSeekerSearchFault),
		},
	}
}

// SeekerSearchInput is a search of a jobseeker or guest.
type SeekerSearchInput struct {
	SearchOptions
	Query     string   `query:"q" validate:"max=200"`
	Location  string   `query:"location" validate:"max=200"`
	Type      string   `query:"type" validate:"omitempty,oneof=permanent temporary contract"`
	SalaryMin *float64 `query:"salaryMin" validate:"omitempty,min=0,max=1000000000"`
	SalaryMax *float64 `query:"salaryMax" validate:"omitempty,min=0,max=1000000000"`
	Page      int      `query:"page" default:"1" validate:"min=1"`
	Limit     int      `query:"limit" default:"10" clamp:"20" validate:"min=1"`
	Cursor    string   `query:"cursor" validate:"max=2048"`
	// Sort defaults to relevance if there is a query and neither sort nor order.
	Sort  string `query:"sort" validate:"omitempty,oneof=postedAt salary title location"`
	Order string `query:"order" validate:"omitempty,oneof=asc desc"`
}

// Problems returns the violations of rules that tags cannot express.
func (in SeekerSearchInput) Problems() []fault.Field {
	problems := checkedFilters{salaryMin: in.SalaryMin, salaryMax: in.SalaryMax, salaryMaxName: "salaryMax"}.problems()

	isPositive := in.Page > 0 && in.Limit > 0 // otherwise the tags have found the problem
	if isPositive {
		problems = append(problems, web.ValidatePage(page.Request{Number: in.Page, Size: in.Limit, Cursor: in.Cursor})...)
	}

	return problems
}

// seekerSorts maps the values of the parameter sort to the orders of the search.
var seekerSorts = map[string]listings.Sort{
	"postedAt": listings.ByDate,
	"salary":   listings.BySalary,
	"title":    listings.ByTitle,
	"location": listings.ByLocation,
}

// find converts the parameters into the input of the search. If the parameter sort is missing, the parameter order
// applies to the date.
func (in SeekerSearchInput) find() listings.FindInput {
	sort := seekerSorts[in.Sort]
	if sort == "" && in.Order != "" {
		sort = listings.ByDate
	}

	return listings.FindInput{
		Text:      in.Query,
		Sort:      string(sort),
		Ascending: in.Order == "asc",
		Exact:     !in.Relaxed,
		Facets:    in.Facets,
		Page:      page.Request{Number: in.Page, Size: in.Limit, Cursor: in.Cursor},
		Filters: listings.FilterInput{
			Location:     in.Location,
			ContractType: []string{in.Type},
			SalaryMin:    in.SalaryMin,
			SalaryMax:    in.SalaryMax,
		},
	}
}

// mapSeekerSearchFault translates the fault of an invalid search. The result is fault.ErrInvalid with the names of the
// query parameters. A fault of another kind is returned unchanged.
func mapSeekerSearchFault(f *fault.Error) *fault.Error {
	if f.Kind != fault.Invalid || len(f.Fields) == 0 {
		return f
	}

	return fault.ErrInvalid.WithFields(renameFields(f.Fields, map[string]string{"query": "q", "contractType": "type"})...)
}

// foundJob is a listing in the result of a search.
type foundJob struct {
	ID         string    `json:"id"`
	Title      string    `json:"title"`
	Company    string    `json:"company"`
	Department string    `json:"department"`
	Location   placeView `json:"location"`
	Remote     bool      `json:"remote"`
	Specialty  string    `json:"specialty"`
	// Type is the contract type, empty if unknown.
	Type                string      `json:"type"`
	EmploymentType      string      `json:"employmentType"`
	Salary              *salaryView `json:"salary"`
	ApplicationDeadline *time.Time  `json:"applicationDeadline"`
	PostedAt            *time.Time  `json:"postedAt"`
	// DistanceMiles is present if the search has a place and the place of the listing is known.
	DistanceMiles *float64 `json:"distanceMiles,omitempty"`
	// IsBookmarked is false for guests.
	IsBookmarked bool `json:"isBookmarked"`
	listings.Match
}

// placeView is the place of a listing. For an unknown place, City is the text of the
// employer.
type placeView struct {
	City   string `json:"city"`
	Region string `json:"region"`
}

// viewPlace returns the place of a listing: a town with its region, or a region alone.
func viewPlace(l listings.Listing) placeView {
	switch {
	case l.Place == nil:
		return placeView{City: l.Location}
	case l.Place.Kind == listings.Town:
		return placeView{City: l.Place.Name, Region: l.Place.Region}
	case l.Place.Region != "":
		return placeView{Region: l.Place.Region}
	}

	return placeView{Region: l.Place.Name} // the place itself is a region or a country
}

// viewFound returns the view of a hit. isSaved reports whether the caller has saved the listing.
func viewFound(hit listings.Hit, isSaved bool) foundJob {
	v := viewSummary(hit)

	return foundJob{
		ID:                  v.ID,
		Title:               v.Title,
		Company:             v.Company,
		Department:          v.Department,
		Location:            viewPlace(hit.Listing),
		Remote:              v.Remote,
		Specialty:           v.Specialty,
		Type:                v.ContractType,
		EmploymentType:      v.EmploymentType,
		Salary:              v.Salary,
		ApplicationDeadline: v.ApplicationDeadline,
		PostedAt:            v.PostedAt,
		DistanceMiles:       v.DistanceMiles,
		IsBookmarked:        isSaved,
		Match:               hit.Match,
	}
}

type seekerSearchView struct {
	Search struct {
		Jobs       []foundJob       `json:"jobs"`
		Pagination SeekerPagination `json:"pagination"`
		Next
		foundView
	} `json:"search"`
}
