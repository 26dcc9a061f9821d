package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// MetaInput is a merge patch (RFC 7396) for the metadata of a listing: JSON that employers store with a listing for
// their own programs.
type MetaInput struct {
	IDPath
	APIKey
	Meta map[string]json.RawMessage `json:"meta" validate:"required" sample:"{\"listing\":{\"title\":\"RN\"}}"`
}

// MetaBatchInput is the input of an operation whose body is an array of MetaItem.
type MetaBatchInput struct {
	APIKey
	Body []byte `body:"raw" sample:"[{\"uuid\":\"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01\",\"meta\":{\"listing\":{\"title\":\"RN\"}}}]"`
}

// RawBody returns a value of the type of Body, for the OpenAPI document. Items are
// validated one by one, so that an invalid one does not fail the others.
func (MetaBatchInput) RawBody() any { return []json.RawMessage(nil) }

// MetaItem is a merge patch for the metadata of the listing with the id UUID.
type MetaItem struct {
	UUID string                     `json:"uuid" validate:"required"`
	Meta map[string]json.RawMessage `json:"meta" validate:"required" sample:"{\"listing\":{\"title\":\"RN\"}}"`
}

// JobsBatchInput is a batch of listings. Each is validated on its own, so that an invalid
// one does not fail the others.
type JobsBatchInput struct {
	Jobs []json.RawMessage `json:"jobs" validate:"required" sample:"[{\"id\":\"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01\",\"title\":\"Registered Nurse, ICU\",\"description\":\"Days and nights on a 12-bed unit.\"}]"`
}

// JobUpdateInput is a change of one listing.
type JobUpdateInput struct {
	IDPath
	listings.UpdateInput
}

// JobUpdateItem is a change of one of several listings.
type JobUpdateItem struct {
	ID string `json:"id" validate:"required"`
	listings.UpdateInput
}

// ListJobsInput selects a page of the organization's listings.
type ListJobsInput struct {
	web.Paging
	Status string `query:"status" validate:"omitempty,oneof=active inactive closed draft archived"`
}

// RenewInput is the input of the operation that extends the period in which a listing is active.
type RenewInput struct {
	IDPath
	DurationDays *int `json:"durationDays" validate:"omitempty,min=1,max=365"`
}

// ListListingsInput is a search by the parameters of a query.
type ListListingsInput struct {
	web.Paging
	SearchOptions
	Search         string   `query:"search" validate:"max=200"`
	Location       string   `query:"location" validate:"max=200"`
	Radius         *float64 `query:"radius" default:"10" validate:"omitempty,gt=0,max=500"`
	ContractType   string   `query:"contractType" validate:"omitempty,oneof=permanent temporary contract"`
	EmploymentType string   `query:"employmentType" validate:"omitempty,oneof=full-time part-time bank per-diem flexible"`
	Specialty      string   `query:"specialty" validate:"max=200"`
	SalaryMin      *float64 `query:"salary_min" validate:"omitempty,min=0,max=1000000000"`
	SalaryMax      *float64 `query:"salary_max" validate:"omitempty,min=0,max=1000000000"`
	Currency       string   `query:"currency" validate:"max=3"`
	Remote         *bool    `query:"remote"`
	PostedAfter    string   `query:"postedAfter"`
	Sort           string   `query:"sort" validate:"omitempty,oneof=relevance date salary distance"`
}

// Problems returns the violations of rules that tags cannot express.
func (in ListListingsInput) Problems() []fault.Field {
	return checkedFilters{
		salaryMin: in.SalaryMin, salaryMax: in.SalaryMax, salaryMaxName: "salary_max", postedAfter: in.PostedAfter,
	}.problems()
}

// checkedFilters are the filters of a search that have rules that tags cannot express.
type checkedFilters struct {
	salaryMin, salaryMax *float64
	salaryMaxName        string // name of the field with salaryMax in the input
	postedAfter          string // empty for none
	prefix               string // path of the object that has the fields, with a dot; empty for none
}

// problems returns a problem for a range of pay whose maximum is below its minimum, and for an invalid time.
func (f checkedFilters) problems() []fault.Field {
	var problems []fault.Field
	if f.salaryMin != nil && f.salaryMax != nil && *f.salaryMin > *f.salaryMax {
		problems = append(problems, fault.Field{Name: f.prefix + f.salaryMaxName, Message: "must not be less than the minimum"})
	}

	if f.postedAfter != "" {
		const atEndOfDay = false // a date without a time is the start of that day
		if _, err := listings.ParseMoment(f.postedAfter, atEndOfDay); err != nil {
			problems = append(problems, fault.Field{Name: f.prefix + "postedAfter", Message: err.Error()})
		}
	}

	return problems
}

// find converts the parameters into the input of the search.
func (in ListListingsInput) find() listings.FindInput {
	return listings.FindInput{
		Text:   in.Search,
		Sort:   in.Sort,
		Page:   in.Request(),
		Exact:  !in.Relaxed,
		Facets: in.Facets,
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

// mapFilterFault translates the fault of an invalid search by query parameters. If a filter is invalid, the result is
// listings.ErrFilters, with the names of the query parameters. A fault that concerns only the page, and a fault of
// another kind, is returned unchanged.
func mapFilterFault(f *fault.Error) *fault.Error {
	if f.Kind != fault.Invalid || len(f.Fields) == 0 {
		return f
	}

	isFilter := func(field fault.Field) bool { return !slices.Contains([]string{"page", "limit", "cursor"}, field.Name) }

	concernsPageOnly := !slices.ContainsFunc(f.Fields, isFilter)
	if concernsPageOnly {
		return f
	}

	return listings.ErrFilters.WithFields(
		renameFields(f.Fields, map[string]string{"query": "search", "salaryMin": "salary_min", "salaryMax": "salary_max"})...)
}

// SearchListingsInput is a search by a JSON body.
type SearchListingsInput struct {
	Query   string        `json:"query" validate:"notblank,max=200"`
	Filters SearchFilters `json:"filters"`
	Relaxed *bool         `json:"relaxed" default:"true"`
	Facets  []string      `json:"facets" validate:"dive,oneof=role specialty band contractType employmentType shift region"`
	Sort    string        `json:"sort" validate:"omitempty,oneof=relevance date salary distance"`
	Page    *int          `json:"page" default:"1" validate:"omitempty,min=1"`
	Limit   *int          `json:"limit" default:"20" clamp:"100" validate:"omitempty,min=1"`
	Cursor  string        `json:"cursor" validate:"max=512"`
}

// SearchFilters restrict a search. A list of values means any of them. The limits of pay are accepted in
// two spellings, salaryMin and salary_min. If both are present, the first one has precedence.
type SearchFilters struct {
	Location       string        `json:"location" validate:"max=200"`
	Radius         *float64      `json:"radius" default:"10" validate:"omitempty,gt=0,max=500"`
	ContractType   web.OneOrMany `json:"contractType" validate:"max=20" sample:"permanent"`
	EmploymentType web.OneOrMany `json:"employmentType" validate:"max=20" sample:"full-time"`
	Specialty      web.OneOrMany `json:"specialty" validate:"max=20" sample:"Intensive Care"`
	Role           web.OneOrMany `json:"role" validate:"max=20" sample:"Staff Nurse"`
	Band           web.OneOrMany `json:"band" validate:"max=20" sample:"Band 5"`
	Shift          web.OneOrMany `json:"shift" validate:"max=20" sample:"nights"`
	Employer       web.OneOrMany `json:"employer" validate:"max=20" sample:"Northgate NHS Trust"`
	Currency       string        `json:"currency" validate:"max=3" sample:"GBP"`
	SalaryMin      *float64      `json:"salaryMin" validate:"omitempty,min=0,max=1000000000"`
	SalaryMax      *float64      `json:"salaryMax" validate:"omitempty,min=0,max=1000000000"`
	SalaryMinSnake *float64      `json:"salary_min" validate:"omitempty,min=0,max=1000000000"`
	SalaryMaxSnake *float64      `json:"salary_max" validate:"omitempty,min=0,max=1000000000"`
	Remote         *bool         `json:"remote"`
	PostedAfter    string        `json:"postedAfter"`
}

// Problems returns the violations of rules that tags cannot express.
func (in SearchListingsInput) Problems() []fault.Field {
	f := in.Filters

	salaryMaxName := "salaryMax"
	if f.SalaryMax == nil { // the other spelling was sent, or none
		salaryMaxName = "salary_max"
	}

	return checkedFilters{
		salaryMin:     cmp.Or(f.SalaryMin, f.SalaryMinSnake),
		salaryMax:     cmp.Or(f.SalaryMax, f.SalaryMaxSnake),
		salaryMaxName: salaryMaxName,
		postedAfter:   f.PostedAfter,
		prefix:        "filters.",
	}.problems()
}

// find converts the body into the input of the search. The defaults are in the tags of
// SearchListingsInput.
func (in SearchListingsInput) find() listings.FindInput {
	const defaultSize, maxSize = 20, 100

	f := in.Filters

	p := page.Request{Number: 1, Size: defaultSize, Cursor: in.Cursor}
	if in.Page != nil {
		p.Number = *in.Page
	}

	if in.Limit != nil {
		p.Size = min(*in.Limit, maxSize)
	}

	return listings.FindInput{
		Text:   in.Query,
		Sort:   in.Sort,
		Page:   p,
		Exact:  in.Relaxed != nil && !*in.Relaxed,
		Facets: in.Facets,
		Filters: listings.FilterInput{
			Location:       f.Location,
			Radius:         f.Radius,
			ContractType:   f.ContractType,
			EmploymentType: f.EmploymentType,
			Specialty:      f.Specialty,
			Role:           f.Role,
			Band:           f.Band,
			Shift:          f.Shift,
			Employer:       f.Employer,
			Currency:       f.Currency,
			SalaryMin:      cmp.Or(f.SalaryMin, f.SalaryMinSnake),
			SalaryMax:      cmp.Or(f.SalaryMax, f.SalaryMaxSnake),
			Remote:         f.Remote,
			PostedAfter:    f.PostedAfter,
		},
	}
}

// mapQueryFault translates the fault of an invalid search by a body. The result is listings.ErrQuery with the invalid
// fields, in which the names of filters become their paths in the body. A fault of another kind is returned unchanged.
func mapQueryFault(f *fault.Error) *fault.Error {
	if f.Kind != fault.Invalid {
		return f
	}

	// The module does not know the paths in the body, and reports the plain names.
	filters := []string{
		"location",
		"radius",
		"contractType",
		"employmentType",
		"specialty",
		"role",
		"band",
		"shift",
		"employer",
		"salaryMin",
		"salaryMax",
		"currency",
		"remote",
		"postedAfter",
	}

	fields := slices.Clone(f.Fields)
	for i := range fields {
		if slices.Contains(filters, fields[i].Name) {
			fields[i].Name = "filters." + fields[i].Name
		}
	}

	return listings.ErrQuery.WithFields(fields...)
}

// APIKey is embedded in inputs of requests that may have the API key of an app, the program of a developer. Requests
// need the token of a signed-in user in any case.
type APIKey struct {
	Key string `header:"X-API-Key"`
}

// check returns an error for an invalid key, and for a key whose owner is not in the organization of the actor. A request
// without a key is valid.
func (k APIKey) check(ctx context.Context, s adapters.Services, actor auth.Actor) error {
	if k.Key == "" {
		return nil
	}

	caller, err := s.Integrations.AuthenticateKey(ctx, k.Key)
	if err != nil {
		return err
	}

	owner, err := s.Identity.ActorFor(ctx, caller.UserID)
	if err != nil {
		return err
	}

	if owner.OrganizationID != actor.OrganizationID {
		return fault.ErrUnauthorized
	}

	return nil
}

// keyedOp returns an operation that calls fn unless the API key is invalid. The input embeds an APIKey.
func keyedOp[I interface {
	check(ctx context.Context, s adapters.Services, actor auth.Actor) error
}, O any](s adapters.Services, fn func(ctx context.Context, actor auth.Actor, in I) (O, error)) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in I) (out O, err error) {
		if err := in.check(ctx, s, c.Actor); err != nil {
			return out, err
		}

		return fn(ctx, c.Actor, in)
	})
}

// KeyedListingPath is the input of an operation on a listing, with an optional API key.
type KeyedListingPath struct {
	IDPath
	APIKey
}
