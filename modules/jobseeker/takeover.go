package jobseeker

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/valid"
)

// TakeOverOnboarding merges the onboarding of a guest into the onboarding of the user whose account
// was created in the same browser. An onboarding is the progress through the first steps in the
// service. It also copies the guest's preferences into the user's profile. The secret in the
// browser identifies the guest. An e-mail address that a guest entered proves nothing and is
// ignored.
func (s *OnboardingService) TakeOverOnboarding(ctx context.Context, userID, secret string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		guest, err := s.moveProgress(ctx, userID, secret)
		if err != nil {
			return err
		}

		return s.fillProfile(ctx, userID, guest.Preferences)
	})
}

// TakeOverProgress merges the onboarding of a guest into the onboarding of a user who has
// signed in in the same browser. Unlike TakeOverOnboarding it does not change the profile:
// several people may use one browser, so that the guest may not be the user.
func (s *OnboardingService) TakeOverProgress(ctx context.Context, userID, secret string) error {
	_, err := s.mergeGuestProgress(ctx, auth.Actor{UserID: userID, Seeker: true}, secret)
	return err
}

// mergeGuestProgress merges the onboarding of the guest with the secret into the caller's
// onboarding, unless the caller is a guest. It returns the secret that the browser keeps,
// which is empty after a merge.
func (s *OnboardingService) mergeGuestProgress(ctx context.Context, by auth.Actor, secret string) (keep string, err error) {
	if by.Guest() || secret == "" {
		return secret, nil
	}

	_, err = s.moveProgress(ctx, by.UserID, secret)

	return "", err
}

// moveProgress merges the onboarding of the guest into the onboarding of the user, and deletes the
// onboarding of the guest. It returns the deleted onboarding, which is empty if nothing was stored
// for the guest.
func (s *OnboardingService) moveProgress(ctx context.Context, userID, secret string) (guest Onboarding, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		guestVisitor := Visitor{GuestKey: auth.HashSecret(secret)}

		guest, err = s.Onboardings.Get(ctx, guestVisitor)
		if err != nil {
			return err
		}

		if guest.Version == 0 { // nothing is stored for the guest
			return nil
		}

		user, err := s.Onboardings.Get(ctx, Visitor{UserID: userID})
		if err != nil {
			return err
		}

		user.merge(guest, s.Clock.Now())

		if err := s.Onboardings.Upsert(ctx, user); err != nil {
			return err
		}

		// Storing an empty onboarding deletes the one of the guest.
		return s.Onboardings.Upsert(ctx, Onboarding{Visitor: guestVisitor, Version: guest.Version})
	})

	return guest, err
}

// merge adds the progress of another onboarding, up to maxSteps steps. If both contain an
// event of a step, the earlier timestamp remains. Source and Preferences are only copied if
// they are empty.
func (o *Onboarding) merge(other Onboarding, now time.Time) {
	for _, theirs := range other.Steps {
		i := slices.IndexFunc(o.Steps, func(p Progress) bool { return p.Step == theirs.Step })
		if i < 0 {
			if len(o.Steps) < maxSteps {
				o.Steps = append(o.Steps, theirs)
			}

			continue
		}

		mine := &o.Steps[i]
		mine.ViewedAt = earlier(mine.ViewedAt, theirs.ViewedAt)
		mine.CompletedAt = earlier(mine.CompletedAt, theirs.CompletedAt)
		mine.SkippedAt = earlier(mine.SkippedAt, theirs.SkippedAt)

		// A step that was completed in one of the two onboardings is not skipped.
		if !mine.CompletedAt.IsZero() {
			mine.SkippedAt = time.Time{}
		}
	}

	o.Source = cmp.Or(o.Source, other.Source)
	o.Preferences = cmp.Or(o.Preferences, other.Preferences)
	o.TouchedAt = now
}

// earlier returns the earlier timestamp. A zero timestamp stands for an event that has not
// happened, so that the other one is returned.
func earlier(a, b time.Time) time.Time {
	switch {
	case a.IsZero():
		return b
	case b.IsZero() || a.Before(b):
		return a
	}

	return b
}

// fillProfile copies preferences into properties of the profile that are empty. Values that
// are not valid in a profile are ignored, because the user cannot correct them in this
// request.
func (s *OnboardingService) fillProfile(ctx context.Context, userID, preferences string) error {
	if preferences == "" {
		return nil
	}

	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(preferences), &values); err != nil {
		return err // unexpected, because Onboard only stores JSON objects
	}

	profile, err := s.Profiles.Get(ctx, userID)
	if err != nil {
		return err
	}

	// The list has the preferences that a profile has too, under the same name. Other preferences
	// are ignored. The order matters for the salaries: salaryMax is checked against salaryMin.
	for _, property := range []struct {
		name    string
		isEmpty bool // in the profile
	}{
		{name: "currentRole", isEmpty: profile.CurrentRole == ""},
		{name: "specialty", isEmpty: profile.Specialty == ""},
		{name: "experience", isEmpty: profile.Experience == ""},
		{name: "location", isEmpty: profile.Location == ""},
		{name: "preferredLocation", isEmpty: profile.PreferredLocation == ""},
		{name: "locationRadius", isEmpty: profile.LocationRadius == 0},
		{name: "employmentTypes", isEmpty: len(profile.EmploymentTypes) == 0},
		{name: "salaryMin", isEmpty: profile.SalaryMin == nil},
		{name: "salaryMax", isEmpty: profile.SalaryMax == nil},
	} {
		value, exists := values[property.name]
		if !exists || !property.isEmpty {
			continue
		}

		// Apply the value like a request that changes only this property.
		object, err := json.Marshal(map[string]json.RawMessage{property.name: value})
		if err != nil {
			return err
		}

		var in ProfileInput

		changed := Account{Profile: profile}

		isValid := json.Unmarshal(object, &in) == nil && valid.Check("", in) == nil && in.apply(&changed, "") == nil
		if isValid {
			profile = changed.Profile
		}
	}

	return s.Profiles.Update(ctx, profile)
}
