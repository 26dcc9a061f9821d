package portal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

func listingRoutes(s adapters.Services) []web.Route {
	return slices.Concat(publicListingRoutes(s.Listings), ownedListingRoutes(s.Listings, s), employerJobRoutes(s.Listings))
}

func publicListingRoutes(s *listings.Service) []web.Route {
	const tag = "Public job listings"
	return []web.Route{
		{Method: http.MethodGet, Path: "/api/listings", Auth: web.Optional, Cached: true, Tag: tag, Summary: "Search the public listings", Op: web.Op(
			func(ctx context.Context, c web.Call, in ListListingsInput) (web.Reply[listingsView], error) {
				r, err := s.Find(ctx, c.Actor, in.find())
				if err != nil {
					return web.Reply[listingsView]{}, err
				}
				v := listingsView{Listings: make([]listingSummary, len(r.Items)), Beyond: beyond(r)}
				v.Pagination.Page, v.Pagination.Limit, v.Pagination.Total = in.Page, in.Limit, r.Total
				for i, h := range r.Items {
					v.Listings[i] = viewSummary(h)
				}
				return web.OK(v, ""), nil
			}).Rewording(filterWords)},
		{Method: http.MethodPost, Path: "/api/listings/search", Auth: web.Optional, Tag: tag, Summary: "Search the public listings by words, with filters and an order", Op: web.Op(
			func(ctx context.Context, c web.Call, in SearchListingsInput) (web.Reply[searchView], error) {
				find := in.find()
				if deep := web.TooDeep(find.Page); deep != nil {
					return web.Reply[searchView]{}, fault.ErrInvalid.WithFields(deep...)
				}
				r, err := s.Find(ctx, c.Actor, find)
				if err != nil {
					return web.Reply[searchView]{}, err
				}
				v := searchView{Results: make([]searchResult, len(r.Items)), Total: r.Total, Beyond: beyond(r)}
				for i, h := range r.Items {
					v.Results[i] = searchResult{listingSummary: viewSummary(h), Relevance: h.Relevance}
				}
				return web.OK(v, ""), nil
			}).Rewording(queryWords)},
		{Method: http.MethodGet, Path: "/api/listings/:id", Auth: web.Optional, Cached: true, Errors: []int{404}, Tag: tag, Summary: "One public listing, or one of the caller's organization in whatever state", Op: web.Op(
			func(ctx context.Context, c web.Call, in ListingPath) (web.Reply[listingDetail], error) {
				l, err := s.DetailFor(ctx, c.Actor, in.ID)
				return web.OK(viewDetail(l), ""), err
			}), Seen: func(c web.Call, path func(string) string) { s.Seen(c.Actor, c.IP, c.UserAgent, path("id")) }},
	}
}

// ownedListingRoutes are the employers' part of /api/listings. They take an API
// key beside the token.
//
// Archive and restore change a listing's state and ask for jobs.update, like
// setting its status; jobs.delete guards DELETE alone.
func ownedListingRoutes(s *listings.Service, keys adapters.Services) []web.Route {
	const tag = "Public job listings"
	return []web.Route{
		{Method: http.MethodPut, Path: "/api/listings/batch", Auth: web.Required, Who: web.Employer, Permission: auth.JobsUpdate, Tag: tag, Summary: "Merge into the meta of up to 100 listings", Op: web.Op(
			func(ctx context.Context, c web.Call, in MetaBatchInput) (web.Reply[[]metaResult], error) {
				if err := in.check(ctx, keys, c.Actor); err != nil {
					return web.Reply[[]metaResult]{}, err
				}
				items, err := batchOf(in.Body, errNotAList, errTooManyListings)
				if err != nil {
					return web.Reply[[]metaResult]{}, err
				}
				return patchMetaBatch(ctx, s, c.Actor.OrganizationID, items)
			})},
		{Method: http.MethodPatch, Path: "/api/listings/:id", Auth: web.Required, Who: web.Employer, Permission: auth.JobsUpdate, Errors: []int{404}, Tag: tag, Summary: "Merge into a listing's meta (RFC 7396)", Op: web.Op(
			func(ctx context.Context, c web.Call, in MetaInput) (web.Reply[metaView], error) {
				if err := in.check(ctx, keys, c.Actor); err != nil {
					return web.Reply[metaView]{}, err
				}
				patch, err := json.Marshal(in.Meta)
				if err != nil {
					return web.Reply[metaView]{}, err
				}
				l, err := s.PatchMeta(ctx, c.Actor.OrganizationID, in.ID, patch)
				return web.OK(metaView{UUID: l.ID, Meta: metaOf(l)}, "Listing updated successfully"), err
			})},
		{Method: http.MethodPost, Path: "/api/listings/:id/restore", Auth: web.Required, Who: web.Employer, Permission: auth.JobsUpdate, Errors: []int{404}, Tag: tag, Summary: "Bring a deleted listing back", Op: web.Op(
			func(ctx context.Context, c web.Call, in KeyedListingPath) (web.Done, error) {
				if err := in.check(ctx, keys, c.Actor); err != nil {
					return web.Done{}, err
				}
				return web.Said("Listing restored successfully"), s.Restore(ctx, c.Actor.OrganizationID, in.ID)
			})},
		{Method: http.MethodPost, Path: "/api/listings/:id/archive", Auth: web.Required, Who: web.Employer, Permission: auth.JobsUpdate, Errors: []int{404}, Tag: tag, Summary: "Take a listing out of use", Op: web.Op(
			func(ctx context.Context, c web.Call, in KeyedListingPath) (web.Done, error) {
				if err := in.check(ctx, keys, c.Actor); err != nil {
					return web.Done{}, err
				}
				return web.Said("Listing archived successfully"), s.Archive(ctx, c.Actor.OrganizationID, in.ID)
			})},
	}
}

func patchMetaBatch(ctx context.Context, s *listings.Service, organizationID string, raw []json.RawMessage) (web.Reply[[]metaResult], error) {
	items := make([]listings.BatchItem[[]byte], len(raw))
	out := make([]metaResult, len(raw))
	for i, r := range raw {
		in, err := web.Item[MetaItem](r)
		items[i].ID, items[i].Err = in.UUID, err
		if err == nil {
			items[i].Input, items[i].Err = json.Marshal(in.Meta)
		}
		out[i] = metaResult{UUID: in.UUID, Index: i}
	}
	results, err := s.PatchMetaBatch(ctx, organizationID, items)
	if err != nil {
		return web.Reply[[]metaResult]{}, err
	}
	done := 0
	for i, r := range results {
		if items[i].Err != nil {
			r.Err = items[i].Err // said before whether the listing is there
		}
		if out[i].Success = r.Err == nil; out[i].Success {
			done++
		} else {
			out[i].Error = itemError(r.Err)
		}
	}
	return web.OK(out, fmt.Sprintf("%d of %d listings updated successfully", done, len(out))), nil
}

func employerJobRoutes(s *listings.Service) []web.Route {
	const tag = "Employer job listings"
	return []web.Route{
		{Method: http.MethodGet, Path: "/api/employers/jobs", Auth: web.Required, Who: web.Employer, Tag: tag, Summary: "The organization's listings in every state, newest first", Op: web.Op(
			func(ctx context.Context, c web.Call, in ListJobsInput) (web.Reply[jobsView], error) {
				r, err := s.List(ctx, c.Actor.OrganizationID, listings.Status(in.Status), in.Request())
				if err != nil {
					return web.Reply[jobsView]{}, err
				}
				v := jobsView{Listings: make([]jobSummary, len(r.Items)), Pagination: paginate(r, in.Paging), Beyond: beyond(r)}
				for i, l := range r.Items {
					v.Listings[i] = viewJobSummary(l)
				}
				return web.OK(v, ""), nil
			})},
		{Method: http.MethodPost, Path: "/api/employers/jobs", Auth: web.Required, Who: web.Employer, Permission: auth.JobsCreate, Limit: web.PerQuarterHour(10), Status: 201, Tag: tag, Summary: "Post a listing", Op: web.Op(
			func(ctx context.Context, c web.Call, in listings.CreateInput) (web.Reply[jobID], error) {
				l, err := s.Create(ctx, c.Actor.OrganizationID, in)
				return web.OK(jobID{l.ID}, "Job listing created successfully"), err
			})},
		{Method: http.MethodPost, Path: "/api/employers/jobs/batch", Auth: web.Required, Who: web.Employer, Permission: auth.JobsCreate, Limit: web.PerQuarterHour(10), Tag: tag, Summary: "Post up to 100 listings, each on its own", Op: web.Op(
			func(ctx context.Context, c web.Call, in JobsBatchInput) (web.Reply[createdView], error) {
				if len(in.Jobs) > listings.MaxBatch {
					return web.Reply[createdView]{}, errTooManyJobs
				}
				items := make([]listings.BatchItem[listings.CreateInput], len(in.Jobs))
				for i, raw := range in.Jobs {
					items[i].Input, items[i].Err = web.Item[listings.CreateInput](raw)
				}
				results, err := s.CreateBatch(ctx, c.Actor.OrganizationID, items)
				if err != nil {
					return web.Reply[createdView]{}, err
				}
				v := createdView{Created: []jobTitle{}, Failed: []failedJob{}}
				for i, r := range results {
					if r.Err != nil {
						v.Failed = append(v.Failed, failedJob{Job: in.Jobs[i], Error: itemError(r.Err)})
					} else {
						v.Created = append(v.Created, jobTitle{ID: r.Listing.ID, Title: r.Listing.Title})
					}
				}
				return web.OK(v, fmt.Sprintf("%d jobs created, %d failed", len(v.Created), len(v.Failed))), nil
			})},
		{Method: http.MethodPut, Path: "/api/employers/jobs/batch", Auth: web.Required, Who: web.Employer, Permission: auth.JobsUpdate, Limit: web.PerQuarterHour(10), Tag: tag, Summary: "Change up to 100 listings, each on its own", Op: web.Op(
			func(ctx context.Context, c web.Call, in JobsBatchInput) (web.Reply[updatedView], error) {
				if len(in.Jobs) > listings.MaxBatch {
					return web.Reply[updatedView]{}, errTooManyJobs
				}
				items := make([]listings.BatchItem[listings.UpdateInput], len(in.Jobs))
				for i, raw := range in.Jobs {
					item, err := web.Item[JobUpdateItem](raw)
					items[i] = listings.BatchItem[listings.UpdateInput]{ID: item.ID, Input: item.UpdateInput, Err: err}
				}
				results, err := s.UpdateBatch(ctx, c.Actor.OrganizationID, items)
				if err != nil {
					return web.Reply[updatedView]{}, err
				}
				v := updatedView{Updated: []jobID{}, Failed: []failedJob{}}
				for i, r := range results {
					if items[i].Err != nil && items[i].ID == "" {
						r.Err = items[i].Err
					}
					if r.Err != nil {
						v.Failed = append(v.Failed, failedJob{Job: in.Jobs[i], Error: itemError(r.Err)})
					} else {
						v.Updated = append(v.Updated, jobID{r.Listing.ID})
					}
				}
				return web.OK(v, fmt.Sprintf("%d jobs updated, %d failed", len(v.Updated), len(v.Failed))), nil
			})},
		{Method: http.MethodGet, Path: "/api/employers/jobs/:id", Auth: web.Required, Who: web.Employer, Errors: []int{404}, Tag: tag, Summary: "One of the organization's listings", Op: web.Op(
			func(ctx context.Context, c web.Call, in ListingPath) (web.Reply[jobView], error) {
				l, err := s.Get(ctx, c.Actor.OrganizationID, in.ID)
				return web.OK(jobView{Job: viewJob(l)}, ""), err
			})},
		{Method: http.MethodPut, Path: "/api/employers/jobs/:id", Auth: web.Required, Who: web.Employer, Permission: auth.JobsUpdate, Limit: web.PerQuarterHour(10), Errors: []int{404}, Tag: tag, Summary: "Change a listing", Op: web.Op(
			func(ctx context.Context, c web.Call, in JobUpdateInput) (web.Reply[jobID], error) {
				l, err := s.Update(ctx, c.Actor.OrganizationID, in.ID, in.UpdateInput)
				return web.OK(jobID{l.ID}, "Job listing updated successfully"), err
			})},
		{Method: http.MethodDelete, Path: "/api/employers/jobs/:id", Auth: web.Required, Who: web.Employer, Permission: auth.JobsDelete, Limit: web.PerQuarterHour(10), Errors: []int{404}, Tag: tag, Summary: "Archive a listing so that it can be restored", Op: web.Op(
			func(ctx context.Context, c web.Call, in ListingPath) (web.Reply[jobID], error) {
				return web.OK(jobID{strings.ToLower(in.ID)}, "Job listing archived successfully"), s.Delete(ctx, c.Actor.OrganizationID, in.ID)
			})},
		{Method: http.MethodPost, Path: "/api/employers/jobs/:id/duplicate", Auth: web.Required, Who: web.Employer, Permission: auth.JobsCreate, Errors: []int{404}, Tag: tag, Summary: "Post a copy of a listing", Op: web.Op(
			func(ctx context.Context, c web.Call, in ListingPath) (web.Reply[jobTitle], error) {
				l, err := s.Duplicate(ctx, c.Actor.OrganizationID, in.ID)
				return web.OK(jobTitle{ID: l.ID, Title: l.Title}, "Job listing duplicated successfully"), err
			})},
		{Method: http.MethodPost, Path: "/api/employers/jobs/:id/renew", Auth: web.Required, Who: web.Employer, Permission: auth.JobsUpdate, Errors: []int{404}, Tag: tag, Summary: "Make a listing active for some days more", Op: web.Op(
			func(ctx context.Context, c web.Call, in RenewInput) (web.Reply[renewedView], error) {
				days := 30
				if in.DurationDays != nil {
					days = *in.DurationDays
				}
				l, err := s.Renew(ctx, c.Actor.OrganizationID, in.ID, days)
				return web.OK(renewedView{ID: l.ID, Status: l.Status, ApplicationDeadline: l.Deadline}, "Job listing renewed successfully"), err
			})},
	}
}

// The batches' own faults.
var (
	errNotAList        = fault.New(fault.Invalid, "batch_not_an_array", "Batch update requires an array of listings")
	errTooManyListings = fault.New(fault.Invalid, "batch_too_large", "Maximum 100 listings per batch request")
	errTooManyJobs     = fault.New(fault.Invalid, "batch_too_large", "Maximum 100 jobs per batch request")
)

// batchOf takes a body that is an array apart.
func batchOf(body []byte, notAList, tooMany error) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) || json.Unmarshal(body, &items) != nil {
		return nil, notAList
	}
	if len(items) > listings.MaxBatch {
		return nil, tooMany
	}
	return items, nil
}

// itemError is what is said of one item of a batch: "title is required".
func itemError(err error) string {
	f := fault.Of(err)
	if len(f.Fields) > 0 {
		return f.Fields[0].Name + " " + f.Fields[0].Message
	}
	return f.Message
}

// ListingPath names a listing.
type ListingPath struct {
	ID string `path:"id"`
}

// APIKey is the header that the employers' routes under /api/listings take
// beside the token.
type APIKey struct {
	Key string `header:"X-API-Key"`
}

// check refuses a key that is not valid, and one of somebody who does not belong
// to the caller's organization at this moment.
func (k APIKey) check(ctx context.Context, s adapters.Services, by auth.Actor) error {
	if k.Key == "" {
		return nil
	}
	c, err := s.Integrations.AuthenticateKey(ctx, k.Key)
	if err != nil {
		return err
	}
	owner, err := s.Identity.ActorFor(ctx, c.UserID)
	if err != nil {
		return err
	}
	if owner.OrganizationID != by.OrganizationID {
		return fault.ErrUnauthorized
	}
	return nil
}

// KeyedListingPath names a listing and may carry a key.
type KeyedListingPath struct {
	ListingPath
	APIKey
}

// MetaInput is a merge patch for a listing's meta.
type MetaInput struct {
	ListingPath
	APIKey
	Meta map[string]json.RawMessage `json:"meta" validate:"required" sample:"{\"listing\":{\"title\":\"RN\"}}"`
}

// MetaBatchInput is an array of MetaItem.
type MetaBatchInput struct {
	APIKey
	Body []byte `body:"raw" sample:"[{\"uuid\":\"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01\",\"meta\":{\"listing\":{\"title\":\"RN\"}}}]"`
}

// MetaItem is a merge patch for the meta of one listing.
type MetaItem struct {
	UUID string                     `json:"uuid" validate:"required"`
	Meta map[string]json.RawMessage `json:"meta" validate:"required" sample:"{\"listing\":{\"title\":\"RN\"}}"`
}

// JobsBatchInput are the listings of a batch. Each is read on its own, so that
// one that is wrong does not spoil the others.
type JobsBatchInput struct {
	Jobs []json.RawMessage `json:"jobs" validate:"required" sample:"[{\"id\":\"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01\",\"title\":\"Registered Nurse, ICU\",\"description\":\"Days and nights on a 12-bed unit.\"}]"`
}

// JobUpdateInput is a change of one listing.
type JobUpdateInput struct {
	ListingPath
	listings.UpdateInput
}

// JobUpdateItem is a change of one of several listings.
type JobUpdateItem struct {
	ID string `json:"id" validate:"required"`
	listings.UpdateInput
}

// ListJobsInput asks for a page of the organization's listings.
type ListJobsInput struct {
	web.Paging
	Status string `query:"status" validate:"omitempty,oneof=active inactive closed draft archived"`
}

// RenewInput asks for more days.
type RenewInput struct {
	ListingPath
	DurationDays *int `json:"durationDays" validate:"omitempty,min=1,max=365"`
}

// ListListingsInput is a search by query parameters.
type ListListingsInput struct {
	web.Paging
	Search         string   `query:"search" validate:"max=200"`
	Location       string   `query:"location" validate:"max=200"`
	Radius         *float64 `query:"radius" validate:"omitempty,gt=0,max=500"`
	ContractType   string   `query:"contractType" validate:"omitempty,oneof=permanent temporary contract"`
	EmploymentType string   `query:"employmentType" validate:"omitempty,oneof=full-time part-time bank per-diem flexible"`
	Specialty      string   `query:"specialty" validate:"max=200"`
	SalaryMin      *float64 `query:"salary_min" validate:"omitempty,min=0,max=1000000000"`
	SalaryMax      *float64 `query:"salary_max" validate:"omitempty,min=0,max=1000000000"`
	Remote         *bool    `query:"remote"`
	PostedAfter    string   `query:"postedAfter"`
	Sort           string   `query:"sort" validate:"omitempty,oneof=relevance date salary distance"`
}

// Problems are what tags cannot say.
func (in ListListingsInput) Problems() []fault.Field {
	return filterProblems("", "salary_max", in.SalaryMin, in.SalaryMax, in.PostedAfter)
}

func filterProblems(at, name string, low, high *float64, postedAfter string) []fault.Field {
	var out []fault.Field
	if low != nil && high != nil && *low > *high {
		out = append(out, fault.Field{Name: at + name, Message: "must not be less than the minimum"})
	}
	if postedAfter != "" {
		if _, err := listings.ParseMoment(postedAfter, false); err != nil {
			out = append(out, fault.Field{Name: at + "postedAfter", Message: err.Error()})
		}
	}
	return out
}

func (in ListListingsInput) find() listings.FindInput {
	return listings.FindInput{
		Text: in.Search, Sort: in.Sort, Page: in.Request(),
		Filters: listings.FilterInput{
			Location: in.Location, Radius: in.Radius, ContractType: in.ContractType, EmploymentType: in.EmploymentType,
			Specialty: in.Specialty, SalaryMin: in.SalaryMin, SalaryMax: in.SalaryMax, Remote: in.Remote, PostedAfter: in.PostedAfter,
		},
	}
}

// filterWords says what is wrong with filters in the list's words; what is
// wrong with the page alone is said as everywhere.
func filterWords(f *fault.Error) *fault.Error {
	if f.Kind != fault.Invalid || len(f.Fields) == 0 {
		return f
	}
	names := map[string]string{"query": "search", "salaryMin": "salary_min", "salaryMax": "salary_max"}
	fields := slices.Clone(f.Fields)
	paging := true
	for i := range fields {
		if name, other := names[fields[i].Name]; other {
			fields[i].Name = name
		}
		paging = paging && slices.Contains([]string{"page", "limit", "cursor"}, fields[i].Name)
	}
	if paging {
		return f
	}
	return listings.ErrFilters.WithFields(fields...)
}

// SearchListingsInput is a search by body.
type SearchListingsInput struct {
	Query   string        `json:"query" validate:"notblank,max=200"`
	Filters SearchFilters `json:"filters"`
	Sort    string        `json:"sort" validate:"omitempty,oneof=relevance date salary distance"`
	Page    *int          `json:"page" validate:"omitempty,min=1"`
	Limit   *int          `json:"limit" validate:"omitempty,min=1"`
	Cursor  string        `json:"cursor" validate:"max=512"`
}

// SearchFilters narrow a search. Pay is understood in both spellings.
type SearchFilters struct {
	Location       string   `json:"location" validate:"max=200"`
	Radius         *float64 `json:"radius" validate:"omitempty,gt=0,max=500"`
	ContractType   string   `json:"contractType" validate:"omitempty,oneof=permanent temporary contract"`
	EmploymentType string   `json:"employmentType" validate:"omitempty,oneof=full-time part-time bank per-diem flexible"`
	Specialty      string   `json:"specialty" validate:"max=200"`
	SalaryMin      *float64 `json:"salaryMin" validate:"omitempty,min=0,max=1000000000"`
	SalaryMax      *float64 `json:"salaryMax" validate:"omitempty,min=0,max=1000000000"`
	SalaryMinSnake *float64 `json:"salary_min" validate:"omitempty,min=0,max=1000000000"`
	SalaryMaxSnake *float64 `json:"salary_max" validate:"omitempty,min=0,max=1000000000"`
	Remote         *bool    `json:"remote"`
	PostedAfter    string   `json:"postedAfter"`
}

// Problems are what tags cannot say.
func (in SearchListingsInput) Problems() []fault.Field {
	f, name := in.Filters, "salaryMax"
	if f.SalaryMax == nil {
		name = "salary_max"
	}
	return filterProblems("filters.", name, cmp.Or(f.SalaryMin, f.SalaryMinSnake), cmp.Or(f.SalaryMax, f.SalaryMaxSnake), f.PostedAfter)
}

func (in SearchListingsInput) find() listings.FindInput {
	f := in.Filters
	p := page.Request{Number: 1, Size: 20, Cursor: in.Cursor}
	if in.Page != nil {
		p.Number = *in.Page
	}
	if in.Limit != nil {
		p.Size = min(*in.Limit, 100)
	}
	return listings.FindInput{
		Text: in.Query, Sort: in.Sort, Page: p,
		Filters: listings.FilterInput{
			Location: f.Location, Radius: f.Radius, ContractType: f.ContractType, EmploymentType: f.EmploymentType, Specialty: f.Specialty,
			SalaryMin: cmp.Or(f.SalaryMin, f.SalaryMinSnake), SalaryMax: cmp.Or(f.SalaryMax, f.SalaryMaxSnake), Remote: f.Remote, PostedAfter: f.PostedAfter,
		},
	}
}

// queryWords says whatever is wrong with a search in one sentence, and names
// filters by where they stand in the body.
func queryWords(f *fault.Error) *fault.Error {
	if f.Kind != fault.Invalid {
		return f
	}
	filters := []string{"location", "radius", "contractType", "employmentType", "specialty", "salaryMin", "salaryMax", "remote", "postedAfter"}
	fields := slices.Clone(f.Fields)
	for i := range fields {
		if slices.Contains(filters, fields[i].Name) {
			fields[i].Name = "filters." + fields[i].Name
		}
	}
	return listings.ErrQuery.WithFields(fields...)
}
