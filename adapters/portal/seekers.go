package portal

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
)

// seekerRoutes returns the routes of a jobseeker's notifications, activity and saved searches.
func seekerRoutes(s *jobseeker.Service) []web.Route {
	return slices.Concat(routesFor(web.Seeker, "Notifications", []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/notifications",
			Summary: "List the caller's notifications, newest first",
			Op: list(s.MyNotifications, func(r page.Result[jobseeker.Notification], p web.Paging) notificationsView {
				return notificationsView{Notifications: web.Each(r.Items, viewNotification), SeekerPaged: seekerPaged(r, p)}
			}),
		},
		{
			Method:  http.MethodPut,
			Path:    "/api/jobseekers/notifications/:id",
			Limit:   web.PerQuarterHour(10),
			Errors:  []int{404},
			Summary: "Mark a notification as read or unread",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in MarkInput) (web.Done, error) {
					return web.Message("Notification updated successfully"), s.MarkNotification(ctx, c.Actor, in.ID, in.MarkInput)
				}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/jobseekers/notifications/:id",
			Errors:  []int{404},
			Summary: "Delete a notification",
			Op:      changeByID(s.DeleteNotification, "Notification deleted successfully"),
		},
	}), routesFor(web.Seeker, "Activity", []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/activity",
			Summary: "List the caller's activities, latest first",
			Op: list(s.MyActivity, func(r page.Result[jobseeker.Activity], _ web.Paging) activitiesView {
				return activitiesView{Activities: web.Each(r.Items, viewActivity), Total: r.Total, Beyond: beyond(r)}
			}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/analytics",
			Summary: "Get the caller's figures",
			Op: web.Op(
				func(ctx context.Context, c web.Call, _ web.Nothing) (web.Reply[seekerAnalyticsView], error) {
					a, err := s.MyAnalytics(ctx, c.Actor)
					var v seekerAnalyticsView
					v.Analytics.Applications.Total = a.Applications.Total
					v.Analytics.Applications.Pending = a.Applications.Pending
					v.Analytics.Bookmarks.SavedJobs = a.SavedJobs
					v.Analytics.Profile.Completion = a.Completion

					return web.OK(v, ""), err
				}),
		},
	}), routesFor(web.Seeker, "Saved searches", []web.Route{
		{
			Method:  http.MethodPost,
			Path:    "/api/jobseekers/search",
			Errors:  []int{404},
			Summary: "Save or delete a search, or set the search preferences",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in SearchIntentInput) (web.Reply[savedSearchesView], error) {
					searches, message, err := in.run(ctx, c.Actor, s)
					return web.OK(savedSearchesView{Intent: in.Intent, SavedSearches: web.Each(searches, viewSearch)}, message), err
				}),
		},
	}))
}

// run does what the intent says. It returns all saved searches of the actor after the change, and the message of the
// response.
func (in SearchIntentInput) run(
	ctx context.Context,
	actor auth.Actor,
	s *jobseeker.Service,
) (searches []jobseeker.Search, message string, err error) {
	switch in.Intent {
	case "save-search":
		message = "Search saved successfully"
		searches, err = s.SaveSearch(ctx, actor, jobseeker.SaveSearchInput{
			Name:         in.Name,
			Query:        in.Query,
			Location:     in.Location,
			ContractType: in.ContractType,
			EmailAlerts:  in.EmailAlerts,
		})
	case "update-search-preferences":
		message = "Search preferences updated successfully"
		change := jobseeker.ProfileInput{PreferredLocation: in.PreferredLocation, EmploymentTypes: in.EmploymentTypes}
		searches, err = s.UpdateJobPreferences(ctx, actor, change)
	case "delete-search":
		message = "Search deleted successfully"
		searches, err = s.DeleteSearch(ctx, actor, in.SearchID)
	}

	return searches, message, err
}

// SearchIntentInput is the input of the operation that changes saved searches. Intent selects what the operation does.
// The tag intents of a field names the intents that use the field.
type SearchIntentInput struct {
	Intent string `json:"intent" validate:"required,oneof=save-search update-search-preferences delete-search"`

	Name         string `json:"name" validate:"max=200" intents:"save-search"`
	Query        string `json:"query" validate:"max=200" intents:"save-search"`
	Location     string `json:"location" validate:"max=200" intents:"save-search"`
	ContractType string `json:"contractType" validate:"omitempty,oneof=permanent temporary contract" intents:"save-search"`
	EmailAlerts  bool   `json:"emailAlerts" intents:"save-search"`

	PreferredLocation *string   `json:"preferredLocation" validate:"omitempty,max=200" intents:"update-search-preferences"`
	EmploymentTypes   *[]string `json:"employmentTypes" validate:"omitempty,max=8" intents:"update-search-preferences"`

	SearchID string `json:"searchId" intents:"delete-search"`
}

// savedSearchesView has all saved searches of a jobseeker after a change.
type savedSearchesView struct {
	Intent        string            `json:"intent"`
	SavedSearches []savedSearchView `json:"savedSearches"`
}

type savedSearchView struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Query        string    `json:"query"`
	Location     string    `json:"location"`
	ContractType string    `json:"contractType"`
	EmailAlerts  bool      `json:"emailAlerts"`
	CreatedAt    time.Time `json:"createdAt"`
}

func viewSearch(s jobseeker.Search) savedSearchView {
	return savedSearchView{
		ID:           s.ID,
		Name:         s.Name,
		Query:        s.Query,
		Location:     s.Location,
		ContractType: s.ContractType,
		EmailAlerts:  s.EmailAlerts,
		CreatedAt:    s.CreatedAt,
	}
}

// MarkInput is the input of the operation that marks a notification as read or unread.
type MarkInput struct {
	IDPath
	jobseeker.MarkInput
}

type notificationView struct {
	ID        string                     `json:"id"`
	Type      jobseeker.NotificationType `json:"type"`
	Message   string                     `json:"message"`
	Read      bool                       `json:"read"`
	CreatedAt time.Time                  `json:"createdAt"`
}

func viewNotification(n jobseeker.Notification) notificationView {
	return notificationView{ID: n.ID, Type: n.Type, Message: n.Message, Read: n.Read, CreatedAt: n.CreatedAt}
}

type notificationsView struct {
	Notifications []notificationView `json:"notifications"`
	SeekerPaged
}

// activityView is something that the jobseeker has done, such as an application, or that has happened to it.
type activityView struct {
	Type        string    `json:"type"`
	Action      string    `json:"action"`
	Description string    `json:"description"`
	Timestamp   time.Time `json:"timestamp"`
}

func viewActivity(a jobseeker.Activity) activityView {
	return activityView{Type: a.Type, Action: a.Action, Description: a.Description, Timestamp: a.At}
}

// seekerAnalyticsView has figures about a jobseeker. Completion is how complete the profile is, in percent.
type seekerAnalyticsView struct {
	Analytics struct {
		Applications struct {
			Total   int `json:"total"`
			Pending int `json:"pending"`
		} `json:"applications"`
		Bookmarks struct {
			SavedJobs int `json:"savedJobs" description:"Number of saved listings"`
		} `json:"bookmarks"`
		Profile struct {
			Completion int `json:"completion"`
		} `json:"profile"`
	} `json:"analytics"`
}

type activitiesView struct {
	Activities []activityView `json:"activities"`
	Total      int            `json:"total"`
	Beyond
}

// bookmarkRoutes returns the routes of saved listings. The API calls them saved jobs in some places, and bookmarks in
// others.
func bookmarkRoutes(s *jobseeker.Service) []web.Route {
	return routesFor(web.Seeker, "Saved jobs", []web.Route{
		{
			Method:  http.MethodPost,
			Path:    "/api/jobseekers/saved",
			Status:  201,
			Errors:  []int{404},
			Summary: "Save a listing",
			Op:      answerWith(s.SaveJob, viewSavedJob, "Job saved successfully"),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/bookmarks",
			Summary: "List the caller's saved listings, latest first",
			Op: list(s.MyBookmarks, func(r page.Result[jobseeker.SavedJob], p web.Paging) bookmarksView {
				v := bookmarksView{SeekerPaged: seekerPaged(r, p)}
				v.Bookmarks.SavedJobs = web.Each(r.Items, viewSavedJob)
				return v
			}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/jobseekers/bookmarks",
			Limit:   web.PerQuarterHour(10),
			Status:  201,
			Errors:  []int{404},
			Summary: "Save a listing",
			Op:      answerWith(s.Bookmark, viewSavedJob, "Bookmark added successfully"),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/bookmarks/:id",
			Summary: "Get one of the caller's saved listings",
			Op: getByID(s.MyBookmark, func(j jobseeker.SavedJob) bookmarkView {
				return bookmarkView{Bookmark: viewSavedJob(j)}
			}),
		},
		{
			Method:  http.MethodPut,
			Path:    "/api/jobseekers/bookmarks/:id",
			Summary: "Set the note on a saved listing",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in NoteInput) (web.Done, error) {
					return web.Message("Bookmark updated successfully"), s.SetNotes(ctx, c.Actor, in.ID, in.NoteInput)
				}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/jobseekers/bookmarks/:id",
			Summary: "Remove a saved listing",
			Op: answerWith(byID(s.RemoveBookmark), func(id string) removedBookmarkView {
				return removedBookmarkView{ID: id, Type: jobBookmark}
			}, "Bookmark removed successfully"),
		},
	})
}

// NoteInput is the input of the operation that changes the note of the jobseeker on a saved listing.
type NoteInput struct {
	IDPath
	jobseeker.NoteInput
}

// jobBookmark is the type of bookmarks of listings, the only one.
const jobBookmark = "job"

// savedJobView is a saved listing.
type savedJobView struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	ListingID string    `json:"listingId"`
	Title     string    `json:"title"`
	Company   string    `json:"company"`
	Location  string    `json:"location"`
	Notes     string    `json:"notes"`
	SavedAt   time.Time `json:"savedAt"`
	// Available reports whether the listing is still visible.
	Available bool `json:"available"`
}

func viewSavedJob(j jobseeker.SavedJob) savedJobView {
	return savedJobView{
		ID:        j.ID,
		Type:      jobBookmark,
		ListingID: j.ListingID,
		Title:     j.Title,
		Company:   j.Company,
		Location:  j.Location,
		Notes:     j.Notes,
		SavedAt:   j.SavedAt,
		Available: j.Public,
	}
}

type bookmarksView struct {
	Bookmarks struct {
		SavedJobs []savedJobView `json:"savedJobs"`
	} `json:"bookmarks"`
	SeekerPaged
}

type bookmarkView struct {
	Bookmark savedJobView `json:"bookmark"`
}

type removedBookmarkView struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// profileRoutes returns the routes of a jobseeker's profile. A change of the e-mail address needs a confirmation by the
// identity service.
func profileRoutes(i *identity.Service, s *jobseeker.Service) []web.Route {
	const tag = "Profile"

	return []web.Route{
		{
			Method:   http.MethodGet,
			Path:     "/api/jobseekers/profile",
			Auth:     web.Required,
			Audience: web.Seeker,
			Tag:      tag,
			Summary:  "Get the caller's profile",
			Op:       getOwn(s.MyProfile, viewProfile),
		},
		{
			Method:   http.MethodPut,
			Path:     "/api/jobseekers/profile",
			Auth:     web.Required,
			Audience: web.Seeker,
			Limit:    web.PerQuarterHour(10),
			Errors:   []int{403, 409, 429},
			Tag:      tag,
			Summary:  "Change the profile; absent members stay unchanged. A new email address" + confirmationNeeded,
			Op: confirmedOp(i,
				func(ctx context.Context, actor auth.Actor, in ProfileIntentInput) (web.Reply[changedProfileView], error) {
					a, err := s.UpdateProfile(ctx, actor, *in.Profile)
					return web.OK(changedProfileView{Intent: in.Intent, Profile: viewProfile(a)}, "Profile updated successfully"), err
				}),
		},
	}
}

// ProfileIntentInput is the input of the operation that changes a profile. There is only one intent. A new e-mail
// address needs the Confirmation.
type ProfileIntentInput struct {
	Intent  string                  `json:"intent" validate:"required,oneof=update-profile"`
	Profile *jobseeker.ProfileInput `json:"profile" validate:"required"`
	Confirmation
}

type profileView struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	// PendingEmail is a new address that the user has to confirm before it replaces Email. It is null if there is none.
	PendingEmail *string `json:"pendingEmail"`

	Name      string `json:"name"`
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
	Bio       string `json:"bio"`
	Phone     string `json:"phone"`
	Location  string `json:"location"`

	Specialty   string `json:"specialty"`
	CurrentRole string `json:"currentRole"`
	Experience  string `json:"experience"`

	PreferredLocation string   `json:"preferredLocation"`
	LocationRadius    *int     `json:"locationRadius"` // miles
	EmploymentTypes   []string `json:"employmentTypes"`
	SalaryMin         *float64 `json:"salaryMin"`
	SalaryMax         *float64 `json:"salaryMax"`

	ShowProfile bool                   `json:"showProfile"`
	Preferences profilePreferencesView `json:"preferences"`
}

type profilePreferencesView struct {
	JobAlerts          bool `json:"jobAlerts"`
	EmailNotifications bool `json:"emailNotifications"`
}

type changedProfileView struct {
	Intent  string      `json:"intent"`
	Profile profileView `json:"profile"`
}

func viewProfile(a jobseeker.Account) profileView {
	return profileView{
		ID:                a.UserID,
		Email:             a.Email,
		PendingEmail:      optional(a.PendingEmail),
		Name:              a.Name,
		FirstName:         a.First(),
		LastName:          a.Last(),
		Bio:               a.Bio,
		Phone:             a.Phone,
		Location:          a.Location,
		Specialty:         a.Specialty,
		CurrentRole:       a.CurrentRole,
		Experience:        a.Experience,
		PreferredLocation: a.PreferredLocation,
		LocationRadius:    optional(a.LocationRadius),
		EmploymentTypes:   append([]string{}, a.EmploymentTypes...),
		SalaryMin:         a.SalaryMin,
		SalaryMax:         a.SalaryMax,
		ShowProfile:       a.ShowProfile,
		Preferences:       profilePreferencesView{JobAlerts: a.JobAlerts, EmailNotifications: a.EmailNotifications},
	}
}
