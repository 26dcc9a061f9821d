package portal

import (
	"encoding/json"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/hiring"
)

// shownStatus is the status that an applicant sees. It is the status that the employer has set or the
// applicant's own status, whichever is newer.
type shownStatus string

// A view is the form in which the API represents a value. The functions view… return them. Applicants and employers see
// different views of an application.

// ownApplicationRow is an application in the list of its applicant. StatusColor is the colour that the applicant has
// chosen for it.
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
		Status:      shownStatus(a.ApplicantStatus()),
		StatusColor: a.TrackerColor,
		AppliedAt:   a.AppliedAt,
	}
}

type ownApplicationsView struct {
	Applications []ownApplicationRow `json:"applications"`
	SeekerPaged
}

// appliedView is an application that was just sent.
type appliedView struct {
	ID        string        `json:"id"`
	ListingID string        `json:"listingId"`
	Status    hiring.Status `json:"status"`
	AppliedAt time.Time     `json:"appliedAt"`
}

// trackedView is an application whose applicant has set the own status.
type trackedView struct {
	Application struct {
		ID          string      `json:"id"`
		Status      shownStatus `json:"status"`
		StatusColor string      `json:"statusColor,omitempty"`
	} `json:"application"`
}

// changeView is a change of the status in the timeline of an application. Actor is the applicant or the employer.
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

// ownApplicationView is an application with all details for its applicant.
type ownApplicationView struct {
	Application struct {
		ownApplicationRow
		JobID       string          `json:"jobId"`
		CoverLetter string          `json:"coverLetter"`
		Answers     []hiring.Answer `json:"answers"`
		Timeline    []changeView    `json:"timeline"`
		// Documents are the copies that were sent with the application.
		Documents []sentDocumentView `json:"documents"`
	} `json:"application"`
}

func viewOwn(d hiring.Detail) (v ownApplicationView) {
	a := &v.Application
	a.ownApplicationRow = viewOwnRow(d.View)
	a.JobID = d.ListingID
	a.CoverLetter = d.CoverLetter
	a.Answers = append([]hiring.Answer{}, d.Answers...)
	a.Timeline = viewTimeline(d.Timeline)
	a.Documents = viewSentDocuments(d.Documents)

	return v
}

// sentDocumentView is a document that was sent with an application.
type sentDocumentView struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	FileName string `json:"fileName"`
	// MediaType was detected from the content. Size is the size of the file in bytes.
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

// receivedRow is an application in the list of the employer who has received it.
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

// receivedApplicationView is an application with all details for the employer who has received it.
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
	a.receivedRow = viewReceivedRow(d.View)
	a.CoverLetter = d.CoverLetter
	a.ResumeURL = d.ResumeURL
	a.Answers = append([]hiring.Answer{}, d.Answers...)
	a.Timeline = viewTimeline(d.Timeline)
	a.Documents = viewSentDocuments(d.Documents)
	a.ApplicantProfile = d.Introduction

	return v
}

// decisionsView is the result of a batch that sets statuses.
type decisionsView struct {
	Updated []hiring.Decision `json:"updated"`
	Failed  []failedDecision  `json:"failed"`
}

// failedDecision is an item of a batch whose status could not be set, with the reason.
type failedDecision struct {
	// AppUpdate is the item of the request, or the main fields of a long one.
	AppUpdate any    `json:"appUpdate"`
	Error     string `json:"error"`
}

// maxEchoBytes is the maximum size of a failed item that the response repeats. Responses may
// be stored for a day (Idempotency-Key), so they must stay small.
const maxEchoBytes = 1_000

// viewRefusal returns the view of an item that has failed. item is the item as it is in the request.
func viewRefusal(f hiring.Refusal, item json.RawMessage) failedDecision {
	if len(item) > maxEchoBytes {
		return failedDecision{AppUpdate: f.Decision, Error: f.Error}
	}

	return failedDecision{AppUpdate: item, Error: f.Error}
}
