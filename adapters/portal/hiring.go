package portal

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

func hiringRoutes(s *hiring.Service) []web.Route {
	return slices.Concat(routesFor(web.Seeker, "Jobseeker applications", []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/applications",
			Summary: "List the caller's applications, newest first",
			Op: list(s.Mine, func(r page.Result[hiring.View], p web.Paging) ownApplicationsView {
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
			Op: web.Op(
				func(ctx context.Context, c web.Call, in hiring.ApplyInput) (web.Reply[appliedView], error) {
					a, err := s.Apply(ctx, c.Actor, in)
					return web.OK(
						appliedView{ID: a.ID, ListingID: a.ListingID, Status: a.Status, AppliedAt: a.AppliedAt},
						"Application submitted successfully",
					), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/applications/:id",
			Errors:  []int{404},
			Summary: "Get one of the caller's applications with its timeline",
			Op:      getByID(s.MyApplication, viewOwn),
		},
		{
			Method:  http.MethodPut,
			Path:    "/api/jobseekers/applications/:id",
			Errors:  []int{404},
			Summary: "Set the caller's own status of an application, which the employer does not see",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in TrackInput) (web.Reply[trackedView], error) {
					a, err := s.Track(ctx, c.Actor, in.ID, in.TrackInput)
					var v trackedView
					v.Application.ID, v.Application.Status, v.Application.StatusColor = a.ID, shownStatus(a.Shown()), a.TrackerColor
					return web.OK(v, "Application updated successfully"), err
				}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/jobseekers/applications/:id",
			Errors:  []int{404},
			Summary: "Withdraw an application permanently",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in IDPath) (web.Reply[applicationID], error) {
					return web.OK(applicationID(in), "Application withdrawn successfully"), s.Withdraw(ctx, c.Actor, in.ID)
				}),
		},
	}), routesFor(web.Employer, "Employer applications", []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications",
			Permission: auth.ApplicationsView,
			Summary:    "List the applications to the organization's listings, newest first",
			Op: list(s.Received, func(r page.Result[hiring.View], p web.Paging) receivedView {
				return receivedView{Applications: web.Each(r.Items, viewReceivedRow), Paged: paged(r, p)}
			}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/applications/batch",
			Permission: auth.ApplicationsUpdate,
			Summary:    "Set the status of up to 100 applications; each succeeds or fails on its own",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in DecisionsInput) (web.Reply[decisionsView], error) {
					if len(in.Applications) > hiring.MaxBatch {
						return web.Reply[decisionsView]{}, hiring.ErrBatchTooLarge
					}
					decisions := make([]hiring.Decision, len(in.Applications))
					for i, raw := range in.Applications {
						var err error
						decisions[i], err = web.Item[hiring.Decision](raw)
						decisions[i].Err = err
					}
					updated, failed, err := s.DecideBatch(ctx, c.Actor, decisions)
					v := decisionsView{Updated: append([]hiring.Decision{}, updated...), Failed: make([]failedDecision, len(failed))}
					for i, f := range failed {
						v.Failed[i] = viewRefusal(f, in.Applications[f.At])
					}
					return web.OK(v, fmt.Sprintf("%d applications updated, %d failed", len(updated), len(failed))), err
				}),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/:id",
			Permission: auth.ApplicationsView,
			Errors:     []int{404},
			Summary:    "Get an application with its timeline",
			Op:         getByID(s.ReceivedApplication, viewReceived),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/:id/documents",
			Permission: auth.ApplicationsView,
			Errors:     []int{404},
			Summary:    "List the documents of an application",
			Op: getByID(s.ReceivedDocuments, func(ds []hiring.Document) sentDocumentsView {
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
			Op: web.Op(
				func(ctx context.Context, c web.Call, in SentDocumentPath) (web.File, error) {
					d, body, err := s.OpenReceivedDocument(ctx, c.Actor, in.ID, in.DocumentID)
					return web.File{Name: d.FileName, MediaType: d.MediaType, Size: d.Size, Body: body}, err
				}),
		},
		{
			Method:     http.MethodPut,
			Path:       "/api/employers/applications/:id",
			Permission: auth.ApplicationsUpdate,
			Limit:      web.PerQuarterHour(10),
			Errors:     []int{404},
			Summary:    "Set the status of an application",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in DecideInput) (web.Reply[hiring.Decision], error) {
					d := hiring.Decision{ID: in.ID, Status: in.Status}
					return web.OK(d, "Application status updated successfully"), s.Decide(ctx, c.Actor, d)
				}).MapFaults(mapStatusFault),
		},
		{
			Method:     http.MethodDelete,
			Path:       "/api/employers/applications/:id",
			Permission: auth.ApplicationsUpdate,
			Limit:      web.PerQuarterHour(10),
			Errors:     []int{404},
			Summary:    "Withdraw an application",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in IDPath) (web.Reply[applicationID], error) {
					return web.OK(applicationID(in), "Application withdrawn successfully"), s.Dismiss(ctx, c.Actor, in.ID)
				}),
		},
	}))
}

// hasDocuments reports whether the body of an application names documents, whose files are
// copied.
func hasDocuments(body []byte) bool {
	var in struct {
		DocumentIDs []json.RawMessage `json:"documentIds"`
	}
	return json.Unmarshal(body, &in) == nil && len(in.DocumentIDs) > 0
}

// SentDocumentPath names a document of an application.
type SentDocumentPath struct {
	IDPath
	DocumentID string `path:"documentId"`
}

// sentDocumentView is a document that was sent with an application.
type sentDocumentView struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	FileName string `json:"fileName"`
	// MediaType is that detected from the content. Size is that of the file in bytes.
	MediaType  string    `json:"mediaType"`
	Size       int64     `json:"size"`
	AttachedAt time.Time `json:"attachedAt"`
}

func viewSentDocuments(ds []hiring.Document) []sentDocumentView {
	return web.Each(ds, func(d hiring.Document) sentDocumentView {
		return sentDocumentView{
			ID:         d.ID,
			Type:       d.Type,
			Title:      d.Title,
			FileName:   d.FileName,
			MediaType:  d.MediaType,
			Size:       d.Size,
			AttachedAt: d.AttachedAt,
		}
	})
}

type sentDocumentsView struct {
	Documents []sentDocumentView `json:"documents"`
}

// TrackInput is the applicant's own status of an application.
type TrackInput struct {
	IDPath
	hiring.TrackInput
}

// DecideInput sets a status. It has no rules, because the module has its own errors for a
// missing and an unknown status.
type DecideInput struct {
	IDPath
	Status string `json:"status" sample:"review"`
}

// mapStatusFault returns the fault of an unknown status for one that is not a string.
func mapStatusFault(f *fault.Error) *fault.Error {
	if f.Code == fault.ErrInvalid.Code && len(f.Fields) > 0 && f.Fields[0].Name == "status" {
		return hiring.ErrInvalidStatus
	}
	return f
}

// DecisionsInput sets the statuses of several applications. The module rejects too many.
type DecisionsInput struct {
	Applications []json.RawMessage `json:"applications" validate:"required" sample:"[{\"id\":\"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01\",\"status\":\"review\"}]"`
}

type applicationID struct {
	ID string `json:"id"`
}

// shownStatus is the status that an applicant sees: the newer of the employer's status
// and their own.
type shownStatus string

type ownApplicationRow struct {
	ID          string      `json:"id"`
	ListingID   string      `json:"listingId"`
	JobTitle    string      `json:"jobTitle"`
	Status      shownStatus `json:"status"`
	StatusColor string      `json:"statusColor,omitempty"`
	AppliedAt   time.Time   `json:"appliedAt"`
}

func viewOwnRow(a hiring.View) ownApplicationRow {
	return ownApplicationRow{
		ID:          a.ID,
		ListingID:   a.ListingID,
		JobTitle:    a.JobTitle,
		Status:      shownStatus(a.Shown()),
		StatusColor: a.TrackerColor,
		AppliedAt:   a.AppliedAt,
	}
}

type ownApplicationsView struct {
	Applications []ownApplicationRow `json:"applications"`
	SeekerPaged
}

type appliedView struct {
	ID        string        `json:"id"`
	ListingID string        `json:"listingId"`
	Status    hiring.Status `json:"status"`
	AppliedAt time.Time     `json:"appliedAt"`
}

type trackedView struct {
	Application struct {
		ID          string      `json:"id"`
		Status      shownStatus `json:"status"`
		StatusColor string      `json:"statusColor,omitempty"`
	} `json:"application"`
}

type changeView struct {
	Actor   hiring.ActorKind `json:"actor"`
	ActorID string           `json:"actorId"`
	// From is null for the first entry, the submission.
	From *hiring.Status `json:"from"`
	To   hiring.Status  `json:"to"`
	At   time.Time      `json:"at"`
}

func viewTimeline(changes []hiring.Change) []changeView {
	return web.Each(changes, func(c hiring.Change) changeView {
		return changeView{Actor: c.Actor, ActorID: c.ActorID, From: optional(c.From), To: c.To, At: c.At}
	})
}

type ownApplicationView struct {
	Application struct {
		ownApplicationRow
		JobID       string          `json:"jobId"`
		CoverLetter string          `json:"coverLetter"`
		Answers     []hiring.Answer `json:"answers"`
		Timeline    []changeView    `json:"timeline"`
		// Documents are copies of those that were sent.
		Documents []sentDocumentView `json:"documents"`
	} `json:"application"`
}

func viewOwn(d hiring.Detail) (v ownApplicationView) {
	a := &v.Application
	a.ownApplicationRow, a.JobID, a.CoverLetter = viewOwnRow(d.View), d.ListingID, d.CoverLetter
	a.Answers, a.Timeline, a.Documents = append([]hiring.Answer{}, d.Answers...), viewTimeline(d.Timeline), viewSentDocuments(d.Documents)
	return v
}

type receivedRow struct {
	ID             string        `json:"id"`
	JobID          string        `json:"jobId"`
	JobTitle       string        `json:"jobTitle"`
	ApplicantName  string        `json:"applicantName"`
	ApplicantEmail string        `json:"applicantEmail"`
	Status         hiring.Status `json:"status"`
	AppliedAt      time.Time     `json:"appliedAt"`
	// Interview is null if none was scheduled.
	Interview *interviewView `json:"interview"`
}

func viewReceivedRow(a hiring.View) receivedRow {
	return receivedRow{
		ID:             a.ID,
		JobID:          a.ListingID,
		JobTitle:       a.JobTitle,
		ApplicantName:  a.Applicant.Name,
		ApplicantEmail: a.Applicant.Email,
		Status:         a.Status,
		AppliedAt:      a.AppliedAt,
		Interview:      viewAppointment(a.Interview),
	}
}

type receivedView struct {
	Applications []receivedRow `json:"applications"`
	Paged
}

type receivedApplicationView struct {
	Application struct {
		receivedRow
		CoverLetter string `json:"coverLetter"`
		// ResumeURL is the address of the CV that the applicant entered, or empty. Its
		// content is not checked.
		ResumeURL string          `json:"resumeUrl" sample:"https://www.example.org/cv.pdf"`
		Answers   []hiring.Answer `json:"answers"`
		Timeline  []changeView    `json:"timeline"`
		// Documents are downloaded with their own operation.
		Documents []sentDocumentView `json:"documents"`
		// ApplicantProfile is null if the applicant does not show it.
		ApplicantProfile *hiring.Introduction `json:"applicantProfile"`
	} `json:"application"`
}

func viewReceived(d hiring.Detail) (v receivedApplicationView) {
	a := &v.Application
	a.receivedRow, a.CoverLetter, a.ResumeURL = viewReceivedRow(d.View), d.CoverLetter, d.ResumeURL
	a.Answers, a.Timeline = append([]hiring.Answer{}, d.Answers...), viewTimeline(d.Timeline)
	a.Documents, a.ApplicantProfile = viewSentDocuments(d.Documents), d.Introduction
	return v
}

type decisionsView struct {
	Updated []hiring.Decision `json:"updated"`
	Failed  []failedDecision  `json:"failed"`
}

type failedDecision struct {
	// AppUpdate is the item of the request, or the main fields of a long one.
	AppUpdate any    `json:"appUpdate"`
	Error     string `json:"error"`
}

// maxEchoBytes is the maximum size of a rejected item that the response repeats. Responses may
// be stored for a day (Idempotency-Key), so they must stay small.
const maxEchoBytes = 1_000

func viewRefusal(f hiring.Refusal, sent json.RawMessage) failedDecision {
	if len(sent) > maxEchoBytes {
		return failedDecision{AppUpdate: f.Decision, Error: f.Error}
	}
	return failedDecision{AppUpdate: sent, Error: f.Error}
}

func analyticsRoutes(s *hiring.Service) []web.Route {
	return routesFor(web.Employer, "Employer analytics", []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/analytics",
			Permission: auth.ApplicationsView,
			Summary:    "Count the organization's listings and applications",
			Op:         getOwn(s.Analytics, viewEmployerAnalytics),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/jobs/:id/analytics",
			Permission: auth.ApplicationsView,
			Errors:     []int{404},
			Summary:    "Get the number of views and applications of a listing",
			Op: getByID(s.JobAnalytics, func(a hiring.JobAnalytics) jobAnalyticsView {
				return jobAnalyticsView{
					JobID:          a.JobID,
					Title:          a.Title,
					Views:          a.Views,
					Applications:   viewCounts(a.Applications),
					ConversionRate: a.ConversionRate(),
				}
			}),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/stats",
			Permission: auth.ApplicationsView,
			Summary:    "Count the applications by status",
			Op: answerWith(s.Stats, func(c hiring.Counts) statsView {
				return statsView{Total: c.Total(), ByStatus: viewStatuses(c)}
			}, ""),
		},
	})
}

// statusCounts counts applications by status.
type statusCounts struct {
	Pending   int `json:"pending"`
	Review    int `json:"review"`
	Interview int `json:"interview"`
	Accepted  int `json:"accepted"`
	Rejected  int `json:"rejected"`
	Withdrawn int `json:"withdrawn"`
}

func viewStatuses(c hiring.Counts) statusCounts {
	return statusCounts{
		Pending:   c[hiring.Pending],
		Review:    c[hiring.Review],
		Interview: c[hiring.Interview],
		Accepted:  c[hiring.Accepted],
		Rejected:  c[hiring.Rejected],
		Withdrawn: c[hiring.Withdrawn],
	}
}

type totalCounts struct {
	// Total is the sum of all statuses.
	Total int `json:"total"`
	statusCounts
}

func viewCounts(c hiring.Counts) totalCounts {
	return totalCounts{Total: c.Total(), statusCounts: viewStatuses(c)}
}

type statsView struct {
	Total    int          `json:"total"`
	ByStatus statusCounts `json:"byStatus"`
}

type jobAnalyticsView struct {
	JobID string `json:"jobId"`
	Title string `json:"title"`
	// Views counts each visitor once a day, without the organization's own.
	Views        int         `json:"views"`
	Applications totalCounts `json:"applications"`
	// ConversionRate is applications / views × 100, rounded to two decimals; 0
	// without views.
	ConversionRate float64 `json:"conversionRate"`
}

type employerAnalyticsView struct {
	Jobs struct {
		// Total is the sum of all statuses.
		Total    int `json:"total"`
		Active   int `json:"active"`
		Draft    int `json:"draft"`
		Inactive int `json:"inactive"`
		Closed   int `json:"closed"`
		Archived int `json:"archived"`
	} `json:"jobs"`
	Applications totalCounts `json:"applications"`
}

func viewEmployerAnalytics(a hiring.Analytics) (v employerAnalyticsView) {
	for _, n := range a.Jobs {
		v.Jobs.Total += n
	}
	of := func(s listings.Status) int { return a.Jobs[string(s)] }
	v.Jobs.Active, v.Jobs.Draft, v.Jobs.Inactive, v.Jobs.Closed, v.Jobs.Archived = of(listings.Active), of(listings.Draft), of(listings.Inactive), of(
		listings.Closed,
	), of(listings.Archived)
	v.Applications = viewCounts(a.Applications)
	return v
}
