package portal

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/jobseeker"
)

// hiringRoutes returns the routes of applications, for jobseekers and for employers. An application has two statuses:
// one that the employer sets, and one that applicants set for their own overview.
func hiringRoutes(s *hiring.Service) []web.Route {
	h := hiringHandlers{s}
	return slices.Concat(ownApplicationRoutes(h), receivedRoutes(h))
}

// hiringHandlers handles the requests of hiringRoutes.
type hiringHandlers struct{ *hiring.Service }

// ownApplicationRoutes returns the routes of jobseekers for their applications.
func ownApplicationRoutes(h hiringHandlers) []web.Route {
	return routesFor(web.Seeker, "Jobseeker applications", []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/applications",
			Summary: "List the caller's applications, newest first",
			Op: list(h.MyApplications, func(r page.Result[hiring.View], p web.Paging) ownApplicationsView {
				return ownApplicationsView{Applications: web.Each(r.Items, viewOwnRow), SeekerPaged: seekerPaged(r, p)}
			}),
		},
		{
			Method:   http.MethodPost,
			Path:     "/api/jobseekers/applications",
			Limit:    web.PerQuarterHour(10),
			Status:   201,
			RemoteIf: hasDocuments,
			Errors:   []int{404},
			Summary:  "Apply to a listing; copies of up to 5 of the caller's documents are attached",
			Op:       web.Op(h.apply),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/applications/:id",
			Errors:  []int{404},
			Summary: "Get one of the caller's applications with its timeline",
			Op:      getByID(h.MyApplication, viewOwn),
		},
		{
			Method:  http.MethodPut,
			Path:    "/api/jobseekers/applications/:id",
			Errors:  []int{404},
			Summary: "Set the caller's own status of an application, which the employer does not see",
			Op:      web.Op(h.track),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/jobseekers/applications/:id",
			Errors:  []int{404},
			Summary: "Withdraw an application permanently",
			Op:      web.Op(h.withdraw),
		},
	})
}

// receivedRoutes returns the routes of employers for the applications to their listings.
func receivedRoutes(h hiringHandlers) []web.Route {
	return routesFor(web.Employer, "Employer applications", []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications",
			Permission: auth.ApplicationsView,
			Summary:    "List the applications to the organization's listings, newest first",
			Op: list(h.ReceivedApplications, func(r page.Result[hiring.View], p web.Paging) receivedView {
				return receivedView{Applications: web.Each(r.Items, viewReceivedRow), Paged: paged(r, p)}
			}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/applications/batch",
			Permission: auth.ApplicationsUpdate,
			Summary:    "Set the status of up to 100 applications; each succeeds or fails on its own",
			Op:         web.Op(h.decideBatch),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/:id",
			Permission: auth.ApplicationsView,
			Errors:     []int{404},
			Summary:    "Get an application with its timeline",
			Op:         getByID(h.ReceivedApplication, viewReceived),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/:id/documents",
			Permission: auth.ApplicationsView,
			Errors:     []int{404},
			Summary:    "List the documents of an application",
			Op: getByID(h.ReceivedDocuments, func(ds []hiring.Document) sentDocumentsView {
				return sentDocumentsView{Documents: viewSentDocuments(ds)}
			}),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/:id/documents/:documentId",
			Permission: auth.ApplicationsView,
			Errors:     []int{404},
			Produces:   jobseeker.MediaTypes(),
			Summary:    "Download a document of an application",
			Op:         web.Op(h.openDocument),
		},
		{
			Method:     http.MethodPut,
			Path:       "/api/employers/applications/:id",
			Permission: auth.ApplicationsUpdate,
			Limit:      web.PerQuarterHour(10),
			Errors:     []int{404},
			Summary:    "Set the status of an application",
			Op:         web.Op(h.decide).MapFaults(mapStatusFault),
		},
		{
			Method:     http.MethodDelete,
			Path:       "/api/employers/applications/:id",
			Permission: auth.ApplicationsUpdate,
			Limit:      web.PerQuarterHour(10),
			Errors:     []int{404},
			Summary:    "Withdraw an application",
			Op:         web.Op(h.dismiss),
		},
	})
}

// apply sends an application for a job.
func (h hiringHandlers) apply(ctx context.Context, c web.Call, in hiring.ApplyInput) (web.Reply[appliedView], error) {
	a, err := h.Apply(ctx, c.Actor, in)
	v := appliedView{ID: a.ID, ListingID: a.ListingID, Status: a.Status, AppliedAt: a.AppliedAt}
	return web.OK(v, "Application submitted successfully"), err
}

// track sets the applicant's own status of an application. The applicant then sees it in place of the employer's status,
// until the employer sets another one.
func (h hiringHandlers) track(ctx context.Context, c web.Call, in TrackInput) (web.Reply[trackedView], error) {
	a, err := h.Track(ctx, c.Actor, in.ID, in.TrackInput)

	var v trackedView
	v.Application.ID = a.ID
	v.Application.Status = shownStatus(a.ApplicantStatus())
	v.Application.StatusColor = a.TrackerColor

	return web.OK(v, "Application updated successfully"), err
}

// withdraw withdraws an application for its applicant.
func (h hiringHandlers) withdraw(ctx context.Context, c web.Call, in IDPath) (web.Reply[applicationID], error) {
	return web.OK(applicationID(in), "Application withdrawn successfully"), h.Withdraw(ctx, c.Actor, in.ID)
}

// decideBatch sets the statuses of several applications for their employer. An item that fails does not fail the others.
func (h hiringHandlers) decideBatch(ctx context.Context, c web.Call, in DecisionsInput) (web.Reply[decisionsView], error) {
	if len(in.Applications) > hiring.MaxBatch {
		return web.Reply[decisionsView]{}, hiring.ErrBatchTooLarge
	}

	// An item that cannot be decoded keeps its error, which DecideBatch reports with the other failed ones.
	decisions := make([]hiring.Decision, len(in.Applications))
	for i, raw := range in.Applications {
		var err error
		decisions[i], err = web.Item[hiring.Decision](raw)
		decisions[i].Err = err
	}

	updated, failed, err := h.DecideBatch(ctx, c.Actor, decisions)
	v := decisionsView{
		Updated: append([]hiring.Decision{}, updated...),
		Failed: web.Each(failed, func(f hiring.Refusal) failedDecision {
			failedItem := in.Applications[f.At]
			return viewRefusal(f, failedItem)
		}),
	}

	return web.OK(v, fmt.Sprintf("%d applications updated, %d failed", len(updated), len(failed))), err
}

// openDocument sends the file of a document of an application.
func (h hiringHandlers) openDocument(ctx context.Context, c web.Call, in SentDocumentPath) (web.File, error) {
	d, body, err := h.OpenReceivedDocument(ctx, c.Actor, in.ID, in.DocumentID)
	return web.File{Name: d.FileName, MediaType: d.MediaType, Size: d.Size, Body: body}, err
}

// decide sets the status of an application for its employer.
func (h hiringHandlers) decide(ctx context.Context, c web.Call, in DecideInput) (web.Reply[hiring.Decision], error) {
	d := hiring.Decision{ID: in.ID, Status: in.Status}
	return web.OK(d, "Application status updated successfully"), h.Decide(ctx, c.Actor, d)
}

// dismiss marks an application as withdrawn on behalf of the employer.
func (h hiringHandlers) dismiss(ctx context.Context, c web.Call, in IDPath) (web.Reply[applicationID], error) {
	return web.OK(applicationID(in), "Application withdrawn successfully"), h.Dismiss(ctx, c.Actor, in.ID)
}

// hasDocuments reports whether the body of an application names documents. The operation then copies their files in the
// file store, which is another system, so that it is Remote (see web.Route).
func hasDocuments(body []byte) bool {
	var in struct {
		DocumentIDs []json.RawMessage `json:"documentIds"`
	}

	return json.Unmarshal(body, &in) == nil && len(in.DocumentIDs) > 0
}

// SentDocumentPath is the input of an operation on a document that was sent with an application.
type SentDocumentPath struct {
	IDPath
	DocumentID string `path:"documentId"`
}

// TrackInput is the applicant's own status of an application.
type TrackInput struct {
	IDPath
	hiring.TrackInput
}

// DecideInput is the input of the operation that sets the status of an application. Its status has no rules, because the
// module has its own errors for a missing and an unknown status.
type DecideInput struct {
	IDPath
	Status string `json:"status" sample:"review"`
}

// mapStatusFault returns hiring.ErrInvalidStatus for a status that is not a string, as the module does for a string
// that is not a status.
func mapStatusFault(f *fault.Error) *fault.Error {
	if f.Code == fault.ErrInvalid.Code && len(f.Fields) > 0 && f.Fields[0].Name == "status" {
		return hiring.ErrInvalidStatus
	}

	return f
}

// DecisionsInput is the input of the operation that sets the statuses of several applications. Each item is a
// hiring.Decision, and is decoded on its own.
type DecisionsInput struct {
	Applications []json.RawMessage `json:"applications" validate:"required" sample:"[{\"id\":\"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01\",\"status\":\"review\"}]"`
}

type applicationID struct {
	ID string `json:"id"`
}
