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

// Dashboard is the start page of a jobseeker. The dashboard of a guest only contains the
// newest listings.
type Dashboard struct {
	Guest bool
	Plan  Plan
	// Recommendations are the best recommendations. Recommended is the number of all
	// recommendations, including those that the dashboard does not show.
	Recommendations []Recommendation
	Recommended     int
	// Recent are the newest activities.
	Recent []Activity
	// Applications and Bookmarks are the numbers of the user's applications and saved jobs.
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
	maxDashboardJobs       = 10
	maxDashboardActivities = 10
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
	d.Recommendations = d.Recommendations[:min(d.Recommended, maxDashboardJobs)]

	recent, err := s.Activities.List(ctx, by.UserID, page.After("", maxDashboardActivities))
	if err != nil {
		return d, err
	}

	d.Recent = recent.Items

	counts, err := s.Applied.Counts(ctx, by.UserID)
	if err != nil {
		return d, err
	}

	d.Applications = counts.Total
	d.Bookmarks, err = s.Saved.CountSaved(ctx, by.UserID)

	return d, err
}

// guestDashboard returns the dashboard of a visitor without an account.
func (s *DashboardService) guestDashboard(ctx context.Context) (Dashboard, error) {
	anything := Wanted{} // without restrictions, so that the newest listings come first
	newest, err := s.Listings.Suggest(ctx, anything, maxDashboardJobs)

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

// Problems returns an error for a dismissal without a listing, which the validation tags
// cannot express.
func (in TrackInput) Problems() []fault.Field {
	if strings.TrimSpace(in.Action) == dismissAction && in.ListingID == "" {
		return []fault.Field{{Name: "listingId", Message: "is required"}}
	}

	return nil
}

// dismissAction is the action that dismisses a recommendation. Other actions are only
// added to the activity log.
const dismissAction = "dismiss-recommendation"

// TrackDashboard adds an action on the dashboard to the caller's activity log.
func (s *DashboardService) TrackDashboard(ctx context.Context, by auth.Actor, in TrackInput) error {
	if err := cmp.Or(by.RequireSeeker(), valid.Check("", in)); err != nil {
		return err
	}

	action := strings.TrimSpace(in.Action)
	dismisses := action == dismissAction

	description := "On the dashboard: " + action
	if action == "" {
		action, description = "used", "Used the dashboard"
	}

	if in.ListingID != "" {
		listingID, err := requireSeekerAndID(by, in.ListingID, ErrListingNotFound)
		if err != nil {
			return err
		}

		brief, err := s.publicBrief(ctx, listingID)
		if err != nil {
			return err
		}

		description += ", " + oneLine(brief.Title)
		if dismisses {
			description = "Dismissed " + oneLine(brief.Title)
		}
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if dismisses {
			if err := s.Dismiss(ctx, by, in.ListingID); err != nil {
				return err
			}
		}

		return s.addActivity(ctx, by, "dashboard", action, description)
	})
}

// Goals are career goals. Clients may send one string or an array of strings.
type Goals []string

// UnmarshalJSON implements json.Unmarshaler for a string or an array of strings.
func (g *Goals) UnmarshalJSON(raw []byte) error {
	var goal string
	if json.Unmarshal(raw, &goal) == nil {
		*g = Goals{goal}
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

// Problems returns an error if a goal is too long. A validation tag would also apply to the
// number of goals.
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
	// maxGoal is the maximum number of characters of a career goal.
	maxGoal = 500
	// maxCountedJobs is the number of jobs from which a headline says only "More than".
	maxCountedJobs = 100
	// maxPersonalJobs is the number of recommendations in Personalized.
	maxPersonalJobs = 3
)

// Personalize returns a text for the caller. It stores nothing.
func (s *DashboardService) Personalize(ctx context.Context, by auth.Actor, in PersonalizeInput) (Personalized, error) {
	if err := cmp.Or(by.RequireSeeker(), valid.Check("", in)); err != nil {
		return Personalized{}, err
	}

	profile, err := s.Profiles.Get(ctx, by.UserID)
	if err != nil {
		return Personalized{}, err
	}

	profession := cmp.Or(oneLine(in.Specialty), oneLine(profile.Specialty), oneLine(profile.CurrentRole))
	experience := cmp.Or(oneLine(string(in.Experience)), oneLine(profile.Experience))

	jobs, err := s.Listings.Suggest(ctx,
		Wanted{Text: plainWords(profession), Location: profile.Home(), Radius: float64(profile.LocationRadius), Home: profile.Home()},
		maxCountedJobs)
	if err != nil {
		return Personalized{}, err
	}

	text := Personalized{
		Headline: headline(profession, oneLine(profile.Home()), len(jobs)),
		Summary:  summary(profession, experience, in.CareerGoals),
	}
	if text.Suggestions, err = s.suggestions(ctx, profile); err != nil {
		return Personalized{}, err
	}

	recommendations, err := s.recommend(ctx, by.UserID)
	text.Jobs = recommendations[:min(len(recommendations), maxPersonalJobs)]

	return text, err
}

// headline returns a sentence about the number of jobs in the user's profession near the user's
// home. profession and home are empty if they are unknown. A count of maxCountedJobs means that
// there may be more jobs.
func headline(profession, home string, count int) string {
	jobs := "jobs in healthcare"
	if profession != "" {
		jobs = profession + " jobs"
		if count == 1 {
			jobs = profession + " job"
		}
	}

	if home != "" {
		jobs += " near " + home
	}

	switch {
	case count == 0:
		return "Be the first to hear of new " + jobs
	case count >= maxCountedJobs:
		return fmt.Sprintf("More than %d %s for you", maxCountedJobs-1, jobs)
	case count == 1 && profession == "":
		return "One of the " + jobs + " is for you"
	}

	return fmt.Sprintf("%d %s for you", count, jobs)
}

// summary returns sentences about the user's experience and goals. An experience that is a
// number is in years.
func summary(profession, experience string, goals Goals) string {
	var sentences []string
	if experience != "" {
		if years, err := strconv.Atoi(experience); err == nil {
			experience = fmt.Sprintf("%d years", years)
			if years == 1 {
				experience = "one year"
			}
		}

		sentence := "You bring " + experience + " of experience"
		if profession != "" {
			sentence += " to " + profession
		}

		sentences = append(sentences, sentence+".")
	}

	goals = list.Map(goals, func(g string) string { return strings.TrimRight(oneLine(g), ".!") })

	goals = slices.DeleteFunc(goals, isEmpty)
	if len(goals) > 0 {
		sentences = append(sentences, "What you are after: "+strings.Join(goals, "; ")+".")
	}

	if len(sentences) == 0 {
		return "Tell us what you do and what you look for, and this page will be about you."
	}

	return strings.Join(sentences, " ")
}

// suggestions returns the steps that would improve the recommendations and that the user has not
// taken yet.
func (s *DashboardService) suggestions(ctx context.Context, profile Profile) ([]string, error) {
	searches, err := s.Searches.ListByUser(ctx, profile.UserID, 1)
	if err != nil {
		return nil, err
	}

	counts, err := s.Applied.Counts(ctx, profile.UserID)

	suggestions := []string{} // not nil, so that it is an array in JSON
	for _, step := range []struct {
		isMissing bool
		text      string
	}{
		{isMissing: profile.CurrentRole == "" && profile.Specialty == "", text: "Add your role and specialty to your profile"},
		{isMissing: profile.Home() == "", text: "Say where you would like to work"},
		{isMissing: len(profile.EmploymentTypes) == 0, text: "Say which kinds of employment suit you"},
		{isMissing: len(searches) == 0, text: "Save a search to hear of new jobs at once"},
		{isMissing: counts.Total == 0, text: "Apply for a job that suits you"},
	} {
		if step.isMissing {
			suggestions = append(suggestions, step.text)
		}
	}

	return suggestions, err
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

	if a.SavedJobs, err = s.Saved.CountSaved(ctx, by.UserID); err != nil {
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

// completion returns the percentage of properties that are filled in. It considers ten
// properties that are useful to employers or for searches.
func (p Profile) completion(hasCV bool) int {
	properties := []bool{
		p.Bio != "", p.Phone != "", p.Location != "", p.Specialty != "", p.CurrentRole != "", p.Experience != "",
		p.PreferredLocation != "", len(p.EmploymentTypes) > 0, p.SalaryMin != nil || p.SalaryMax != nil, hasCV,
	}

	filled := 0
	for _, isFilled := range properties {
		if isFilled {
			filled++
		}
	}

	return 100 * filled / len(properties)
}
