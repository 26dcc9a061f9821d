package developer

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// applicationRoutes returns the routes for applications, all in the name of a user.
func applicationRoutes(s adapters.Services, publicURL string) []web.Route {
	const tag = "Applications"

	return []web.Route{
		{
			Method:       http.MethodPost,
			Path:         "/api/v1/applications",
			Scope:        integrations.ApplicationsWrite,
			Status:       201,
			SetsLocation: true,
			Errors:       []int{404, 409},
			Tag:          tag,
			Summary:      "Apply for a job in the name of the user",
			Op: userOp(s,
				func(ctx context.Context, c web.Call, actor auth.Actor, in NewApplication) (One[Application], error) {
					// Without candidate_id, the application is for the user.
					if in.CandidateID != "" {
						candidateID, isID := id.Canonical(in.CandidateID)
						if !isID || candidateID != c.Caller.UserID {
							return One[Application]{}, errAnotherCandidate
						}
					}

					a, err := s.Hiring.Apply(ctx, actor, hiring.ApplyInput{
						ListingID:   in.JobID,
						CoverLetter: in.CoverLetter,
						ResumeURL:   in.ResumeURL,
						Answers:     in.Answers,
					})

					return One[Application]{viewApplication(a)}, err
				}).MapFaults(mapApplyFault),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/v1/applications",
			Scope:   integrations.ApplicationsRead,
			Tag:     tag,
			Summary: "List the applications that the user may see, newest first: those to the user's organization, or the user's own",
			Op: userOp(s,
				func(ctx context.Context, c web.Call, actor auth.Actor, in ApplicationsInput) (List[Application], error) {
					r, err := s.Hiring.ListVisible(ctx, actor, in.filter(), in.Request())
					return newList(web.Each(r.Items, viewApplication), r, in.Paging, publicURL, c.URL), err
				}).MapFaults(renameFields(nil)), // the fields have the same names, but a page may be too deep
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/v1/applications/:id",
			Scope:   integrations.ApplicationsRead,
			Tag:     tag,
			Summary: "Get an application that the user may see",
			Op: userOp(s,
				func(ctx context.Context, _ web.Call, actor auth.Actor, in ApplicationPath) (One[Application], error) {
					a, err := s.Hiring.GetVisible(ctx, actor, in.ID)
					return One[Application]{viewApplication(a)}, err
				}),
		},
	}
}

// userOp returns an operation that calls fn with the user for whom the program acts. The actor has those
// permissions of the user that the access token allows.
func userOp[I, O any](s adapters.Services, fn func(ctx context.Context, c web.Call, actor auth.Actor, in I) (O, error)) web.Operation {
	return web.Op(func(ctx context.Context, c web.Call, in I) (out O, err error) {
		actor, err := s.Identity.ActorFor(ctx, c.Caller.UserID)
		if err != nil {
			return out, err
		}

		return fn(ctx, c, c.Caller.Limit(actor), in)
	})
}

// errAnotherCandidate is the error of an application for another user than the one who has
// authorized it.
var errAnotherCandidate = fault.New(fault.Forbidden, "forbidden", "candidate_id must be the user who authorized the application")

// mapApplyFault translates a fault of hiring.Service.Apply into the codes and field names of this API.
func mapApplyFault(f *fault.Error) *fault.Error {
	if f.Code == hiring.ErrListingNotFound.Code {
		return errJobNotFound
	}

	return renameFields(map[string]string{"listingId": "job_id", "coverLetter": "cover_letter", "resumeUrl": "resume_url"})(f)
}

// ApplicationPath is the input of an operation on one application.
type ApplicationPath struct {
	ID string `path:"id"`
}

// NewApplication is the input of an application for a job. CandidateID may be empty, or must be the
// id of the user for whom the program acts.
type NewApplication struct {
	JobID       string          `json:"job_id" validate:"required"`
	CandidateID string          `json:"candidate_id"`
	CoverLetter string          `json:"cover_letter" validate:"max=20000" sample:"Six years of critical care."`
	ResumeURL   string          `json:"resume_url" validate:"max=2048" sample:"https://www.example.org/cv.pdf"`
	Answers     []hiring.Answer `json:"answers" validate:"max=100"`
}

// Problems returns the violations of rules that tags cannot express: an invalid address of the CV. The module
// checks the address again. It is checked here so that one response reports it together with the other invalid
// fields.
func (in NewApplication) Problems() []fault.Field {
	if err := hiring.CheckResumeURL(in.ResumeURL); err != nil {
		return mapApplyFault(fault.Of(err)).Fields
	}

	return nil
}

// ApplicationsInput selects a page of applications. Status is one status, or several separated by commas.
type ApplicationsInput struct {
	web.Paging
	JobID           string `query:"job_id"`
	CandidateID     string `query:"candidate_id"`
	Status          string `query:"status" validate:"max=200"`
	SubmittedAfter  string `query:"submitted_after"`
	SubmittedBefore string `query:"submitted_before"`
}

// Problems returns the violations of rules that tags cannot express.
func (in ApplicationsInput) Problems() []fault.Field {
	var problems []fault.Field

	isUnknown := func(s hiring.Status) bool { return !slices.Contains(hiring.Statuses, s) }
	if slices.ContainsFunc(in.statuses(), isUnknown) {
		problems = append(
			problems,
			fault.Field{Name: "status", Message: "must be one or more of: pending, review, interview, accepted, rejected, withdrawn"},
		)
	}

	for name, text := range map[string]string{"submitted_after": in.SubmittedAfter, "submitted_before": in.SubmittedBefore} {
		if _, err := parseTimestamp(text); err != nil {
			problems = append(problems, fault.Field{Name: name, Message: err.Error()})
		}
	}

	return problems
}

// statuses returns the statuses in the comma-separated parameter.
func (in ApplicationsInput) statuses() (statuses []hiring.Status) {
	for name := range strings.SplitSeq(in.Status, ",") {
		name = strings.TrimSpace(name)
		if name != "" {
			statuses = append(statuses, hiring.Status(name))
		}
	}

	return statuses
}

// filter returns the filter that the parameters describe.
func (in ApplicationsInput) filter() hiring.ApplicationFilter {
	f := hiring.ApplicationFilter{ApplicantID: in.CandidateID, Statuses: in.statuses()}
	if in.JobID != "" {
		f.ListingIDs = []string{in.JobID}
	}

	// Problems has validated both timestamps.
	f.AppliedFrom, _ = parseTimestamp(in.SubmittedAfter)
	f.AppliedUntil, _ = parseTimestamp(in.SubmittedBefore)

	return f
}

// parseTimestamp parses a timestamp parameter. It returns the zero time for an empty text.
func parseTimestamp(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	const atEndOfDay = false // a date without a time is the start of that day

	return listings.ParseMoment(text, atEndOfDay)
}

// Application is a job application as the API represents it, to applicants and to employers alike.
type Application struct {
	ID          string          `json:"id"`
	JobID       string          `json:"job_id"`
	CandidateID string          `json:"candidate_id"`
	Status      hiring.Status   `json:"status" sample:"pending"`
	CoverLetter *string         `json:"cover_letter" sample:"Six years of critical care."`
	ResumeURL   *string         `json:"resume_url" sample:"https://www.example.org/cv.pdf"`
	Answers     []hiring.Answer `json:"answers"`
	SubmittedAt time.Time       `json:"submitted_at" sample:"2026-11-20T09:30:00Z"`
	// UpdatedAt is the time of the last change of the status.
	UpdatedAt time.Time `json:"updated_at" sample:"2026-11-20T09:30:00Z"`
}

// viewApplication returns the application as the API represents it.
func viewApplication(a hiring.Application) Application {
	return Application{
		ID:          a.ID,
		JobID:       a.ListingID,
		CandidateID: a.ApplicantID,
		Status:      a.Status,
		CoverLetter: nullIfEmpty(a.CoverLetter),
		ResumeURL:   nullIfEmpty(a.ResumeURL),
		Answers:     append([]hiring.Answer{}, a.Answers...),
		SubmittedAt: a.AppliedAt,
		UpdatedAt:   a.ChangedAt,
	}
}
