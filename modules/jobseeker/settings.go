package jobseeker

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// settingsJobs is the number of saved jobs in the settings, the newest ones. All of
// them are in a list of their own.
const settingsJobs = 100

// Settings are the profile, the newest saved jobs and the saved searches of a
// jobseeker.
type Settings struct {
	Account
	Saved    []SavedJob
	Searches []Search
}

// MySettings returns the caller's settings.
func (s *Service) MySettings(ctx context.Context, by auth.Actor) (out Settings, err error) {
	if out.Account, err = s.MyProfile(ctx, by); err != nil {
		return out, err
	}
	if out.Number == 0 {
		if out.Number, err = s.assignNumber(ctx, by.UserID); err != nil {
			return out, err
		}
	}
	saved, err := s.MyBookmarks(ctx, by, page.Request{Number: 1, Size: settingsJobs})
	if err != nil {
		return out, err
	}
	out.Saved = saved.Items
	out.Searches, err = s.Searches.ListByUser(ctx, by.UserID, MaxSearches)
	return out, err
}

// assignNumber stores the profile, which assigns its number.
func (s *Service) assignNumber(ctx context.Context, userID string) (int64, error) {
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		p, err := s.Profiles.Get(ctx, userID)
		if err != nil || p.Number != 0 {
			return err
		}
		return s.Profiles.Update(ctx, p)
	})
	if err != nil {
		return 0, err
	}
	p, err := s.Profiles.Get(ctx, userID)
	return p.Number, err
}

// NotifyInput turns optional mails, and notifications of new matches, on or off.
type NotifyInput struct{ Email, JobAlerts *bool }

// Notify stores which notifications the caller wants.
func (s *Service) Notify(ctx context.Context, by auth.Actor, in NotifyInput) error {
	if in.Email == nil && in.JobAlerts == nil {
		return fault.InvalidField("email", "is required without jobAlerts")
	}
	_, err := s.changeProfile(ctx, by, "", ProfileInput{Preferences: &PreferencesInput{EmailNotifications: in.Email, JobAlerts: in.JobAlerts}}, func(*Profile) {})
	return err
}

// Show stores whether others may see the caller's profile.
func (s *Service) Show(ctx context.Context, by auth.Actor, show *bool) error {
	if show == nil {
		return fault.InvalidField("showProfile", "is required")
	}
	_, err := s.changeProfile(ctx, by, "", ProfileInput{}, func(p *Profile) { p.ShowProfile = *show })
	return err
}
