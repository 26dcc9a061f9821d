package jobseeker

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// Onboarding is how far somebody has come in getting to know the service. It
// begins before there is an account, known by a secret in the browser alone, and
// becomes the account's when one is made or used from that browser.
type Onboarding struct {
	Visitor Visitor
	// Email and Source are what a guest left, to be filled in for them later. An
	// account has an address of its own.
	Email, Source string
	// Preferences is a JSON object as it was sent, empty for none.
	Preferences string
	// Steps are those that something happened to, in the order of the first time.
	Steps     []Progress
	TouchedAt time.Time
	Version   int64
}

// Visitor is whose onboarding it is; one of the fields is set.
type Visitor struct {
	UserID string
	// GuestKey is what is kept of a guest's secret.
	GuestKey string
}

// Progress is what happened to a step, zero for what did not.
type Progress struct {
	Step        string    `json:"step"`
	ViewedAt    time.Time `json:"viewedAt,omitzero"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	SkippedAt   time.Time `json:"skippedAt,omitzero"`
}

// StepStatus is where a step stands.
type StepStatus string

// The statuses of a step. What is completed or skipped is done with.
const (
	StepPending   StepStatus = "pending"
	StepViewed    StepStatus = "viewed"
	StepCompleted StepStatus = "completed"
	StepSkipped   StepStatus = "skipped"
)

// Status is where the step stands by what happened to it.
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

// Step is one thing to get to know.
type Step struct {
	Progress
	Title string
	// Shown says that the account itself shows the step to be done, whether
	// somebody told of it or not.
	Shown bool
}

// Status is where the step stands.
func (s Step) Status() StepStatus {
	if s.Shown {
		return StepCompleted
	}
	return s.Progress.Status()
}

// guide are the steps that everybody is shown. A client may track others beside
// them.
var guide = []Step{
	{Progress: Progress{Step: "account"}, Title: "Create an account"},
	{Progress: Progress{Step: "profile"}, Title: "Say what you do"},
	{Progress: Progress{Step: "preferences"}, Title: "Say what you look for"},
	{Progress: Progress{Step: "documents"}, Title: "Add a CV"},
	{Progress: Progress{Step: "first-search"}, Title: "Search for jobs"},
	{Progress: Progress{Step: "first-application"}, Title: "Apply for a job"},
}

const (
	// guestFor is how long a guest is remembered after the last visit.
	guestFor = 90 * 24 * time.Hour
	// maxSteps bounds what one visitor may track, and maxStepName its name.
	maxSteps    = 50
	maxStepName = 64
	// maxPreferences bounds what a client may keep, in bytes.
	maxPreferences = 16 << 10
)

// The faults of onboarding.
var (
	ErrInvalidAction = fault.New(fault.Invalid, "invalid_action", "Invalid action")
	errTooManySteps  = fault.InvalidField("step", fmt.Sprintf("is one too many: at most %d are kept", maxSteps))
)

// Guided is the onboarding as its visitor sees it.
type Guided struct {
	Steps []Step
	// Complete says that every step of the guide is completed or skipped.
	Complete           bool
	Email, Preferences string
}

func guestKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// MyOnboarding shows how far the caller has come. The secret is the one of the
// caller's browser, or empty; the reported one is what it should hold from now on.
func (s *Service) MyOnboarding(ctx context.Context, by auth.Actor, secret string) (g Guided, keep string, err error) {
	if !by.Guest() && !by.Seeker {
		return Guided{}, secret, fault.ErrForbidden
	}
	if secret, err = s.takeOver(ctx, by, secret); err != nil {
		return Guided{}, secret, err
	}
	o, err := s.Onboardings.Find(ctx, visitor(by, secret))
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

// shown adds the steps that the account itself shows to be done, whether a
// client told of them or not.
func (s *Service) shown(ctx context.Context, userID string, steps map[string]bool) error {
	p, err := s.Profiles.Find(ctx, userID)
	if err != nil {
		return err
	}
	documents, err := s.Documents.Usage(ctx, userID)
	if err != nil {
		return err
	}
	searches, err := s.Searches.Of(ctx, userID, 1)
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
	steps["documents"] = documents.CVs > 0
	steps["first-search"] = len(searches) > 0
	steps["first-application"] = applications.Total > 0
	return nil
}

// guided puts what happened beside what the account itself shows to be done.
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

// OnboardingInput is something that happened on the way.
type OnboardingInput struct {
	Action string
	// Of capture_email.
	Email, Source string
	// Of track_step.
	Step, ActionType string
	// Of update_preferences.
	Preferences string
}

// The sources of an address, and what can happen to a step.
var (
	captureSources = []string{"apply", "save", "search"}
	stepActions    = []string{"viewed", "completed", "skipped"}
)

// Onboard notes what happened. A guest without a secret that is known gets one,
// which the browser is to keep.
func (s *Service) Onboard(ctx context.Context, by auth.Actor, secret string, in OnboardingInput) (keep string, err error) {
	if !by.Guest() && !by.Seeker {
		return secret, fault.ErrForbidden
	}
	change, err := in.change(by.Guest())
	if err != nil {
		return secret, err
	}
	if secret, err = s.takeOver(ctx, by, secret); err != nil {
		return secret, err
	}
	if by.Guest() {
		// What somebody else put into a browser is nobody's secret.
		known, err := s.known(ctx, secret)
		if err != nil {
			return secret, err
		}
		if !known {
			secret = rand.Text()
		}
	}
	return secret, s.Tx.Do(ctx, func(ctx context.Context) error {
		o, err := s.Onboardings.Lock(ctx, visitor(by, secret))
		if err != nil {
			return err
		}
		now := s.Clock.Now()
		if err := change(&o, now); err != nil {
			return err
		}
		o.TouchedAt = now
		if err := s.Onboardings.Save(ctx, o); err != nil || by.Guest() || in.Action != "update_preferences" {
			return err
		}
		return s.intoProfile(ctx, by.UserID, in.Preferences)
	})
}

func (s *Service) known(ctx context.Context, secret string) (bool, error) {
	if secret == "" {
		return false, nil
	}
	o, err := s.Onboardings.Find(ctx, Visitor{GuestKey: guestKey(secret)})
	return o.Version > 0, err
}

func visitor(by auth.Actor, secret string) Visitor {
	if by.Guest() {
		return Visitor{GuestKey: guestKey(secret)}
	}
	return Visitor{UserID: by.UserID}
}

// change is what the input does to an onboarding, or what is wrong with it.
func (in OnboardingInput) change(guest bool) (func(o *Onboarding, now time.Time) error, error) {
	switch in.Action {
	case "capture_email":
		email := strings.TrimSpace(in.Email)
		if err := checkCaptured(email, in.Source); err != nil {
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
		switch {
		case step == "":
			return nil, fault.InvalidField("step", "is required")
		case utf8.RuneCountInString(step) > maxStepName || strings.ContainsFunc(step, unicode.IsControl):
			return nil, fault.InvalidField("step", fmt.Sprintf("must be one line of at most %d characters", maxStepName))
		case in.ActionType == "":
			return nil, fault.InvalidField("actionType", "is required")
		case !slices.Contains(stepActions, in.ActionType):
			return nil, fault.InvalidField("actionType", "must be one of: "+strings.Join(stepActions, ", "))
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

func checkCaptured(email, source string) error {
	address, err := mail.ParseAddress(email)
	switch {
	case email == "":
		return fault.InvalidField("email", "is required")
	case err != nil || address.Address != email || len(email) > maxEmailSize:
		return fault.InvalidField("email", "must be a valid email address")
	case source != "" && !slices.Contains(captureSources, source):
		return fault.InvalidField("source", "must be one of: "+strings.Join(captureSources, ", "))
	}
	return nil
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

// track notes what happened to a step, for the first time. To complete a step
// takes back that it was skipped, and the other way round.
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
