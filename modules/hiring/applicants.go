package hiring

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// The bounds of what an applicant writes, in characters and items.
const (
	maxCoverLetter = 20_000
	maxAnswer      = 5_000
	maxAnswers     = 100
	maxColor       = 200
	maxResumeURL   = 2_048
)

// ApplyInput is an application as it is handed in.
type ApplyInput struct {
	ListingID   string   `json:"listingId" validate:"required"`
	CoverLetter string   `json:"coverLetter" validate:"max=20000"`
	Answers     []Answer `json:"answers" validate:"max=100"`
	// ResumeURL is taken from other programs alone.
	ResumeURL string `json:"-"`
}

// Apply hands an application in.
func (s *Service) Apply(ctx context.Context, by auth.Actor, in ApplyInput) (Application, error) {
	if !by.Seeker {
		return Application{}, fault.ErrForbidden
	}
	if in.ListingID == "" {
		return Application{}, fault.InvalidField("listingId", "is required")
	}
	if utf8.RuneCountInString(in.CoverLetter) > maxCoverLetter {
		return Application{}, fault.InvalidField("coverLetter", fmt.Sprintf("must have at most %d characters", maxCoverLetter))
	}
	if err := CheckResumeURL(in.ResumeURL); err != nil {
		return Application{}, err
	}
	listingID, err := canonical(in.ListingID, ErrListingNotFound)
	if err != nil {
		return Application{}, err
	}
	posting, err := s.Listings.ForApply(ctx, listingID)
	if err != nil {
		return Application{}, err
	}
	if err := checkAnswers(posting.Questions, in.Answers); err != nil {
		return Application{}, err
	}
	now := s.Clock.Now()
	a := Application{
		ID: s.NewID(), ListingID: posting.ID, OrganizationID: posting.OrganizationID, ApplicantID: by.UserID, Status: Pending,
		CoverLetter: in.CoverLetter, ResumeURL: in.ResumeURL, Answers: in.Answers, AppliedAt: now, ChangedAt: now,
	}
	return a, s.Applications.Add(ctx, a, event.ApplicationSubmitted{
		ApplicationID: a.ID, JobID: a.ListingID, OrganizationID: a.OrganizationID, CandidateID: a.ApplicantID,
		Status: string(a.Status), SubmittedAt: a.AppliedAt,
	})
}

// CheckResumeURL is a fault about the field resumeUrl if the address may not be shown
// as the place of a CV: somebody will follow it. There may be none.
func CheckResumeURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err == nil && len(address) <= maxResumeURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil &&
		!strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	return fault.InvalidField("resumeUrl", "must be an https:// address of at most 2048 characters, without a user")
}

// checkAnswers finds what is wrong with the answers: each answers one question
// of the listing, and all that it requires are answered.
func checkAnswers(questions []Question, answers []Answer) error {
	if len(answers) > maxAnswers {
		return fault.InvalidField("answers", fmt.Sprintf("must have at most %d items", maxAnswers))
	}
	asked := make(map[string]bool, len(questions))
	for _, q := range questions {
		asked[q.ID] = true
	}
	var bad []fault.Field
	add := func(name, message string) { bad = append(bad, fault.Field{Name: name, Message: message}) }
	answered := make(map[string]bool, len(answers))
	for i, a := range answers {
		at := fmt.Sprintf("answers.%d.", i)
		switch {
		case a.QuestionID == "":
			add(at+"question_id", "is required")
		case !asked[a.QuestionID]:
			add(at+"question_id", "is not a question of this listing")
		case answered[a.QuestionID]:
			add(at+"question_id", "must not stand twice")
		case utf8.RuneCountInString(a.Answer) > maxAnswer:
			add(at+"answer", fmt.Sprintf("must have at most %d characters", maxAnswer))
		}
		answered[a.QuestionID] = answered[a.QuestionID] || strings.TrimSpace(a.Answer) != ""
	}
	for _, q := range questions {
		if q.Required && !answered[q.ID] {
			add("answers", "must answer every required question")
			break
		}
	}
	if len(bad) > 0 {
		return fault.ErrInvalid.WithFields(bad...)
	}
	return nil
}

// Mine lists the caller's applications, the newest first.
func (s *Service) Mine(ctx context.Context, by auth.Actor, r page.Request) (page.Result[View], error) {
	if !by.Seeker {
		return page.Result[View]{}, fault.ErrForbidden
	}
	if err := r.CheckID(); err != nil {
		return page.Result[View]{}, err
	}
	found, err := s.Applications.PageForApplicant(ctx, by.UserID, r)
	if err != nil {
		return page.Result[View]{}, err
	}
	views, err := s.titled(ctx, found.Items)
	return withItems(found, views), err
}

// MyApplication is one of the caller's applications.
func (s *Service) MyApplication(ctx context.Context, by auth.Actor, id string) (Detail, error) {
	a, err := s.mine(ctx, by, id)
	if err != nil {
		return Detail{}, err
	}
	views, err := s.titled(ctx, []Application{a})
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, views[0])
}

func (s *Service) mine(ctx context.Context, by auth.Actor, id string) (Application, error) {
	if !by.Seeker {
		return Application{}, fault.ErrForbidden
	}
	id, err := canonical(id, ErrNotFound)
	if err != nil {
		return Application{}, err
	}
	return s.Applications.ForApplicant(ctx, by.UserID, id)
}

// TrackInput is what an applicant notes for themselves; nil leaves it as it is.
type TrackInput struct {
	Status      *string `json:"status" validate:"omitempty,oneof=pending in-progress completed rejected"`
	StatusColor *string `json:"statusColor" validate:"omitempty,max=200"`
}

// Track keeps the applicant's own status of an application. The employer never
// hears of it, so it makes no event and no entry in the timeline.
func (s *Service) Track(ctx context.Context, by auth.Actor, id string, in TrackInput) (Application, error) {
	if in.StatusColor != nil && utf8.RuneCountInString(*in.StatusColor) > maxColor {
		return Application{}, fault.InvalidField("statusColor", fmt.Sprintf("must have at most %d characters", maxColor))
	}
	var a Application
	err := s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if a, err = s.mine(ctx, by, id); err != nil {
			return err
		}
		if in.Status != nil {
			if err := a.Track(Status(*in.Status)); err != nil {
				return err
			}
		}
		if in.StatusColor != nil {
			a.TrackerColor = *in.StatusColor
		}
		return s.Applications.SaveOwn(ctx, by.UserID, a)
	})
	return a, err
}

// Withdraw takes an application back. The applicant sees it no more; for the
// employer it is withdrawn and stays so.
func (s *Service) Withdraw(ctx context.Context, by auth.Actor, id string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		a, err := s.mine(ctx, by, id)
		if err != nil {
			return err
		}
		if err := s.callOff(ctx, by, &a); err != nil {
			return err
		}
		from := a.Status
		if !a.Withdraw(s.Clock.Now()) {
			return s.Applications.SaveOwn(ctx, by.UserID, a)
		}
		c := s.change(&a, ByApplicant, by, from)
		if err := s.Applications.SaveOwn(ctx, by.UserID, a, c); err != nil {
			return err
		}
		return s.Events.Record(ctx, c.event(&a))
	})
}

// callOff cancels the interview of an application that is being withdrawn.
func (s *Service) callOff(ctx context.Context, by auth.Actor, a *Application) error {
	found, err := s.Appointments.ForApplications(ctx, a.OrganizationID, []string{a.ID})
	if err != nil || len(found) == 0 || found[0].Status != Scheduled {
		return err
	}
	i := found[0]
	i.cancel(s.Clock.Now())
	if err := s.Appointments.Save(ctx, i); err != nil {
		return err
	}
	return s.Events.Record(ctx, i.event(a, event.InterviewCancelled, by.UserID))
}

// AppliedLately are the listings that the applicant applied for last and has not
// withdrawn from, at most n.
func (s *Service) AppliedLately(ctx context.Context, applicantID string, n int) ([]string, error) {
	return s.Applications.AppliedLately(ctx, applicantID, n)
}

// AppliedAmong returns those of the listings that the applicant ever applied for.
func (s *Service) AppliedAmong(ctx context.Context, applicantID string, listingIDs []string) (map[string]bool, error) {
	if len(listingIDs) == 0 {
		return map[string]bool{}, nil
	}
	return s.Applications.AppliedAmong(ctx, applicantID, listingIDs)
}
