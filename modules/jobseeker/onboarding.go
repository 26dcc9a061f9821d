package jobseeker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/valid"
)

// Onboarding is the progress of a visitor through the first steps in the service. The
// onboarding of a guest, a visitor without an account, is identified by a secret in the
// browser. When a user creates an account or signs in in that browser, it is merged into the
// onboarding of the user.
type Onboarding struct {
	Visitor Visitor
	// Email is the address that a guest has entered. Source says what the visitor was
	// doing then: apply, save or search.
	Email, Source string
	// Preferences is a JSON object as the client sent it, empty for none.
	Preferences string
	// Steps are the steps with progress, in the order of their first events.
	Steps []Progress
	// TouchedAt is the time of the last change.
	TouchedAt time.Time
	// Version is the number of the last change, 0 if the onboarding is not stored.
	Version int64
}

// IsEmpty reports whether the onboarding has no content.
func (o *Onboarding) IsEmpty() bool {
	return o.Email == "" && o.Source == "" && o.Preferences == "" && len(o.Steps) == 0
}

// Visitor is the owner of an onboarding. One of the fields is set.
type Visitor struct {
	UserID string
	// GuestKey is the hash of a guest's secret.
	GuestKey string
}

// Progress contains the timestamps of the events of a step. A timestamp is zero if the event
// has not happened.
type Progress struct {
	Step        string    `json:"step"`
	ViewedAt    time.Time `json:"viewedAt,omitzero"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	SkippedAt   time.Time `json:"skippedAt,omitzero"`
}

// StepStatus is the status of a step.
type StepStatus string

// The statuses of steps.
const (
	StepPending   StepStatus = "pending"
	StepViewed    StepStatus = "viewed"
	StepCompleted StepStatus = "completed"
	StepSkipped   StepStatus = "skipped"
)

// Status returns the status that results from the events.
func (p Progress) Status() StepStatus {
	switch {
	case !p.CompletedAt.IsZero():
		return StepCompleted
	case !p.SkippedAt.IsZero():
		return StepSkipped
	case !p.ViewedAt.IsZero():
		return StepViewed
	}

	return StepPending
}

// Step is a step of the guide, or one that a client has added.
type Step struct {
	Progress
	Title string
	// IsShown is true if the data of the account show that the step is completed, for example
	// a stored document for the step "documents".
	IsShown bool
}

// Status returns the status of the step. A step that is completed according to the data of
// the account needs no event.
func (s Step) Status() StepStatus {
	if s.IsShown {
		return StepCompleted
	}

	return s.Progress.Status()
}

// guide contains the steps of every visitor. Clients may track other steps too.
var guide = []Step{
	{Progress: Progress{Step: "account"}, Title: "Create an account"},
	{Progress: Progress{Step: "profile"}, Title: "Say what you do"},
	{Progress: Progress{Step: "preferences"}, Title: "Say what you look for"},
	{Progress: Progress{Step: "documents"}, Title: "Add a CV"},
	{Progress: Progress{Step: "first-search"}, Title: "Search for jobs"},
	{Progress: Progress{Step: "first-application"}, Title: "Apply for a job"},
}

const (
	// guestOnboardingLifetime is the lifetime of a guest's onboarding after the last visit.
	guestOnboardingLifetime = 90 * 24 * time.Hour
	// maxSteps is the maximum number of steps of a visitor.
	maxSteps = 50
	// maxPreferences is the maximum number of bytes of Preferences.
	maxPreferences = 16 << 10
)

// The faults of onboarding.
var (
	ErrInvalidAction = fault.New(fault.Invalid, "invalid_action", "Invalid action")
	errTooManySteps  = fault.InvalidField("step", fmt.Sprintf("must not exceed %d steps", maxSteps))
)

// Guided is an onboarding as visitors see it, with the steps of the guide.
type Guided struct {
	Steps []Step
	// Complete is true if every step of the guide is completed or skipped.
	Complete           bool
	Email, Preferences string
}

// OnboardingService implements the use cases of onboarding.
type OnboardingService struct {
	*Shared
	Onboardings Onboardings
	Documents   *DocumentService
	Searches    Searches
	Applied     Applied
}

// MyOnboarding returns the onboarding of the caller. secret is the secret in the caller's
// browser, or empty. keep is the secret that the browser has to store from now on.
func (s *OnboardingService) MyOnboarding(ctx context.Context, by auth.Actor, secret string) (g Guided, keep string, err error) {
	if err := requireGuestOrSeeker(by); err != nil {
		return Guided{}, secret, err
	}

	if secret, err = s.mergeGuestProgress(ctx, by, secret); err != nil {
		return Guided{}, secret, err
	}

	o, err := s.Onboardings.Get(ctx, visitor(by, secret))
	if err != nil {
		return Guided{}, secret, err
	}

	completed := map[string]bool{"preferences": o.Preferences != ""}
	if !by.Guest() {
		if completed, err = s.completedSteps(ctx, by.UserID, o); err != nil {
			return Guided{}, secret, err
		}
	}

	return o.guidedView(completed), secret, nil
}

// completedSteps returns which steps are completed according to the onboarding's preferences
// and the data of the account.
func (s *OnboardingService) completedSteps(ctx context.Context, userID string, o Onboarding) (map[string]bool, error) {
	profile, err := s.Profiles.Get(ctx, userID)
	if err != nil {
		return nil, err
	}

	hasCV, err := s.Documents.hasCV(ctx, userID)
	if err != nil {
		return nil, err
	}

	newestSearch, err := s.Searches.ListByUser(ctx, userID, 1)
	if err != nil {
		return nil, err
	}

	applications, err := s.Applied.Counts(ctx, userID)
	if err != nil {
		return nil, err
	}

	return map[string]bool{
		"account":           true,
		"profile":           cmp.Or(profile.Specialty, profile.CurrentRole, profile.Bio) != "",
		"preferences":       o.Preferences != "" || profile.PreferredLocation != "" || len(profile.EmploymentTypes) > 0,
		"documents":         hasCV,
		"first-search":      len(newestSearch) > 0,
		"first-application": applications.Total > 0,
	}, nil
}

// guidedView returns the onboarding with the steps of the guide, followed by the steps that
// clients have added. completed contains the steps that are completed without an event.
func (o *Onboarding) guidedView(completed map[string]bool) Guided {
	g := Guided{Steps: slices.Clone(guide), Complete: true, Email: o.Email, Preferences: o.Preferences}
	for _, progress := range o.Steps {
		i := slices.IndexFunc(g.Steps, func(s Step) bool { return s.Step == progress.Step })
		if i < 0 {
			g.Steps = append(g.Steps, Step{Progress: progress, Title: progress.Step})
			continue
		}

		g.Steps[i].Progress = progress
	}

	for i := range g.Steps {
		step := &g.Steps[i]
		step.IsShown = completed[step.Step]

		// Steps that a client has added do not count.
		isOfGuide := i < len(guide)
		isOpen := step.Status() != StepCompleted && step.Status() != StepSkipped

		if isOfGuide && isOpen {
			g.Complete = false
		}
	}

	return g
}

// OnboardingInput is an event of an onboarding. Which fields are used depends on the action.
type OnboardingInput struct {
	Action string `formData:"action" required:"true"`
	// Email and Source belong to the action capture_email.
	Email  string `formData:"email"`
	Source string `formData:"source"`
	// Step and ActionType belong to the action track_step.
	Step       string `formData:"step"`
	ActionType string `formData:"actionType"`
	// Preferences belongs to the action update_preferences.
	Preferences string `formData:"preferences"`
}

// Onboard stores an event. A guest without a secret, or with an unknown one, gets a new
// secret (keep), which the browser has to store.
func (s *OnboardingService) Onboard(ctx context.Context, by auth.Actor, secret string, in OnboardingInput) (keep string, err error) {
	if err := requireGuestOrSeeker(by); err != nil {
		return secret, err
	}

	change, err := in.change(by.Guest())
	if err != nil {
		return secret, err
	}

	if secret, err = s.mergeGuestProgress(ctx, by, secret); err != nil {
		return secret, err
	}

	if by.Guest() {
		o, err := s.Onboardings.Get(ctx, visitor(by, secret))
		if err != nil {
			return secret, err
		}

		// A secret under which nothing is stored is replaced, because an attacker may have
		// planted it in the browser to read the guest's onboarding later.
		isUnknown := o.Version == 0
		if secret == "" || isUnknown {
			secret = rand.Text()
		}
	}

	return secret, s.Tx.Do(ctx, func(ctx context.Context) error {
		o, err := s.Onboardings.Get(ctx, visitor(by, secret))
		if err != nil {
			return err
		}

		now := s.Clock.Now()
		if err := change(&o, now); err != nil {
			return err
		}

		o.TouchedAt = now
		if err := s.Onboardings.Upsert(ctx, o); err != nil {
			return err
		}

		if in.Action == "update_preferences" && !by.Guest() {
			return s.fillProfile(ctx, by.UserID, in.Preferences)
		}

		return nil
	})
}

// visitor returns the owner of the caller's onboarding.
func visitor(by auth.Actor, secret string) Visitor {
	if by.Guest() {
		return Visitor{GuestKey: auth.HashSecret(secret)}
	}

	return Visitor{UserID: by.UserID}
}

// onboardingChange applies an input to the stored onboarding.
type onboardingChange func(o *Onboarding, now time.Time) error

// change validates the input and returns the change that it requests.
func (in OnboardingInput) change(isGuest bool) (onboardingChange, error) {
	switch in.Action {
	case "capture_email":
		email := strings.TrimSpace(in.Email)
		validEmail := valid.Value("email", email, "required,email")

		validSource := valid.Value("source", in.Source, "oneof='' apply save search")
		if err := errors.Join(validEmail, validSource); err != nil {
			return nil, err
		}

		return func(o *Onboarding, _ time.Time) error {
			o.Source = cmp.Or(in.Source, o.Source)
			if isGuest { // the address of a user belongs to the account
				o.Email = email
			}

			return nil
		}, nil
	case "track_step":
		step := strings.TrimSpace(in.Step)
		validStep := valid.Value("step", step, "required,max=64,line")

		validType := valid.Value("actionType", in.ActionType, "required,oneof=viewed completed skipped")
		if err := errors.Join(validStep, validType); err != nil {
			return nil, err
		}

		return func(o *Onboarding, now time.Time) error { return o.track(step, in.ActionType, now) }, nil
	case "update_preferences":
		if err := checkPreferences(in.Preferences); err != nil {
			return nil, err
		}

		return func(o *Onboarding, _ time.Time) error {
			o.Preferences = in.Preferences
			return nil
		}, nil
	}

	return nil, ErrInvalidAction
}

// checkPreferences returns an error unless the text is a JSON object of at most
// maxPreferences bytes.
func checkPreferences(text string) error {
	var object map[string]any
	switch {
	case text == "":
		return fault.InvalidField("preferences", "is required")
	case len(text) > maxPreferences:
		return fault.InvalidField("preferences", fmt.Sprintf("must have at most %d bytes", maxPreferences))
	case json.Unmarshal([]byte(text), &object) != nil || object == nil:
		return fault.InvalidField("preferences", "must be a JSON object")
	case strings.Contains(text, `\u0000`):
		return fault.InvalidField("preferences", "must not contain NUL")
	}

	return nil
}

// track stores the timestamp of an event of a step, unless the event has happened before.
// Completing a step reverts skipping it, and skipping a step reverts completing it.
func (o *Onboarding) track(step, action string, now time.Time) error {
	i := slices.IndexFunc(o.Steps, func(p Progress) bool { return p.Step == step })
	if i < 0 {
		if len(o.Steps) >= maxSteps {
			return errTooManySteps
		}

		o.Steps = append(o.Steps, Progress{Step: step})
		i = len(o.Steps) - 1
	}

	p := &o.Steps[i]
	switch action {
	case "viewed":
		p.ViewedAt = cmp.Or(p.ViewedAt, now)
	case "completed":
		p.CompletedAt, p.SkippedAt = cmp.Or(p.CompletedAt, now), time.Time{}
	case "skipped":
		p.SkippedAt, p.CompletedAt = cmp.Or(p.SkippedAt, now), time.Time{}
	}

	return nil
}

// requireGuestOrSeeker returns an error if the caller is a user but not a jobseeker.
func requireGuestOrSeeker(by auth.Actor) error {
	if by.Guest() {
		return nil
	}

	return by.RequireSeeker()
}
