package jobseeker

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// settingsJobs is how many saved jobs stand in the settings, the latest: the
// list of them is elsewhere.
const settingsJobs = 100

// Settings is what a jobseeker has set, and what they keep.
type Settings struct {
	Account
	// Number is a short name of the account for people to tell each other. It
	// opens nothing.
	Number   int64
	Saved    []SavedJob
	Searches []Search
}

// MySettings are the caller's.
func (s *Service) MySettings(ctx context.Context, by auth.Actor) (out Settings, err error) {
	if out.Account, err = s.MyProfile(ctx, by); err != nil {
		return out, err
	}
	if out.Number, err = s.Profiles.Number(ctx, by.UserID); err != nil {
		return out, err
	}
	saved, err := s.MyBookmarks(ctx, by, page.Request{Number: 1, Size: settingsJobs})
	if err != nil {
		return out, err
	}
	out.Saved = saved.Items
	out.Searches, err = s.Searches.Of(ctx, by.UserID, MaxSearches)
	return out, err
}

// NotifyInput says what somebody wants to hear of: anything by mail that need
// not be, and new matches of saved searches.
type NotifyInput struct{ Email, JobAlerts *bool }

// Notify keeps what the caller wants to hear of.
func (s *Service) Notify(ctx context.Context, by auth.Actor, in NotifyInput) error {
	if in.Email == nil && in.JobAlerts == nil {
		return fault.InvalidField("email", "is required without jobAlerts")
	}
	_, err := s.changeProfile(ctx, by, "", ProfileInput{Preferences: &PreferencesInput{EmailNotifications: in.Email, JobAlerts: in.JobAlerts}}, func(*Profile) {})
	return err
}

// Show keeps whether others may see the caller's profile.
func (s *Service) Show(ctx context.Context, by auth.Actor, show *bool) error {
	if show == nil {
		return fault.InvalidField("showProfile", "is required")
	}
	_, err := s.changeProfile(ctx, by, "", ProfileInput{}, func(p *Profile) { p.ShowProfile = *show })
	return err
}
