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

// TakeOverOnboarding merges the onboarding of the guest with the secret into that of the
// user, whose account was created in the same browser, and copies the preferences into
// the profile. The secret is the proof of identity; an address that a guest entered is
// not.
func (s *OnboardingService) TakeOverOnboarding(ctx context.Context, userID, secret string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		guest, err := s.takeProgress(ctx, userID, secret)
		if err != nil {
			return err
		}
		return s.intoProfile(ctx, userID, guest.Preferences)
	})
}

// TakeOverProgress is TakeOverOnboarding after a sign-in. Several people may use one
// browser, and the guest may be another person than the user who signs in: the
// progress is merged, the profile is not changed.
func (s *OnboardingService) TakeOverProgress(ctx context.Context, userID, secret string) error {
	_, err := s.takeOver(ctx, auth.Actor{UserID: userID, Seeker: true}, secret)
	return err
}

// takeOver merges the onboarding of the browser into that of a user. It returns the
// secret that the browser keeps, which is empty after a merge.
func (s *OnboardingService) takeOver(ctx context.Context, by auth.Actor, secret string) (left string, err error) {
	if by.Guest() || secret == "" {
		return secret, nil
	}
	_, err = s.takeProgress(ctx, by.UserID, secret)
	return "", err
}

// takeProgress merges the onboarding of the guest into that of the user, and returns
// it.
func (s *OnboardingService) takeProgress(ctx context.Context, userID, secret string) (guest Onboarding, err error) {
	return guest, s.Tx.Do(ctx, func(ctx context.Context) error {
		browser := Visitor{GuestKey: auth.HashSecret(secret)}
		if guest, err = s.Onboardings.Get(ctx, browser); err != nil || guest.Version == 0 {
			return err
		}
		mine, err := s.Onboardings.Get(ctx, Visitor{UserID: userID})
		if err != nil {
			return err
		}
		mine.merge(guest, s.Clock.Now())
		if err := s.Onboardings.Upsert(ctx, mine); err != nil {
			return err
		}
		return s.Onboardings.Upsert(ctx, Onboarding{Visitor: browser, Version: guest.Version})
	})
}

// merge adds the progress of another onboarding. For each step the earlier time
// counts. Source and Preferences are only set if they are empty.
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
		mine.ViewedAt, mine.CompletedAt = first(mine.ViewedAt, theirs.ViewedAt), first(mine.CompletedAt, theirs.CompletedAt)
		if mine.SkippedAt = first(mine.SkippedAt, theirs.SkippedAt); !mine.CompletedAt.IsZero() {
			mine.SkippedAt = time.Time{}
		}
	}
	o.Source, o.Preferences, o.TouchedAt = cmp.Or(o.Source, other.Source), cmp.Or(o.Preferences, other.Preferences), now
}

func first(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// intoProfile copies preferences into properties of the profile that are empty. It
// ignores values that are not valid in a profile, since the user has not entered them in
// this request.
func (s *OnboardingService) intoProfile(ctx context.Context, userID, preferences string) error {
	if preferences == "" {
		return nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(preferences), &values); err != nil {
		return err // it was an object when it was stored
	}
	p, err := s.Profiles.Get(ctx, userID)
	if err != nil {
		return err
	}
	// The preferences that have the same name in a profile.
	for _, property := range []struct {
		name    string
		isEmpty bool
	}{
		{"currentRole", p.CurrentRole == ""}, {"specialty", p.Specialty == ""}, {"experience", p.Experience == ""},
		{"location", p.Location == ""}, {"preferredLocation", p.PreferredLocation == ""}, {"locationRadius", p.LocationRadius == 0},
		{"employmentTypes", len(p.EmploymentTypes) == 0}, {"salaryMin", p.SalaryMin == nil}, {"salaryMax", p.SalaryMax == nil},
	} {
		value, exists := values[property.name]
		if !exists || !property.isEmpty {
			continue
		}
		one, err := json.Marshal(map[string]json.RawMessage{property.name: value})
		if err != nil {
			return err
		}
		var in ProfileInput
		changed := Account{Profile: p}
		if json.Unmarshal(one, &in) == nil && valid.Check("", in) == nil && in.apply(&changed, "") == nil {
			p = changed.Profile
		}
	}
	return s.Profiles.Update(ctx, p)
}
