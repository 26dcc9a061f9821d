package portal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/listings"
)

// listingRoutes returns the routes of listings, the jobs of employers. The public routes need no account.
// The routes of employers are below /api/listings and /api/employers.
func listingRoutes(s adapters.Services) []web.Route {
	return slices.Concat(publicListingRoutes(s.Listings), ownedListingRoutes(s.Listings, s), employerJobRoutes(s.Listings))
}

// publicListingRoutes returns the routes that search and read listings without an account.
func publicListingRoutes(s *listings.Service) []web.Route {
	const tag = "Public job listings"

	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/listings",
			Auth:    web.Optional,
			Cached:  true,
			Search:  true,
			Tag:     tag,
			Summary: "Search the public listings",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ListListingsInput) (web.Reply[listingsView], error) {
					r, err := s.Find(ctx, c.Actor, in.find())
					v := listingsView{
						Listings:  web.Each(r.Items, viewFoundListing),
						Next:      Next{r.NextCursor},
						foundView: viewInterpretation(r),
					}
					v.Pagination.Page = in.Page
					v.Pagination.Limit = in.Limit
					v.Pagination.Total = r.Total

					return web.OK(v, ""), err
				}).MapFaults(mapFilterFault),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/listings/search",
			Auth:    web.Optional,
			Search:  true,
			Tag:     tag,
			Summary: "Search the public listings by words, with filters and a sort order",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in SearchListingsInput) (web.Reply[searchView], error) {
					find := in.find()
					if problems := web.ValidatePage(find.Page); problems != nil {
						return web.Reply[searchView]{}, fault.ErrInvalid.WithFields(problems...)
					}

					r, err := s.Find(ctx, c.Actor, find)

					return web.OK(
						searchView{
							Results:   web.Each(r.Items, viewSearchResult),
							Total:     r.Total,
							Next:      Next{r.NextCursor},
							foundView: viewInterpretation(r),
						},
						"",
					), err
				}).MapFaults(mapQueryFault),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/listings/suggest",
			Cached:  true,
			Search:  true,
			Tag:     tag,
			Summary: "Complete an unfinished search",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in listings.SuggestInput) (web.Reply[completionsView], error) {
					completions, err := s.Complete(ctx, c.Actor, in.Query)
					return web.OK(completionsView{completions}, ""), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/listings/:id",
			Auth:    web.Optional,
			Cached:  true,
			Errors:  []int{404},
			Tag:     tag,
			Summary: "Get a public listing, or a listing of the caller's organization in any state",
			Op:      getByID(s.GetVisible, viewDetail),
			OnRead:  func(c web.Call, path func(string) string) { s.AddVisit(c.Actor, c.IP, c.UserAgent, path("id")) },
		},
	}
}

// ownedListingRoutes returns the routes of employers below /api/listings. Their requests need the token of a user, and
// may also have the API key of an app. Employers can store metadata with a listing: JSON for their own programs.
//
// The routes that archive and restore a listing need the permission jobs.update, as they change its state. Only
// DELETE needs the permission jobs.delete.
func ownedListingRoutes(s *listings.Service, services adapters.Services) []web.Route {
	return routesFor(web.Employer, "Public job listings", []web.Route{
		{
			Method:     http.MethodPut,
			Path:       "/api/listings/batch",
			Permission: auth.JobsUpdate,
			Summary:    "Merge into the metadata of up to 100 listings (RFC 7396)",
			Op: keyedOp(services,
				func(ctx context.Context, actor auth.Actor, in MetaBatchInput) (web.Reply[[]metaResult], error) {
					return patchMetaBatch(ctx, s, actor, in.Body)
				}),
		},
		{
			Method:     http.MethodPatch,
			Path:       "/api/listings/:id",
			Permission: auth.JobsUpdate,
			Errors:     []int{404},
			Summary:    "Merge into a listing's metadata (RFC 7396)",
			Op: keyedOp(services,
				func(ctx context.Context, actor auth.Actor, in MetaInput) (web.Reply[metaView], error) {
					patch, err := json.Marshal(in.Meta)
					if err != nil {
						return web.Reply[metaView]{}, err
					}

					l, err := s.PatchMeta(ctx, actor, in.ID, patch)

					return web.OK(metaView{UUID: l.ID, Meta: metaOf(l)}, "Listing updated successfully"), err
				}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/listings/:id/restore",
			Permission: auth.JobsUpdate,
			Errors:     []int{404},
			Summary:    "Restore a deleted listing",
			Op: keyedOp(services,
				func(ctx context.Context, actor auth.Actor, in KeyedListingPath) (web.Done, error) {
					return web.Message("Listing restored successfully"), s.Restore(ctx, actor, in.ID)
				}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/listings/:id/archive",
			Permission: auth.JobsUpdate,
			Errors:     []int{404},
			Summary:    "Delete a listing; it can be restored",
			Op: keyedOp(services,
				func(ctx context.Context, actor auth.Actor, in KeyedListingPath) (web.Done, error) {
					return web.Message("Listing archived successfully"), s.Archive(ctx, actor, in.ID)
				}),
		},
	})
}

// patchMetaBatch merges into the metadata of several listings. body is an array of MetaItem. An item that fails does not
// stop the others: each has its own result, in the order of the request.
func patchMetaBatch(ctx context.Context, s *listings.Service, actor auth.Actor, body []byte) (web.Reply[[]metaResult], error) {
	var rawItems []json.RawMessage

	isArray := bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) // json.Unmarshal also accepts null
	if !isArray || json.Unmarshal(body, &rawItems) != nil {
		return web.Reply[[]metaResult]{}, errNotAList
	}

	if len(rawItems) > listings.MaxBatch {
		return web.Reply[[]metaResult]{}, errTooManyListings
	}

	// Decode the items. An item with an error stays in the list, so that the items keep their positions in
	// the request.
	items := make([]listings.BatchItem[[]byte], len(rawItems))

	views := make([]metaResult, len(rawItems))
	for i, rawItem := range rawItems {
		in, err := web.Item[MetaItem](rawItem)

		items[i].ID, items[i].Err = in.UUID, err
		if err == nil {
			items[i].Input, items[i].Err = json.Marshal(in.Meta)
		}

		views[i] = metaResult{UUID: in.UUID, Index: i}
	}

	results, err := s.PatchMetaBatch(ctx, actor, items)
	if err != nil {
		return web.Reply[[]metaResult]{}, err
	}

	updatedCount := 0
	for i, r := range results {
		if items[i].Err != nil {
			r.Err = items[i].Err // takes precedence over a missing listing
		}

		views[i].Success = r.Err == nil
		if views[i].Success {
			updatedCount++
		} else {
			views[i].Error = itemError(r.Err)
		}
	}

	return web.OK(views, fmt.Sprintf("%d of %d listings updated successfully", updatedCount, len(views))), nil
}

// employerJobRoutes returns the routes with which employers post and change their listings.
func employerJobRoutes(s *listings.Service) []web.Route {
	return routesFor(web.Employer, "Employer job listings", []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/jobs",
			Permission: auth.AnyPermission,
			Summary:    "List the organization's listings in every state, newest first",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ListJobsInput) (web.Reply[jobsView], error) {
					r, err := s.List(ctx, c.Actor, listings.Status(in.Status), in.Request())
					return web.OK(jobsView{web.Each(r.Items, viewJobSummary), paged(r, in.Paging)}, ""), err
				}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/jobs",
			Permission: auth.JobsCreate,
			Limit:      web.PerQuarterHour(10),
			Status:     201,
			Summary:    "Post a listing",
			Op:         answerWith(s.Create, viewJobID, "Job listing created successfully"),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/jobs/batch",
			Permission: auth.JobsCreate,
			Limit:      web.PerQuarterHour(10),
			Summary:    "Post up to 100 listings; each succeeds or fails on its own",
			Op: jobsBatch(func(raw json.RawMessage) (item listings.BatchItem[listings.CreateInput]) {
				item.Input, item.Err = web.Item[listings.CreateInput](raw)
				return item
			}, s.CreateBatch, func(done []listings.Listing, failed []failedJob) web.Reply[createdView] {
				return web.OK(
					createdView{web.Each(done, viewJobTitle), failed},
					fmt.Sprintf("%d jobs created, %d failed", len(done), len(failed)),
				)
			}),
		},
		{
			Method:     http.MethodPut,
			Path:       "/api/employers/jobs/batch",
			Permission: auth.JobsUpdate,
			Limit:      web.PerQuarterHour(10),
			Summary:    "Change up to 100 listings; each succeeds or fails on its own",
			Op: jobsBatch(func(raw json.RawMessage) listings.BatchItem[listings.UpdateInput] {
				item, err := web.Item[JobUpdateItem](raw)
				return listings.BatchItem[listings.UpdateInput]{ID: item.ID, Input: item.UpdateInput, Err: err}
			}, s.UpdateBatch, func(done []listings.Listing, failed []failedJob) web.Reply[updatedView] {
				return web.OK(
					updatedView{web.Each(done, viewJobID), failed},
					fmt.Sprintf("%d jobs updated, %d failed", len(done), len(failed)),
				)
			}),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/jobs/:id",
			Permission: auth.AnyPermission,
			Errors:     []int{404},
			Summary:    "Get one of the organization's listings",
			Op:         getByID(s.Get, viewJob),
		},
		{
			Method:     http.MethodPut,
			Path:       "/api/employers/jobs/:id",
			Permission: auth.JobsUpdate,
			Limit:      web.PerQuarterHour(10),
			Errors:     []int{404},
			Summary:    "Change a listing",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in JobUpdateInput) (web.Reply[jobID], error) {
					l, err := s.Update(ctx, c.Actor, in.ID, in.UpdateInput)
					return web.OK(jobID{l.ID}, "Job listing updated successfully"), err
				}),
		},
		{
			Method:     http.MethodDelete,
			Path:       "/api/employers/jobs/:id",
			Permission: auth.JobsDelete,
			Limit:      web.PerQuarterHour(10),
			Errors:     []int{404},
			Summary:    "Archive a listing so that it can be restored",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in IDPath) (web.Reply[jobID], error) {
					return web.OK(jobID{strings.ToLower(in.ID)}, "Job listing archived successfully"), s.Delete(ctx, c.Actor, in.ID)
				}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/jobs/:id/duplicate",
			Permission: auth.JobsCreate,
			Errors:     []int{404},
			Summary:    "Post a copy of a listing",
			Op:         answerWith(byID(s.Duplicate), viewJobTitle, "Job listing duplicated successfully"),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/jobs/:id/renew",
			Permission: auth.JobsUpdate,
			Errors:     []int{404},
			Summary:    "Extend a listing's active period by some days",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in RenewInput) (web.Reply[renewedView], error) {
					days := defaultRenewalDays
					if in.DurationDays != nil {
						days = *in.DurationDays
					}

					l, err := s.Renew(ctx, c.Actor, in.ID, days)

					return web.OK(
						renewedView{ID: l.ID, Status: l.Status, ApplicationDeadline: l.Deadline},
						"Job listing renewed successfully",
					), err
				}),
		},
	})
}

// defaultRenewalDays is the number of days by which a listing is renewed if the request has none.
const defaultRenewalDays = 30

// jobsBatch returns the operation that creates or changes several listings. It decodes each item of the request by
// decode, and passes them to do. An item that fails does not fail the others. view returns the response for the listings
// of the items that succeeded, and for the items that failed.
func jobsBatch[I, V any](
	decode func(raw json.RawMessage) listings.BatchItem[I],
	do func(ctx context.Context, actor auth.Actor, items []listings.BatchItem[I]) ([]listings.BatchResult, error),
	view func(done []listings.Listing, failed []failedJob) web.Reply[V],
) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in JobsBatchInput) (out web.Reply[V], err error) {
		if len(in.Jobs) > listings.MaxBatch {
			return out, errTooManyJobs
		}

		items := web.Each(in.Jobs, decode)

		results, err := do(ctx, c.Actor, items)
		if err != nil {
			return out, err
		}

		var done []listings.Listing

		failed := []failedJob{}
		for i, r := range results {
			// For an item without an id, the module only reports that there is no such listing. The error of the
			// decoding says what is wrong.
			hasNoID := items[i].ID == ""
			if hasNoID && items[i].Err != nil {
				r.Err = items[i].Err
			}

			if r.Err != nil {
				failed = append(failed, failedJob{Job: in.Jobs[i], Error: itemError(r.Err)})
			} else {
				done = append(done, r.Listing)
			}
		}

		return view(done, failed), nil
	})
}

// The faults of batches.
var (
	errNotAList        = fault.New(fault.Invalid, "batch_not_an_array", "Batch update requires an array of listings")
	errTooManyListings = fault.New(fault.Invalid, "batch_too_large", "Maximum 100 listings per batch request")
	errTooManyJobs     = fault.New(fault.Invalid, "batch_too_large", "Maximum 100 jobs per batch request")
)

// itemError returns the message for an item of a batch, such as "title is required".
func itemError(err error) string {
	f := fault.Of(err)
	if len(f.Fields) > 0 {
		return f.Fields[0].Name + " " + f.Fields[0].Message
	}

	return f.Message
}
