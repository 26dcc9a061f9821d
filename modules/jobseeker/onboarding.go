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

// Onboarding is the progress of a visitor through the first steps in the service. That
// of a guest is identified by a secret in the browser. It is merged into that of a user
// when an account is created, or signed in to, in that browser.
type Onboarding struct {
	Visitor Visitor
	// Email is the address that a guest has entered, and Source where.
	Email, Source string
	// Preferences is a JSON object as it was sent, empty for none.
	Preferences string
	// Steps are the steps with progress, in the order of their first events.
	Steps     []Progress
	TouchedAt time.Time
	Version   int64
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

// Progress contains the times of the events of a step, zero for none.
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
	// Shown is true if the data of the account show that the step is completed.
	Shown bool
}

// Status returns the status of the step.
func (s Step) Status() StepStatus {
	if s.Shown {
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
	// guestFor is the lifetime of a guest's onboarding after the last visit.
	guestFor = 90 * 24 * time.Hour
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

// Guided is the onboarding that a visitor sees.
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

// MyOnboarding returns the onboarding of the caller. secret is that of the caller's
// browser, or empty; keep is the one that it has to store from now on.
func (s *OnboardingService) MyOnboarding(ctx context.Context, by auth.Actor, secret string) (g Guided, keep string, err error) {
	if err := requireGuestOrSeeker(by); err != nil {
		return Guided{}, secret, err
	}
	if secret, err = s.takeOver(ctx, by, secret); err != nil {
		return Guided{}, secret, err
	}
	o, err := s.Onboardings.Get(ctx, visitor(by, secret))
	if err != nil {
		return Guided{}, secret, err
	}
	shown := map[string]bool{"preferences": o.Preferences != ""}
	if !by.Guest() {
		if err := s.shown(ctx, by.UserID, shown); err != nil {
			return Guided{}, secret, err
		}
	}
	return o.guided(shown), secret, nil
}

// shown adds the steps that are completed according to the data of the account.
func (s *OnboardingService) shown(ctx context.Context, userID string, steps map[string]bool) error {
	p, err := s.Profiles.Get(ctx, userID)
	if err != nil {
		return err
	}
	hasCV, err := s.Documents.hasCV(ctx, userID)
	if err != nil {
		return err
	}
	searches, err := s.Searches.ListByUser(ctx, userID, 1)
	if err != nil {
		return err
	}
	applications, err := s.Applied.Counts(ctx, userID)
	if err != nil {
		return err
	}
	steps["account"] = true
	steps["profile"] = cmp.Or(p.Specialty, p.CurrentRole, p.Bio) != ""
	steps["preferences"] = steps["preferences"] || p.PreferredLocation != "" || len(p.EmploymentTypes) > 0
	steps["documents"] = hasCV
	steps["first-search"] = len(searches) > 0
	steps["first-application"] = applications.Total > 0
	return nil
}

// guided returns the onboarding with the steps that the account shows to be completed.
func (o *Onboarding) guided(shown map[string]bool) Guided {
	g := Guided{Steps: slices.Clone(guide), Complete: true, Email: o.Email, Preferences: o.Preferences}
	for _, happened := range o.Steps {
		i := slices.IndexFunc(g.Steps, func(s Step) bool { return s.Step == happened.Step })
		if i < 0 {
			g.Steps = append(g.Steps, Step{Progress: happened, Title: happened.Step})
			continue
		}
		g.Steps[i].Progress = happened
	}
	for i := range g.Steps {
		step := &g.Steps[i]
		step.Shown = shown[step.Step]
		if status := step.Status(); i < len(guide) && status != StepCompleted && status != StepSkipped {
			g.Complete = false
		}
	}
	return g
}

// OnboardingInput is an event of an onboarding.
type OnboardingInput struct {
	Action string `formData:"action" required:"true"`
	// Of capture_email.
	Email  string `formData:"email"`
	Source string `formData:"source"`
	// Of track_step.
	Step       string `formData:"step"`
	ActionType string `formData:"actionType"`
	// Of update_preferences.
	Preferences string `formData:"preferences"`
}

// Onboard stores an event. A guest without a known secret gets a new one, which the
// browser has to store.
func (s *OnboardingService) Onboard(ctx context.Context, by auth.Actor, secret string, in OnboardingInput) (keep string, err error) {
	if err := requireGuestOrSeeker(by); err != nil {
		return secret, err
	}
	change, err := in.change(by.Guest())
	if err != nil {
		return secret, err
	}
	if secret, err = s.takeOver(ctx, by, secret); err != nil {
		return secret, err
	}
	if by.Guest() {
		// An unknown secret may have been planted by an attacker.
		o, err := s.Onboardings.Get(ctx, visitor(by, secret))
		if err != nil {
			return secret, err
		}
		if secret == "" || o.Version == 0 {
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
		if err := s.Onboardings.Upsert(ctx, o); err != nil || by.Guest() || in.Action != "update_preferences" {
			return err
		}
		return s.intoProfile(ctx, by.UserID, in.Preferences)
	})
}

func visitor(by auth.Actor, secret string) Visitor {
	if by.Guest() {
		return Visitor{GuestKey: auth.HashSecret(secret)}
	}
	return Visitor{UserID: by.UserID}
}

// change validates the input and returns a function that applies it.
func (in OnboardingInput) change(guest bool) (func(o *Onboarding, now time.Time) error, error) {
	switch in.Action {
	case "capture_email":
		email := strings.TrimSpace(in.Email)
		if err := errors.Join(valid.Value("email", email, "required,email"), valid.Value("source", in.Source, "oneof='' apply save search")); err != nil {
			return nil, err
		}
		return func(o *Onboarding, _ time.Time) error {
			o.Source = cmp.Or(in.Source, o.Source)
			if guest { // an account has an address, which is the one that counts
				o.Email = email
			}
			return nil
		}, nil
	case "track_step":
		step := strings.TrimSpace(in.Step)
		if err := errors.Join(valid.Value("step", step, "required,max=64,line"), valid.Value("actionType", in.ActionType, "required,oneof=viewed completed skipped")); err != nil {
			return nil, err
		}
		return func(o *Onboarding, now time.Time) error { return o.track(step, in.ActionType, now) }, nil
	case "update_preferences":
		if err := checkPreferences(in.Preferences); err != nil {
			return nil, err
		}
		return func(o *Onboarding, _ time.Time) error { o.Preferences = in.Preferences; return nil }, nil
	}
	return nil, ErrInvalidAction
}

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

// track stores the first time of an event of a step. Completing a step reverts skipping
// it, and the other way round.
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

func requireGuestOrSeeker(by auth.Actor) error {
	if by.Guest() {
		return nil
	}
	return by.RequireSeeker()
}
