package jobseeker

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
)

// ForgetOnboarding removes what is known of how far a deleted account had come.
func (s *Service) ForgetOnboarding(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Onboardings.Delete(ctx, Visitor{UserID: e.UserID})
	})
}

// TakeOverOnboarding makes what the browser with the secret did as a guest the
// user's own, who has just made their account in it: also what they said that
// they prefer is their profile's then. Having the browser is the proof: an
// address that somebody typed is none.
func (s *Service) TakeOverOnboarding(ctx context.Context, userID, secret string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		guest, err := s.takeProgress(ctx, userID, secret)
		if err != nil {
			return err
		}
		return s.intoProfile(ctx, userID, guest.Preferences)
	})
}

// TakeOverProgress is TakeOverOnboarding for who has signed in. A browser has
// many users, and the guest of it need not be who signs in now: how far they had
// come may be added, their profile says what they said themselves.
func (s *Service) TakeOverProgress(ctx context.Context, userID, secret string) error {
	_, err := s.takeOver(ctx, auth.Actor{UserID: userID, Seeker: true}, secret)
	return err
}

// takeOver returns the secret that is left, none after it was taken over.
func (s *Service) takeOver(ctx context.Context, by auth.Actor, secret string) (left string, err error) {
	if by.Guest() || secret == "" {
		return secret, nil
	}
	_, err = s.takeProgress(ctx, by.UserID, secret)
	return "", err
}

// takeProgress returns what the guest's was.
func (s *Service) takeProgress(ctx context.Context, userID, secret string) (guest Onboarding, err error) {
	return guest, s.Tx.Do(ctx, func(ctx context.Context) error {
		browser := Visitor{GuestKey: guestKey(secret)}
		guest = Onboarding{}
		if o, err := s.Onboardings.Find(ctx, browser); err != nil || o.Version == 0 {
			return err
		}
		mine, err := s.Onboardings.Lock(ctx, Visitor{UserID: userID})
		if err != nil {
			return err
		}
		if guest, err = s.Onboardings.Lock(ctx, browser); err != nil {
			return err
		}
		mine.take(guest, s.Clock.Now())
		if err := s.Onboardings.Save(ctx, mine); err != nil {
			return err
		}
		return s.Onboardings.Delete(ctx, browser)
	})
}

// take adds what another onboarding knows. Of each thing that happened the first
// time counts; what the owner said stays.
func (o *Onboarding) take(other Onboarding, now time.Time) {
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

// profileKeys are the preferences that a profile knows under the same name.
var profileKeys = []string{"currentRole", "specialty", "experience", "location", "preferredLocation", "locationRadius", "employmentTypes", "salaryMin", "salaryMax"}

// intoProfile takes what somebody said on the way over into their profile, where
// that says nothing yet. What a profile would not take is left where it is: it
// was told to a guide, and nobody waits for an answer.
func (s *Service) intoProfile(ctx context.Context, userID, preferences string) error {
	if preferences == "" {
		return nil
	}
	var said map[string]json.RawMessage
	if err := json.Unmarshal([]byte(preferences), &said); err != nil {
		return err // it was an object when it was kept
	}
	if err := s.Profiles.Lock(ctx, userID); err != nil {
		return err
	}
	p, err := s.Profiles.Find(ctx, userID)
	if err != nil {
		return err
	}
	silent := map[string]bool{
		"currentRole": p.CurrentRole == "", "specialty": p.Specialty == "", "experience": p.Experience == "",
		"location": p.Location == "", "preferredLocation": p.PreferredLocation == "", "locationRadius": p.LocationRadius == 0,
		"employmentTypes": len(p.EmploymentTypes) == 0, "salaryMin": p.SalaryMin == nil, "salaryMax": p.SalaryMax == nil,
	}
	for _, key := range profileKeys {
		raw, has := said[key]
		if !has || !silent[key] {
			continue
		}
		one, err := json.Marshal(map[string]json.RawMessage{key: raw})
		if err != nil {
			return err
		}
		var in ProfileInput
		changed := Account{Profile: p}
		if json.Unmarshal(one, &in) == nil && in.check("") == nil && in.apply(&changed, "") == nil {
			p = changed.Profile
		}
	}
	return s.Profiles.Save(ctx, p)
}
