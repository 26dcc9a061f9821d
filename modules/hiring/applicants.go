package hiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/valid"
)

// The limits of an applicant's input, in characters.
const (
	maxAnswer    = 5_000
	maxResumeURL = 2_048
)

// ApplyInput is a new application.
type ApplyInput struct {
	ListingID   string   `json:"listingId" validate:"required"`
	CoverLetter string   `json:"coverLetter" validate:"max=20000"`
	Answers     []Answer `json:"answers" validate:"max=100"`
	// DocumentIDs are documents of the applicant. Copies of them are attached.
	DocumentIDs []string `json:"documentIds" validate:"max=5"`
	// ResumeURL is accepted by the developer API only.
	ResumeURL string `json:"-"`
}

// CheckApply returns the error that Apply would return, without submitting the application.
// It does not check that the documents exist.
func (s *Service) CheckApply(ctx context.Context, by auth.Actor, in ApplyInput) error {
	application, _, err := s.prepare(ctx, by, in)
	if err != nil {
		return err
	}

	return s.requireFirst(ctx, application)
}

// requireFirst returns ErrAlreadyApplied if the applicant has applied to the listing before.
func (s *Service) requireFirst(ctx context.Context, application Application) error {
	applied, err := s.FindApplied(ctx, application.ApplicantID, []string{application.ListingID})
	if err != nil {
		return err
	}

	if applied[application.ListingID] {
		return ErrAlreadyApplied
	}

	return nil
}

// prepare validates the input. It returns the new application, which it does not store, and
// the ids of the documents.
func (s *Service) prepare(
	ctx context.Context,
	by auth.Actor,
	in ApplyInput,
) (application Application, documentIDs []string, err error) {
	if err := by.RequireSeeker(auth.ScopeApplicationsWrite); err != nil {
		return Application{}, nil, err
	}

	if err := errors.Join(valid.Check("", in), CheckResumeURL(in.ResumeURL)); err != nil {
		return Application{}, nil, err
	}

	listingID, err := canonical(in.ListingID, ErrListingNotFound)
	if err != nil {
		return Application{}, nil, err
	}

	posting, err := s.Listings.GetPublic(ctx, listingID)
	if err != nil {
		return Application{}, nil, err
	}

	if err := checkAnswers(posting.Questions, in.Answers); err != nil {
		return Application{}, nil, err
	}

	documentIDs, err = parseDocumentIDs(in.DocumentIDs)
	if err != nil {
		return Application{}, nil, err
	}

	now := s.Clock.Now()
	application = Application{
		ID:             s.NewID(),
		ListingID:      posting.ID,
		OrganizationID: posting.OrganizationID,
		ApplicantID:    by.UserID,
		Status:         Pending,
		CoverLetter:    in.CoverLetter,
		ResumeURL:      in.ResumeURL,
		Answers:        in.Answers,
		AppliedAt:      now,
		ChangedAt:      now,
	}

	return application, documentIDs, nil
}

// Apply submits an application. It returns ErrAlreadyApplied if the applicant has applied to the
// listing before.
func (s *Service) Apply(ctx context.Context, by auth.Actor, in ApplyInput) (Application, error) {
	application, documentIDs, err := s.prepare(ctx, by, in)
	if err != nil {
		return Application{}, err
	}

	if len(documentIDs) > 0 {
		// Create checks this too. The early check avoids copying files for nothing.
		if err := s.requireFirst(ctx, application); err != nil {
			return Application{}, err
		}

		if err := s.copyDocuments(ctx, application, documentIDs); err != nil {
			return Application{}, err
		}
	}

	return application, s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Applications.Create(ctx, application); err != nil {
			return err
		}

		if len(documentIDs) > 0 {
			if err := s.Documents.Attach(ctx, by.UserID, application.ID, len(documentIDs), s.Clock.Now()); err != nil {
				return err
			}
		}

		return s.Events.Record(ctx, event.ApplicationSubmitted{
			ApplicationID:  application.ID,
			JobID:          application.ListingID,
			OrganizationID: application.OrganizationID,
			CandidateID:    application.ApplicantID,
			Status:         string(application.Status),
			SubmittedAt:    application.AppliedAt,
		})
	})
}

// CheckResumeURL returns a fault about the field resumeUrl unless the address is empty or an https
// URL that an employer can safely open. Such a URL consists of printable ASCII characters and has
// no user name, because a user name could make it look like the address of another site.
func CheckResumeURL(address string) error {
	if address == "" {
		return nil
	}

	invalid := fault.InvalidField("resumeUrl", "must be an https:// address of at most 2048 characters, without a user")

	isNotPrintableASCII := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(address) > maxResumeURL || strings.ContainsFunc(address, isNotPrintableASCII) {
		return invalid
	}

	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return invalid
	}

	return nil
}

// checkAnswers validates answers to the questions of a listing. Each question may be answered only
// once, and all required questions must be answered.
func checkAnswers(questions []Question, answers []Answer) error {
	isQuestion := list.ToMap(questions, func(q Question) (string, bool) { return q.ID, true })
	var problems []fault.Field
	addProblem := func(name, message string) { problems = append(problems, fault.Field{Name: name, Message: message}) }

	// Check each answer. An answer of spaces only does not count as one.
	isAnswered := make(map[string]bool, len(answers))
	for i, answer := range answers {
		prefix := fmt.Sprintf("answers.%d.", i)
		switch {
		case answer.QuestionID == "":
			addProblem(prefix+"question_id", "is required")
		case !isQuestion[answer.QuestionID]:
			addProblem(prefix+"question_id", "is not a question of this listing")
		case isAnswered[answer.QuestionID]:
			addProblem(prefix+"question_id", "must be unique")
		case utf8.RuneCountInString(answer.Answer) > maxAnswer:
			addProblem(prefix+"answer", fmt.Sprintf("must have at most %d characters", maxAnswer))
		}

		if strings.TrimSpace(answer.Answer) != "" {
			isAnswered[answer.QuestionID] = true
		}
	}

	isMissing := func(q Question) bool { return q.Required && !isAnswered[q.ID] }
	if slices.ContainsFunc(questions, isMissing) {
		addProblem("answers", "must answer every required question")
	}

	if len(problems) > 0 {
		return fault.ErrInvalid.WithFields(problems...)
	}

	return nil
}

// MyApplications lists the caller's applications that are not withdrawn, newest first.
func (s *Service) MyApplications(ctx context.Context, by auth.Actor, r page.Request) (page.Result[View], error) {
	return s.listMine(ctx, by, ExcludeWithdrawn, r)
}

// MyHistory lists all of the caller's applications, newest first.
func (s *Service) MyHistory(ctx context.Context, by auth.Actor, r page.Request) (page.Result[View], error) {
	return s.listMine(ctx, by, IncludeWithdrawn, r)
}

// listMine lists the caller's applications that the filter selects, newest first.
func (s *Service) listMine(ctx context.Context, by auth.Actor, w WithdrawnFilter, r page.Request) (page.Result[View], error) {
	if err := cmp.Or(by.RequireSeeker(), r.CheckID()); err != nil {
		return page.Result[View]{}, err
	}

	found, err := s.Applications.List(ctx, Visibility{ApplicantID: by.UserID}, ApplicationFilter{Withdrawn: w}, r)
	if err != nil {
		return page.Result[View]{}, err
	}

	views, err := s.withListings(ctx, found.Items)

	return page.WithItems(found, views), err
}

// MyApplication returns one of the caller's applications. It returns ErrNotFound for a withdrawn one.
func (s *Service) MyApplication(ctx context.Context, by auth.Actor, id string) (Detail, error) {
	application, err := s.getOwn(ctx, by, id)
	if err != nil {
		return Detail{}, err
	}

	return s.ownDetail(ctx, application)
}

// MyHistoryEntry returns one of the caller's applications, which may be withdrawn.
func (s *Service) MyHistoryEntry(ctx context.Context, by auth.Actor, id string) (Detail, error) {
	if err := by.RequireSeeker(); err != nil {
		return Detail{}, err
	}

	id, err := canonical(id, ErrNotFound)
	if err != nil {
		return Detail{}, err
	}

	// Applications.Get would not return a withdrawn application.
	f := ApplicationFilter{IDs: []string{id}, Withdrawn: IncludeWithdrawn, Details: true}
	found, err := s.Applications.List(ctx, Visibility{ApplicantID: by.UserID}, f, page.After("", 1))

	application, err := list.First(found.Items, err, ErrNotFound)
	if err != nil {
		return Detail{}, err
	}

	return s.ownDetail(ctx, application)
}

// ownDetail returns an application as its applicant sees it.
func (s *Service) ownDetail(ctx context.Context, application Application) (Detail, error) {
	views, err := s.withListings(ctx, []Application{application})
	if err != nil {
		return Detail{}, err
	}

	view := views[0]
	if view.Interview, err = s.getInterview(ctx, application.OrganizationID, application.ID); err != nil {
		return Detail{}, err
	}

	// The notes and the outcome of an interview are private to the employer.
	if view.Interview != nil {
		view.Interview.Notes = ""
		view.Interview.Outcome = ""
	}

	return s.loadDetail(ctx, view)
}

// getOwn returns one of the caller's applications that are not withdrawn. Inside a transaction, the
// application is locked.
func (s *Service) getOwn(ctx context.Context, by auth.Actor, id string) (Application, error) {
	if err := by.RequireSeeker(); err != nil {
		return Application{}, err
	}

	id, err := canonical(id, ErrNotFound)
	if err != nil {
		return Application{}, err
	}

	return s.Applications.Get(ctx, Visibility{ApplicantID: by.UserID}, id)
}

// TrackInput changes the applicant's tracker, which is a private status of an application. A nil field
// leaves its value unchanged.
type TrackInput struct {
	Status      *string `json:"status" validate:"omitempty,oneof=pending in-progress completed rejected"`
	StatusColor *string `json:"statusColor" validate:"omitempty,max=200"`
}

// Track sets the applicant's tracker of an application. The employer does not see trackers,
// so that Track records no event and adds no entry to the timeline.
func (s *Service) Track(ctx context.Context, by auth.Actor, id string, in TrackInput) (Application, error) {
	if err := valid.Check("", in); err != nil {
		return Application{}, err
	}

	var application Application
	err := s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if application, err = s.getOwn(ctx, by, id); err != nil {
			return err
		}

		patch.Set(&application.Tracker, (*Status)(in.Status))
		patch.Set(&application.TrackerColor, in.StatusColor)

		return s.Applications.Update(ctx, by.UserID, application)
	})

	return application, err
}

// Withdraw withdraws an application for good and cancels its interview. Afterwards, only MyHistory and
// MyHistoryEntry return it to the applicant.
func (s *Service) Withdraw(ctx context.Context, by auth.Actor, id string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		application, err := s.getOwn(ctx, by, id)
		if err != nil {
			return err
		}

		if err := s.cancelInterview(ctx, by, &application); err != nil {
			return err
		}

		previous := application.Status
		hasChanged := application.Withdraw(s.Clock.Now())

		return s.storeWithdrawal(ctx, by, &application, previous, hasChanged)
	})
}

// storeWithdrawal stores a withdrawn application, and releases its documents, so that a task deletes
// them. If the withdrawal has changed the status from the previous one, it also adds the change to the
// timeline and records an event. The employer may have set the status Withdrawn before.
func (s *Service) storeWithdrawal(
	ctx context.Context,
	by auth.Actor,
	application *Application,
	previous Status,
	hasChanged bool,
) error {
	if err := s.releaseDocuments(ctx, application); err != nil {
		return err
	}

	if !hasChanged {
		return s.Applications.Update(ctx, by.UserID, *application)
	}

	change := s.newChange(application, ByApplicant, by, previous)
	if err := s.Applications.Update(ctx, by.UserID, *application, change); err != nil {
		return err
	}

	return s.Events.Record(ctx, change.event(application))
}

// cancelInterview cancels the scheduled interview of an application, if there is one.
func (s *Service) cancelInterview(ctx context.Context, by auth.Actor, application *Application) error {
	interview, err := s.getInterview(ctx, application.OrganizationID, application.ID)
	if err != nil || interview == nil || interview.Status != Scheduled {
		return err
	}

	interview.cancel(s.Clock.Now())

	if err := s.Appointments.Upsert(ctx, *interview); err != nil {
		return err
	}

	return s.Events.Record(ctx, interview.event(application, event.InterviewCancelled, by.UserID))
}

// ListRecentlyApplied returns the ids of the listings of the applicant's n newest applications that
// are not withdrawn.
func (s *Service) ListRecentlyApplied(ctx context.Context, applicantID string, n int) ([]string, error) {
	found, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{}, page.After("", n))
	return list.Distinct(found.Items, func(a Application) string { return a.ListingID }), err
}

// FindApplied returns the listings to which the applicant has applied, among at most 1,000 given
// listings, by id. Withdrawn applications count too.
func (s *Service) FindApplied(ctx context.Context, applicantID string, listingIDs []string) (map[string]bool, error) {
	if len(listingIDs) == 0 {
		return map[string]bool{}, nil
	}

	f := ApplicationFilter{ListingIDs: listingIDs, Withdrawn: IncludeWithdrawn}
	found, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, f, page.After("", len(listingIDs)))

	return list.ToMap(found.Items, func(a Application) (string, bool) { return a.ListingID, true }), err
}
