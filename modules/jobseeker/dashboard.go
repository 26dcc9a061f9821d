package jobseeker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/valid"
)

// Dashboard is the start page. Guests only see the newest listings.
type Dashboard struct {
	Guest bool
	Plan  Plan
	// Recommendations are the best ones, Recommended is their total number.
	Recommendations []Recommendation
	Recommended     int
	// Recent are the newest activities.
	Recent                  []Activity
	Applications, Bookmarks int
}

// Plan is the subscription of an account.
type Plan struct {
	Tier   string
	Active bool
}

// DashboardService implements the use cases of the dashboard, of recommendations and of
// statistics.
type DashboardService struct {
	*Shared
	Documents  *DocumentService
	Saved      *BookmarkService
	Searches   Searches
	Applied    Applied
	Dismissals Dismissals
	Plans      Plans
}

// The maximum numbers of items on a dashboard.
const (
	dashboardJobs   = 10
	dashboardRecent = 10
)

// MyDashboard returns the caller's dashboard.
func (s *DashboardService) MyDashboard(ctx context.Context, by auth.Actor) (d Dashboard, err error) {
	if by.Guest() {
		return s.guestDashboard(ctx)
	}
	if err := by.RequireSeeker(); err != nil {
		return d, err
	}
	if d.Plan, err = s.Plans.Plan(ctx, by.UserID); err != nil {
		return d, err
	}
	if d.Recommendations, err = s.recommend(ctx, by.UserID); err != nil {
		return d, err
	}
	d.Recommended = len(d.Recommendations)
	d.Recommendations = d.Recommendations[:min(d.Recommended, dashboardJobs)]
	recent, err := s.Activities.List(ctx, by.UserID, page.After("", dashboardRecent))
	if err != nil {
		return d, err
	}
	d.Recent = recent.Items
	counts, err := s.Applied.Counts(ctx, by.UserID)
	if err != nil {
		return d, err
	}
	d.Applications = counts.Total
	d.Bookmarks, err = s.Saved.SavedCount(ctx, by.UserID)
	return d, err
}

func (s *DashboardService) guestDashboard(ctx context.Context) (Dashboard, error) {
	newest, err := s.Listings.Suggest(ctx, Wanted{}, dashboardJobs)
	d := Dashboard{Guest: true, Plan: Plan{Tier: "basic"}, Recommended: len(newest)}
	for _, c := range newest {
		d.Recommendations = append(d.Recommendations, Recommendation{Candidate: c})
	}
	return d, err
}

// TrackInput is an action on the dashboard.
type TrackInput struct {
	// Action may be empty for the use of the dashboard itself.
	Action    string `json:"action" validate:"max=64,line"`
	ListingID string `json:"listingId"`
}

// Problems returns the errors that tags do not express.
func (in TrackInput) Problems() []fault.Field {
	if strings.TrimSpace(in.Action) == dismissAction && in.ListingID == "" {
		return []fault.Field{{Name: "listingId", Message: "is required"}}
	}
	return nil
}

// dismissAction dismisses a recommendation. Other actions are only logged.
const dismissAction = "dismiss-recommendation"

// TrackDashboard adds an action on the dashboard to the caller's activity log.
func (s *DashboardService) TrackDashboard(ctx context.Context, by auth.Actor, in TrackInput) error {
	if err := cmp.Or(by.RequireSeeker(), valid.Check("", in)); err != nil {
		return err
	}
	action := strings.TrimSpace(in.Action)
	description, dismissed := "On the dashboard: "+action, ""
	if action == "" {
		action, description = "used", "Used the dashboard"
	}
	if in.ListingID != "" {
		listingID, err := canonical(by, in.ListingID, ErrListingNotFound)
		if err != nil {
			return err
		}
		brief, err := s.publicBrief(ctx, listingID)
		if err != nil {
			return err
		}
		description += ", " + oneLine(brief.Title)
		if action == dismissAction {
			description, dismissed = "Dismissed "+oneLine(brief.Title), listingID
		}
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if dismissed != "" {
			if err := s.Dismiss(ctx, by, dismissed); err != nil {
				return err
			}
		}
		return s.addActivity(ctx, by, "dashboard", action, description)
	})
}

// Goals are one or more texts.
type Goals []string

// UnmarshalJSON implements json.Unmarshaler for a string or an array of strings.
func (g *Goals) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*g = Goals{one}
		return nil
	}
	if json.Unmarshal(raw, (*[]string)(g)) != nil {
		return fault.InvalidField("", "must be a string or an array of strings")
	}
	return nil
}

// JSONTypes returns the accepted JSON types for the documentation.
func (Goals) JSONTypes() []string { return []string{"string", "array"} }

// PersonalizeInput describes the user. Empty fields are taken from the profile.
type PersonalizeInput struct {
	Specialty   string `json:"specialty" validate:"max=200"`
	CareerGoals Goals  `json:"careerGoals" validate:"max=10"`
	Experience  Words  `json:"experience" validate:"max=200"`
}

// Problems returns the error of goals that are too long, which may be one text.
func (in PersonalizeInput) Problems() []fault.Field {
	if slices.ContainsFunc(in.CareerGoals, func(g string) bool { return utf8.RuneCountInString(g) > maxGoal }) {
		return []fault.Field{{Name: "careerGoals", Message: fmt.Sprintf("must have at most %d characters", maxGoal)}}
	}
	return nil
}

// Personalized is a text about the user and the listings.
type Personalized struct {
	Headline, Summary string
	// Suggestions are next steps, the most useful first.
	Suggestions []string
	Jobs        []Recommendation
}

const (
	maxGoal = 500
	// countedAtMost is the maximum number of jobs that a headline counts.
	countedAtMost = 100
	personalJobs  = 3
)

// Personalize returns a text for the caller.
func (s *DashboardService) Personalize(ctx context.Context, by auth.Actor, in PersonalizeInput) (Personalized, error) {
	if err := cmp.Or(by.RequireSeeker(), valid.Check("", in)); err != nil {
		return Personalized{}, err
	}
	p, err := s.Profiles.Get(ctx, by.UserID)
	if err != nil {
		return Personalized{}, err
	}
	field := cmp.Or(oneLine(in.Specialty), oneLine(p.Specialty), oneLine(p.CurrentRole))
	jobs, err := s.Listings.Suggest(ctx, Wanted{Text: plainWords(field), Location: p.Home(), Radius: float64(p.LocationRadius), Home: p.Home()}, countedAtMost)
	if err != nil {
		return Personalized{}, err
	}
	experience := cmp.Or(oneLine(string(in.Experience)), oneLine(p.Experience))
	out := Personalized{Headline: headline(field, oneLine(p.Home()), len(jobs)), Summary: summary(field, experience, in.CareerGoals)}
	if out.Suggestions, err = s.suggestions(ctx, p); err != nil {
		return Personalized{}, err
	}
	all, err := s.recommend(ctx, by.UserID)
	out.Jobs = all[:min(len(all), personalJobs)]
	return out, err
}

// headline returns a sentence about the number of listings.
func headline(field, home string, n int) string {
	what := "jobs in healthcare"
	if field != "" {
		what = field + " jobs"
		if n == 1 {
			what = field + " job"
		}
	}
	if home != "" {
		what += " near " + home
	}
	switch {
	case n == 0:
		return "Be the first to hear of new " + what
	case n >= countedAtMost:
		return fmt.Sprintf("More than %d %s for you", countedAtMost-1, what)
	case n == 1 && field == "":
		return "One of the " + what + " is for you"
	}
	return fmt.Sprintf("%d %s for you", n, what)
}

// summary returns sentences about the user.
func summary(field, experience string, goals Goals) string {
	var out []string
	if experience != "" {
		if n, err := strconv.Atoi(experience); err == nil {
			experience = fmt.Sprintf("%d years", n)
			if n == 1 {
				experience = "one year"
			}
		}
		with := "You bring " + experience + " of experience"
		if field != "" {
			with += " to " + field
		}
		out = append(out, with+".")
	}
	goals = list.Map(goals, func(g string) string { return strings.TrimRight(oneLine(g), ".!") })
	if goals = slices.DeleteFunc(goals, isEmpty); len(goals) > 0 {
		out = append(out, "What you are after: "+strings.Join(goals, "; ")+".")
	}
	if len(out) == 0 {
		return "Tell us what you do and what you look for, and this page will be about you."
	}
	return strings.Join(out, " ")
}

// suggestions returns the steps that would improve the recommendations.
func (s *DashboardService) suggestions(ctx context.Context, p Profile) ([]string, error) {
	searches, err := s.Searches.ListByUser(ctx, p.UserID, 1)
	if err != nil {
		return nil, err
	}
	counts, err := s.Applied.Counts(ctx, p.UserID)
	out := []string{}
	for _, step := range []struct {
		isMissing bool
		text      string
	}{
		{p.CurrentRole == "" && p.Specialty == "", "Add your role and specialty to your profile"},
		{p.Home() == "", "Say where you would like to work"},
		{len(p.EmploymentTypes) == 0, "Say which kinds of employment suit you"},
		{len(searches) == 0, "Save a search to hear of new jobs at once"},
		{counts.Total == 0, "Apply for a job that suits you"},
	} {
		if step.isMissing {
			out = append(out, step.text)
		}
	}
	return out, err
}

// Analytics are statistics about a jobseeker.
type Analytics struct {
	Applications ApplicationCounts
	SavedJobs    int
	// Completion is the share of the profile that is filled in, in percent.
	Completion int
}

// MyAnalytics returns the caller's statistics.
func (s *DashboardService) MyAnalytics(ctx context.Context, by auth.Actor) (a Analytics, err error) {
	if err := by.RequireSeeker(); err != nil {
		return a, err
	}
	if a.Applications, err = s.Applied.Counts(ctx, by.UserID); err != nil {
		return a, err
	}
	if a.SavedJobs, err = s.Saved.SavedCount(ctx, by.UserID); err != nil {
		return a, err
	}
	p, err := s.Profiles.Get(ctx, by.UserID)
	if err != nil {
		return a, err
	}
	hasCV, err := s.Documents.hasCV(ctx, by.UserID)
	a.Completion = p.completion(hasCV)
	return a, err
}

// completion returns the share of ten properties, useful for employers and searches,
// that are filled in, in percent.
func (p Profile) completion(hasCV bool) int {
	n := 0
	for _, isFilled := range []bool{
		p.Bio != "", p.Phone != "", p.Location != "", p.Specialty != "", p.CurrentRole != "", p.Experience != "",
		p.PreferredLocation != "", len(p.EmploymentTypes) > 0, p.SalaryMin != nil || p.SalaryMax != nil, hasCV,
	} {
		if isFilled {
			n += 10
		}
	}
	return n
}
