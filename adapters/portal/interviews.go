package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/hiring"
)

// interviewRoutes returns the routes with which employers schedule interviews and write to applicants. An application
// has at most one interview.
func interviewRoutes(s *hiring.Service) []web.Route {
	return routesFor(web.Employer, "Interviews", []web.Route{
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/applications/:id/interview",
			Permission: auth.ApplicationsUpdate,
			Errors:     []int{404, 409},
			Summary:    "Schedule or reschedule the application's interview",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ScheduleInput) (web.Reply[scheduledView], error) {
					appointment, err := s.Schedule(ctx, c.Actor, in.ID, hiring.AppointmentInput{
						ScheduledAt: &in.ScheduledAt,
						Location:    &in.Location,
						Interviewer: &in.Interviewer,
						Notes:       in.Notes,
					})

					return web.OK(viewScheduled(appointment), "Interview scheduled successfully"), err
				}),
		},
		{
			Method:     http.MethodPut,
			Path:       "/api/employers/applications/:id/interview",
			Permission: auth.ApplicationsUpdate,
			Errors:     []int{404, 409},
			Summary:    "Change the application's interview",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in InterviewInput) (web.Reply[scheduledView], error) {
					appointment, err := s.Reschedule(ctx, c.Actor, in.ID, in.AppointmentInput)
					return web.OK(viewScheduled(appointment), "Interview updated successfully"), err
				}),
		},
		{
			Method:     http.MethodPost,
			Path:       "/api/employers/applications/:id/contact",
			Permission: auth.ApplicationsUpdate,
			Errors:     []int{404, 429},
			Summary:    "Send a message to the applicant",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ContactInput) (web.Reply[contactedView], error) {
					address, err := s.Contact(ctx, c.Actor, in.ID, in.ContactInput)
					return web.OK(contactedView{To: address, Subject: in.Subject}, "queued"), err
				}),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/interviews",
			Permission: auth.ApplicationsView,
			Summary:    "List the organization's interviews, newest first",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in InterviewsInput) (web.Reply[interviewsView], error) {
					r, err := s.Interviews(ctx, c.Actor, hiring.InterviewStatus(in.Status), in.Request())

					return web.OK(
						interviewsView{Interviews: web.Each(r.Items, viewInterviewRow), Total: r.Total, Paged: paged(r, in.Paging)},
						"",
					), err
				}),
		},
	})
}

// ScheduleInput is the input of the operation that schedules an interview.
type ScheduleInput struct {
	IDPath
	ScheduledAt string  `json:"scheduledAt" validate:"required"`
	Location    string  `json:"location" validate:"required,max=500"`
	Interviewer string  `json:"interviewer" validate:"required,max=200"`
	Notes       *string `json:"notes" validate:"omitempty,max=5000"`
}

// InterviewInput is the input of the operation that changes an interview.
type InterviewInput struct {
	IDPath
	hiring.AppointmentInput
}

// ContactInput is a message to an applicant.
type ContactInput struct {
	IDPath
	hiring.ContactInput
}

// InterviewsInput selects a page of the interviews with a status, or of all interviews.
type InterviewsInput struct {
	web.Paging
	Status string `query:"status" validate:"omitempty,oneof=scheduled completed cancelled"`
}

type interviewView struct {
	ScheduledAt time.Time              `json:"scheduledAt"`
	Location    string                 `json:"location"`
	Interviewer string                 `json:"interviewer"`
	Notes       string                 `json:"notes"`
	Status      hiring.InterviewStatus `json:"status"`
	Outcome     hiring.Outcome         `json:"outcome"`
}

func viewInterview(a hiring.Appointment) interviewView {
	return interviewView{
		ScheduledAt: a.ScheduledAt,
		Location:    a.Location,
		Interviewer: a.Interviewer,
		Notes:       a.Notes,
		Status:      a.Status,
		Outcome:     a.Outcome,
	}
}

// viewAppointment returns the view of an interview that may not exist. It is nil for nil.
func viewAppointment(a *hiring.Appointment) *interviewView {
	if a == nil {
		return nil
	}

	v := viewInterview(*a)

	return &v
}

// scheduledView is an interview after it was scheduled or changed.
type scheduledView struct {
	ApplicationID string        `json:"applicationId"`
	Interview     interviewView `json:"interview"`
}

func viewScheduled(a hiring.Appointment) scheduledView {
	return scheduledView{ApplicationID: a.ApplicationID, Interview: viewInterview(a)}
}

type contactedView struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

// interviewRow is an interview in the list of the organization. Status repeats the status of
// Interview.
type interviewRow struct {
	ApplicationID  string                 `json:"applicationId"`
	JobID          string                 `json:"jobId"`
	JobTitle       string                 `json:"jobTitle"`
	ApplicantName  string                 `json:"applicantName"`
	ApplicantEmail string                 `json:"applicantEmail"`
	Status         hiring.InterviewStatus `json:"status"`
	Interview      interviewView          `json:"interview"`
}

func viewInterviewRow(a hiring.View) interviewRow {
	return interviewRow{
		ApplicationID:  a.ID,
		JobID:          a.ListingID,
		JobTitle:       a.JobTitle,
		ApplicantName:  a.Applicant.Name,
		ApplicantEmail: a.Applicant.Email,
		Status:         a.Interview.Status,
		Interview:      viewInterview(*a.Interview),
	}
}

// interviewsView is a page of interviews. Total repeats the total of the pagination.
type interviewsView struct {
	Interviews []interviewRow `json:"interviews"`
	Total      int            `json:"total"`
	Paged
}
