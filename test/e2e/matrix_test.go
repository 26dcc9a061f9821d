package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/portal"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/integrations"
)

// The role matrix has one row for each route of the portal API that identifies its caller. A row is a request. The test
// sends the request as every kind of user. The server must accept only a user of the right kind as the caller, and only
// for the user's own resources.

// matrixUsers are the users of the role matrix and their resources. Fields of type string are
// ids unless stated otherwise.
type matrixUsers struct {
	server                  *testServer
	guest                   *client
	seeker, otherSeeker     *account
	employer, otherEmployer *account
	// withoutPermissions is a member of the employer's organization.
	withoutPermissions *account
	member             string // another member, with the permissions of a recruiter

	// listing is a listing of the employer, and title is its title. The seeker has applied for the listing, and has a
	// notification about the application.
	listing, title string
	application    string
	notification   string
	export         string
	document       string
	// vacancy is a listing without applications that the seeker has bookmarked.
	vacancy, bookmark string

	// The following resources belong to the seeker as a developer. reader is a program with an API key of the app, and
	// writer is one with a token that has all scopes that the seeker can grant.
	app, key          string
	webhook, delivery string
	reader, writer    *client
	session           string // of the seeker
	consentedApp      string // client_id of an app to which the seeker has granted scopes
}

// matrixRow is a request that the server accepts from its authorized caller. It succeeds, except for the rows of
// failsAfterCallerCheck.
type matrixRow struct {
	path func(u *matrixUsers) string
	body func(u *matrixUsers) any
	// status is the status for the authorized caller: 200 unless set.
	status int
	// foreignStatus is the status for a user of the same kind who does not own
	// the resource: 404 unless set.
	foreignStatus int
	// foreignError is the message of the response with foreignStatus.
	foreignError string
	// isPerUser marks operations on the caller's own view of a public resource,
	// which another user may do as well.
	isPerUser bool
	// anyMember marks operations that a member needs no permission for.
	anyMember bool
	// isolated marks operations that change accounts or organizations
	// permanently, so that they run with separate users.
	isolated bool
	// prepare brings the resource into the state that the request needs.
	prepare func(u *matrixUsers)
}

// The functions below return the paths and bodies of requests for the rows of the matrix. Paths
// depend on the users, so that the functions return functions.

// fixedPath returns a path without ids.
func fixedPath(path string) func(*matrixUsers) string {
	return func(*matrixUsers) string { return path }
}

// failsAfterCallerCheck returns the row with a status of a failure. The server accepts the caller of such a request, and
// then refuses it for another reason, for example because its code or token is wrong. This is enough for the matrix, which
// only tests the check of the caller.
func failsAfterCallerCheck(status int, row matrixRow) matrixRow {
	row.status = status
	return row
}

// withBody returns a body without ids.
func withBody(body any) func(*matrixUsers) any { return func(*matrixUsers) any { return body } }

func employerJob(suffix string) func(*matrixUsers) string {
	return func(u *matrixUsers) string { return "/api/employers/jobs/" + u.listing + suffix }
}

func publicListing(suffix string) func(*matrixUsers) string {
	return func(u *matrixUsers) string { return "/api/listings/" + u.listing + suffix }
}

func moderatedListing(suffix string) func(*matrixUsers) string {
	return func(u *matrixUsers) string { return "/api/admin/jobs/" + u.listing + suffix }
}

func moderatedOrganization(suffix string) func(*matrixUsers) string {
	return func(u *matrixUsers) string {
		organization := u.employer.fromNewAddress().get("/api/employers/organization").ok(200)
		return "/api/admin/organizations/" + organization.text("data.organizationId") + suffix
	}
}

func receivedApplication(u *matrixUsers) string {
	return "/api/employers/applications/" + u.application
}

func applicationInterview(u *matrixUsers) string { return receivedApplication(u) + "/interview" }
func ownApplication(u *matrixUsers) string       { return "/api/jobseekers/applications/" + u.application }
func ownNotification(u *matrixUsers) string {
	return "/api/jobseekers/notifications/" + u.notification
}

func ownBookmark(u *matrixUsers) string { return "/api/jobseekers/bookmarks/" + u.bookmark }
func ownDocument(suffix string) func(*matrixUsers) string {
	return func(u *matrixUsers) string { return "/api/jobseekers/documents/" + u.document + suffix }
}

func ownApp(suffix string) func(*matrixUsers) string {
	return func(u *matrixUsers) string { return "/api/developers/apps/" + u.app + suffix }
}

func appWebhook(suffix string) func(*matrixUsers) string {
	return func(u *matrixUsers) string { return ownApp("/webhooks/" + u.webhook + suffix)(u) }
}

func memberPermissions(u *matrixUsers) string {
	return "/api/employers/team/" + u.member + "/permissions"
}

// matrix has a row for every route that identifies its caller, by method and path.
var matrix = map[string]matrixRow{
	"POST /api/auth/logout": {path: fixedPath("/api/auth/logout"), isolated: true},
	"GET /api/auth/me":      {path: fixedPath("/api/auth/me")},
	"POST /api/auth/change-password": {
		path:     fixedPath("/api/auth/change-password"),
		isolated: true,
		body:     withBody(object{"currentPassword": password, "newPassword": password + "1"}),
	},
	"GET /api/auth/sessions": {path: fixedPath("/api/auth/sessions")},
	"DELETE /api/auth/sessions/:id": {
		path:         func(u *matrixUsers) string { return "/api/auth/sessions/" + u.session },
		foreignError: "Session not found",
		prepare: func(u *matrixUsers) {
			u.server.guest(u.seeker.t).post("/api/auth/login", object{"email": u.seeker.email, "password": password}).ok(200)

			u.session = u.seeker.fromNewAddress().get("/api/auth/sessions").ok(200).text("data.sessions.0.id")
		},
	},
	"DELETE /api/auth/sessions":    {path: fixedPath("/api/auth/sessions"), isolated: true},
	"GET /api/auth/second-factor":  {path: fixedPath("/api/auth/second-factor")},
	"POST /api/auth/second-factor": {path: fixedPath("/api/auth/second-factor"), isolated: true},
	// The users have no second factor, and no invitation has the token "none".
	"POST /api/auth/second-factor/confirm": failsAfterCallerCheck(http.StatusConflict, matrixRow{
		path:     fixedPath("/api/auth/second-factor/confirm"),
		isolated: true,
		body:     withBody(object{"code": "000000"}),
	}),
	"DELETE /api/auth/second-factor": failsAfterCallerCheck(http.StatusConflict, matrixRow{
		path:     fixedPath("/api/auth/second-factor"),
		isolated: true,
		body:     withBody(object{"currentPassword": password, "code": "000000"}),
	}),
	"POST /api/auth/accept-invitation": failsAfterCallerCheck(http.StatusBadRequest, matrixRow{
		path: fixedPath("/api/auth/accept-invitation"),
		body: withBody(object{"token": "none", "password": password}),
	}),

	"GET /api/jobseekers/settings": {path: fixedPath("/api/jobseekers/settings")},
	"PUT /api/jobseekers/settings": {
		path: fixedPath("/api/jobseekers/settings"),
		body: withBody(object{"intent": "update-notifications", "email": true}),
	},
	"DELETE /api/jobseekers/profile": {path: fixedPath("/api/jobseekers/profile"), isolated: true},
	"GET /api/employers/profile":     {path: fixedPath("/api/employers/profile"), anyMember: true},
	"PUT /api/employers/profile": {
		path:      fixedPath("/api/employers/profile"),
		body:      withBody(object{"intent": "update-profile", "profile": object{"jobTitle": "Matron"}}),
		anyMember: true,
	},
	"DELETE /api/employers/profile": {path: fixedPath("/api/employers/profile"), isolated: true, anyMember: true},
	"GET /api/employers/settings":   {path: fixedPath("/api/employers/settings"), anyMember: true},
	"PUT /api/employers/settings": {
		path:      fixedPath("/api/employers/settings"),
		body:      withBody(object{"intent": "update-notifications", "emailAlerts": false}),
		anyMember: true,
	},
	"DELETE /api/employers/settings":  {path: fixedPath("/api/employers/settings"), isolated: true, anyMember: true},
	"GET /api/employers/organization": {path: fixedPath("/api/employers/organization"), anyMember: true},
	"PUT /api/employers/organization": {
		path:     fixedPath("/api/employers/organization"),
		isolated: true,
		body:     withBody(object{"name": "Renamed Clinic"}),
	},

	"GET /api/employers/audit": {path: fixedPath("/api/employers/audit")},
	"GET /api/employers/team":  {path: fixedPath("/api/employers/team")},
	"POST /api/employers/team": {
		path: fixedPath("/api/employers/team"),
		body: func(*matrixUsers) any { return object{"intent": "add-member", "name": "N", "email": newEmail()} },
	},
	"DELETE /api/employers/team/:id": {
		path:          func(u *matrixUsers) string { return teamPath(u.member) },
		isolated:      true,
		foreignStatus: 403,
		foreignError:  "Team member not in your organization",
	},
	"GET /api/employers/team/:id/permissions": {
		path:          memberPermissions,
		foreignStatus: 403,
		foreignError:  "Team member not in your organization",
	},
	"PUT /api/employers/team/:id/permissions": {
		path:          memberPermissions,
		isolated:      true,
		body:          withBody(object{"role": "viewer"}),
		foreignStatus: 403,
		foreignError:  "Team member not in your organization",
	},

	"POST /api/listings/:id/report":              {path: publicListing("/report"), body: withBody(object{"reason": "fraud"}), status: 201},
	"GET /api/admin/cases":                       {path: fixedPath("/api/admin/cases")},
	"GET /api/admin/jobs/:id":                    {path: moderatedListing("")},
	"POST /api/admin/jobs/:id/take-down":         {path: moderatedListing("/take-down"), body: withBody(object{"message": "No fees."})},
	"POST /api/admin/jobs/:id/restore":           {path: moderatedListing("/restore"), body: withBody(object{})},
	"GET /api/admin/organizations/:id":           {path: moderatedOrganization("")},
	"POST /api/admin/organizations/:id/standing": {path: moderatedOrganization("/standing"), body: withBody(object{"action": "unverify"})},
	"POST /api/admin/accounts/:id/standing": {
		path:     func(u *matrixUsers) string { return "/api/admin/accounts/" + u.otherSeeker.id + "/standing" },
		isolated: true,
		body:     withBody(object{"action": "suspend"}),
	},

	"GET /api/listings":         {path: fixedPath("/api/listings")},
	"GET /api/listings/:id":     {path: publicListing("")},
	"POST /api/listings/search": {path: fixedPath("/api/listings/search"), body: withBody(object{"query": "nurse"})},
	"PATCH /api/listings/:id": {
		path:         publicListing(""),
		body:         withBody(object{"meta": object{"a": 1}}),
		foreignError: "Listing not found",
	},
	"POST /api/listings/:id/restore": {
		path:         publicListing("/restore"),
		foreignError: "Listing not found or not deleted",
		prepare:      func(u *matrixUsers) { u.employer.fromNewAddress().delete("/api/employers/jobs/" + u.listing).ok(200) },
	},
	"POST /api/listings/:id/archive": {path: publicListing("/archive"), foreignError: "Listing not found"},
	"PUT /api/listings/batch": {
		path: fixedPath("/api/listings/batch"),
		body: func(u *matrixUsers) any { return []object{{"uuid": u.listing, "meta": object{"b": 2}}} },
	},

	"GET /api/employers/jobs": {path: fixedPath("/api/employers/jobs")},
	"POST /api/employers/jobs": {
		path:   fixedPath("/api/employers/jobs"),
		body:   withBody(object{"title": "T", "description": "D"}),
		status: 201,
	},
	"POST /api/employers/jobs/batch": {
		path: fixedPath("/api/employers/jobs/batch"),
		body: withBody(object{"jobs": []object{{"title": "T", "description": "D"}}}),
	},
	"PUT /api/employers/jobs/batch": {
		path: fixedPath("/api/employers/jobs/batch"),
		body: func(u *matrixUsers) any { return object{"jobs": []object{{"id": u.listing, "title": "Mine"}}} },
	},
	"GET /api/employers/jobs/:id": {path: employerJob(""), foreignError: "Job listing not found"},
	"PUT /api/employers/jobs/:id": {
		path:         employerJob(""),
		body:         withBody(object{"title": "Taken"}),
		foreignError: "Job listing not found",
	},
	"DELETE /api/employers/jobs/:id":         {path: employerJob(""), foreignError: "Job listing not found"},
	"POST /api/employers/jobs/:id/duplicate": {path: employerJob("/duplicate"), foreignError: "Job listing not found"},
	"POST /api/employers/jobs/:id/renew":     {path: employerJob("/renew"), foreignError: "Job listing not found"},

	"GET /api/employers/jobs/export":         {path: fixedPath("/api/employers/jobs/export")},
	"GET /api/employers/jobs/:id/analytics":  {path: employerJob("/analytics"), foreignError: "Job listing not found"},
	"GET /api/employers/analytics":           {path: fixedPath("/api/employers/analytics")},
	"GET /api/employers/applications/stats":  {path: fixedPath("/api/employers/applications/stats")},
	"GET /api/employers/applications/export": {path: fixedPath("/api/employers/applications/export")},

	"GET /api/jobseekers/applications": {path: fixedPath("/api/jobseekers/applications")},
	"POST /api/jobseekers/applications": {
		path:   fixedPath("/api/jobseekers/applications"),
		body:   func(u *matrixUsers) any { return object{"listingId": u.employer.listing(nil)} },
		status: 201,
	},
	"GET /api/jobseekers/applications/:id": {path: ownApplication, foreignError: "Application not found"},
	"PUT /api/jobseekers/applications/:id": {
		path:         ownApplication,
		body:         withBody(object{"status": "in-progress"}),
		foreignError: "Application not found",
	},
	"DELETE /api/jobseekers/applications/:id": {path: ownApplication, foreignError: "Application not found"},

	"GET /api/jobseekers/profile": {path: fixedPath("/api/jobseekers/profile")},
	"PUT /api/jobseekers/profile": {
		path: fixedPath("/api/jobseekers/profile"),
		body: withBody(object{"intent": "update-profile", "profile": object{"bio": "Nurse"}}),
	},

	"POST /api/jobseekers/saved": {
		path:   fixedPath("/api/jobseekers/saved"),
		body:   func(u *matrixUsers) any { return object{"listingId": u.employer.listing(nil)} },
		status: 201,
	},
	"GET /api/jobseekers/bookmarks": {path: fixedPath("/api/jobseekers/bookmarks")},
	"POST /api/jobseekers/bookmarks": {
		path:   fixedPath("/api/jobseekers/bookmarks"),
		body:   func(u *matrixUsers) any { return object{"listingId": u.employer.listing(nil)} },
		status: 201,
	},
	"GET /api/jobseekers/bookmarks/:id":    {path: ownBookmark, foreignError: "Bookmark not found"},
	"PUT /api/jobseekers/bookmarks/:id":    {path: ownBookmark, body: withBody(object{"notes": "x"}), foreignError: "Bookmark not found"},
	"DELETE /api/jobseekers/bookmarks/:id": {path: ownBookmark, foreignError: "Bookmark not found"},

	"GET /api/jobseekers/analytics": {path: fixedPath("/api/jobseekers/analytics")},

	"GET /api/jobseekers/documents": {path: fixedPath("/api/jobseekers/documents")},
	"POST /api/jobseekers/documents": {
		path: fixedPath("/api/jobseekers/documents"),
		body: withBody(object{"intent": "upload-document", "type": "cv", "content": "x"}),
	},
	"GET /api/jobseekers/documents/:id":      {path: ownDocument(""), foreignError: "Document not found"},
	"GET /api/jobseekers/documents/:id/file": {path: ownDocument("/file"), foreignError: "Document not found"},
	"PUT /api/jobseekers/documents/:id": {
		path:         ownDocument(""),
		body:         withBody(object{"title": "x"}),
		foreignError: "Document not found",
	},
	"DELETE /api/jobseekers/documents/:id": {path: ownDocument(""), foreignError: "Document not found"},

	"GET /api/jobseekers/notifications": {path: fixedPath("/api/jobseekers/notifications")},
	"PUT /api/jobseekers/notifications/:id": {
		path:         ownNotification,
		body:         withBody(object{"read": true}),
		foreignError: "Notification not found",
	},
	"DELETE /api/jobseekers/notifications/:id": {path: ownNotification, foreignError: "Notification not found"},
	"GET /api/jobseekers/activity":             {path: fixedPath("/api/jobseekers/activity")},
	"GET /api/jobseekers/onboarding":           {path: fixedPath("/api/jobseekers/onboarding")},
	"POST /api/jobseekers/onboarding": {
		path: fixedPath("/api/jobseekers/onboarding"),
		body: withBody(form{"action": {"track_step"}, "step": {"profile"}, "actionType": {"viewed"}}),
	},
	"GET /api/jobseekers/billing": {path: fixedPath("/api/jobseekers/billing")},
	"POST /api/jobseekers/billing": {
		path: fixedPath("/api/jobseekers/billing"),
		body: withBody(object{"intent": "update-payment-method", "paymentMethodId": "pm_card_visa"}),
	},
	"POST /api/billing/setup-intents": {path: fixedPath("/api/billing/setup-intents")},
	"GET /api/jobseekers/search":      {path: fixedPath("/api/jobseekers/search")},
	"POST /api/jobseekers/search": {
		path: fixedPath("/api/jobseekers/search"),
		body: withBody(object{"intent": "save-search", "query": "nurse"}),
	},
	"GET /api/jobseekers/recommendations": {path: fixedPath("/api/jobseekers/recommendations"), isPerUser: true},
	"DELETE /api/jobseekers/recommendations/:id": {
		path:      func(u *matrixUsers) string { return "/api/jobseekers/recommendations/" + u.listing },
		isPerUser: true,
	},
	"GET /api/jobseekers/dashboard": {path: fixedPath("/api/jobseekers/dashboard"), isPerUser: true},
	"POST /api/jobseekers/dashboard": {
		path:      fixedPath("/api/jobseekers/dashboard"),
		body:      withBody(object{"intent": "generate-personalized-content"}),
		isPerUser: true,
	},
	"GET /api/jobseekers/export/applications": {path: fixedPath("/api/jobseekers/export/applications")},
	"GET /api/jobseekers/export/profile":      {path: fixedPath("/api/jobseekers/export/profile?format=csv")},

	"GET /api/employers/applications":     {path: fixedPath("/api/employers/applications")},
	"GET /api/employers/applications/:id": {path: receivedApplication, foreignError: "Application not found"},
	"PUT /api/employers/applications/:id": {
		path:         receivedApplication,
		body:         withBody(object{"status": "review"}),
		foreignError: "Application not found",
	},
	"DELETE /api/employers/applications/:id": {path: receivedApplication, foreignError: "Application not found"},
	"POST /api/employers/applications/:id/interview": {
		path:         applicationInterview,
		body:         withBody(appointment(nil)),
		foreignError: "Application not found",
	},
	"PUT /api/employers/applications/:id/interview": {
		path:         applicationInterview,
		body:         withBody(object{"outcome": "pass"}),
		foreignError: "Application not found",
		prepare: func(u *matrixUsers) {
			u.employer.post(applicationInterview(u), appointment(nil)).ok(200)
		},
	},
	"GET /api/employers/applications/:id/documents": {
		path:         func(u *matrixUsers) string { return receivedApplication(u) + "/documents" },
		foreignError: "Application not found",
	},
	"GET /api/employers/applications/:id/documents/:documentId": {
		path: func(u *matrixUsers) string {
			documents := u.employer.fromNewAddress().get(receivedApplication(u) + "/documents").ok(200)
			return receivedApplication(u) + "/documents/" + documents.text("data.documents.0.id")
		},
		foreignError: "Application not found",
	},
	"POST /api/employers/applications/:id/contact": {
		path:         func(u *matrixUsers) string { return receivedApplication(u) + "/contact" },
		body:         withBody(object{"subject": "Hello", "message": "there"}),
		foreignError: "Application not found",
	},
	"POST /api/employers/exports": {
		path:   fixedPath("/api/employers/exports"),
		body:   withBody(object{"kind": "jobs"}),
		status: 202,
	},
	"GET /api/employers/exports/:id": {
		path:         func(u *matrixUsers) string { return "/api/employers/exports/" + u.export },
		foreignError: "Export not found",
	},
	"GET /api/employers/interviews": {path: fixedPath("/api/employers/interviews")},

	"POST /api/developers/apps": {
		path:   fixedPath("/api/developers/apps"),
		body:   withBody(object{"name": "Ward Finder"}),
		status: 201,
	},
	"GET /api/developers/apps":     {path: fixedPath("/api/developers/apps")},
	"GET /api/developers/apps/:id": {path: ownApp(""), foreignError: "Application not found"},
	"PUT /api/developers/apps/:id": {
		path:         ownApp(""),
		body:         withBody(object{"name": "Bed Finder"}),
		foreignError: "Application not found",
	},
	"DELETE /api/developers/apps/:id":      {path: ownApp(""), foreignError: "Application not found"},
	"POST /api/developers/apps/:id/secret": {path: ownApp("/secret"), foreignError: "Application not found"},
	"POST /api/developers/apps/:id/keys": {
		path:         ownApp("/keys"),
		body:         withBody(object{"name": "Production"}),
		status:       201,
		foreignError: "Application not found",
	},
	"GET /api/developers/apps/:id/keys": {path: ownApp("/keys"), foreignError: "Application not found"},
	"DELETE /api/developers/apps/:id/keys/:keyId": {
		path:         func(u *matrixUsers) string { return "/api/developers/apps/" + u.app + "/keys/" + u.key },
		foreignError: "Application not found",
	},
	"POST /api/developers/apps/:id/plan": {
		path:         ownApp("/plan"),
		body:         withBody(object{"plan": "professional", "paymentMethodId": "pm_card_visa"}),
		foreignError: "Application not found",
	},
	"GET /api/auth/consents": {path: fixedPath("/api/auth/consents")},
	"DELETE /api/auth/consents/:clientId": {
		path:         func(u *matrixUsers) string { return "/api/auth/consents/" + u.consentedApp },
		foreignError: "Consent not found",
		prepare:      func(u *matrixUsers) { u.consentedApp = u.server.authorizeApp(u.seeker.t, u.seeker) },
	},
	"GET /api/developers/apps/:id/usage": {path: ownApp("/usage"), foreignError: "Application not found"},

	"POST /api/developers/apps/:id/webhooks": {
		path:         ownApp("/webhooks"),
		body:         withBody(object{"url": "https://receiver.invalid/hook", "events": []string{"job.created"}}),
		status:       201,
		foreignError: "Application not found",
	},
	"GET /api/developers/apps/:id/webhooks": {
		path:         ownApp("/webhooks"),
		foreignError: "Application not found",
	},
	"GET /api/developers/apps/:id/webhooks/:webhookId": {
		path:         appWebhook(""),
		foreignError: "Application not found",
	},
	"PUT /api/developers/apps/:id/webhooks/:webhookId": {
		path:         appWebhook(""),
		body:         withBody(object{"events": []string{"application.submitted"}}),
		foreignError: "Application not found",
	},
	"DELETE /api/developers/apps/:id/webhooks/:webhookId": {
		path:         appWebhook(""),
		foreignError: "Application not found",
	},
	"POST /api/developers/apps/:id/webhooks/:webhookId/secret": {
		path:         appWebhook("/secret"),
		foreignError: "Application not found",
	},
	"POST /api/developers/apps/:id/webhooks/:webhookId/test": {
		path:         appWebhook("/test"),
		body:         withBody(object{"type": "job.closed"}),
		status:       202,
		foreignError: "Application not found",
	},
	"GET /api/developers/apps/:id/webhooks/:webhookId/deliveries": {
		path:         appWebhook("/deliveries"),
		foreignError: "Application not found",
	},
	"POST /api/developers/apps/:id/webhooks/:webhookId/replay": {
		path:         appWebhook("/replay"),
		body:         withBody(object{"since": "2026-01-01"}),
		status:       202,
		foreignError: "Application not found",
	},
	"POST /api/developers/apps/:id/webhooks/:webhookId/deliveries/:deliveryId/replay": {
		path:         func(u *matrixUsers) string { return appWebhook("/deliveries/" + u.delivery + "/replay")(u) },
		status:       202,
		foreignError: "Application not found",
	},

	"POST /api/employers/applications/batch": {
		path: fixedPath("/api/employers/applications/batch"),
		body: func(u *matrixUsers) any {
			return object{"applications": []object{{"id": u.application, "status": "review"}}}
		},
	},
}

// newMatrixUsersWithResources returns users with all resources.
func newMatrixUsersWithResources(t *testing.T, server *testServer) *matrixUsers {
	t.Helper()

	u := newMatrixUsers(t, server)
	u.createResources()
	u.createDeveloperResources()

	u.consentedApp = server.authorizeApp(t, u.seeker)
	u.reader = u.seeker.programOf(u.app)
	u.writer = u.seeker.grantApp(u.app, integrations.Scopes()...)

	return u
}

// newMatrixUsers returns users without resources. Most of its time is password
// hashing.
func newMatrixUsers(t *testing.T, server *testServer) *matrixUsers {
	t.Helper()

	users := &matrixUsers{
		server:        server,
		guest:         server.guest(t),
		seeker:        server.seeker(t),
		otherSeeker:   server.seeker(t),
		employer:      server.employer(t),
		otherEmployer: server.employer(t),
	}
	users.withoutPermissions = server.addMember(t, users.employer,
		object{"jobs": object{"create": false, "update": false, "delete": false}, "applications": object{"view": false, "update": false}})
	users.member = server.addMember(t, users.employer, nil).id

	return users
}

// sharedMatrixUsers returns a function that creates the users on its first call and returns the same users afterwards. They
// are not created earlier, because sensitive operations need a sign-in within the last minutes.
func sharedMatrixUsers(server *testServer) func(t *testing.T) *matrixUsers {
	var once sync.Once
	var users *matrixUsers

	return func(t *testing.T) *matrixUsers {
		t.Helper()
		once.Do(func() { users = newMatrixUsers(t, server) })
		require.NotNil(t, users, "the test that created the users failed")

		return users
	}
}

// forTest returns the same users, whose clients report failures to another test, without
// resources.
func (u *matrixUsers) forTest(t *testing.T) *matrixUsers {
	withTest := func(a *account) *account {
		accountCopy := *a
		clientCopy := *a.client
		clientCopy.t = t
		accountCopy.client = &clientCopy

		return &accountCopy
	}

	return &matrixUsers{
		server:             u.server,
		guest:              u.server.guest(t),
		seeker:             withTest(u.seeker),
		otherSeeker:        withTest(u.otherSeeker),
		employer:           withTest(u.employer),
		otherEmployer:      withTest(u.otherEmployer),
		withoutPermissions: withTest(u.withoutPermissions),
		member:             u.member,
	}
}

// createResources creates the resources of jobseekers and employers.
func (u *matrixUsers) createResources() {
	t := u.seeker.t
	t.Helper()

	u.title = "Ward " + newEmail()
	u.listing = u.employer.listing(object{"title": u.title})
	u.document = u.seeker.document(nil)
	u.application = u.seeker.application(u.listing, object{"documentIds": []string{u.document}})
	u.employer.fromNewAddress().put("/api/employers/applications/"+u.application, object{"status": "review"}).ok(200)

	u.notification = u.seeker.waitForNotification(u.title)
	u.vacancy = u.employer.listing(nil)
	u.bookmark = u.seeker.fromNewAddress().post("/api/jobseekers/saved", object{"listingId": u.vacancy}).ok(201).text("data.id")
	u.export = u.employer.fromNewAddress().post("/api/employers/exports", object{"kind": "jobs"}).ok(202).text("data.id")
}

// createDeveloperResources creates the resources of a developer for the jobseeker. The webhook
// subscribes to an event that the tests hardly cause, at a host that does not exist.
func (u *matrixUsers) createDeveloperResources() {
	developer := u.seeker.fromNewAddress()
	developer.t.Helper()

	u.app = developer.post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201).text("data.app.id")
	u.key = developer.post("/api/developers/apps/"+u.app+"/keys", object{"name": "One"}).ok(201).text("data.key.id")
	u.webhook = developer.post("/api/developers/apps/"+u.app+"/webhooks", object{
		"url":    "https://receiver.invalid/hook",
		"events": []string{"job.closed"},
	}).
		ok(201).
		text("data.webhook.id")
	u.delivery = developer.post("/api/developers/apps/"+u.app+"/webhooks/"+u.webhook+"/test", nil).ok(202).text("data.delivery.id")
}

// routes returns the routes of the portal API.
func routes() []web.Route { return portal.API(adapters.Services{}).Routes }

// developerRoutes returns the routes of the developer API.
func developerRoutes() []web.Route { return developer.API(adapters.Services{}, "").Routes }

// TestRoleMatrix_EveryRoute_HasARow checks that no route escapes the matrix: a new route that
// identifies its caller needs a row, and an employer's route needs a permission or anyMember.
func TestRoleMatrix_EveryRoute_HasARow(t *testing.T) {
	t.Parallel()

	known := map[string]bool{}
	for _, route := range routes() {
		key := route.Method + " " + route.Path
		known[key] = true
		_, hasRow := matrix[key]
		require.Equal(t, route.Auth != web.None, hasRow,
			"%s: exactly the routes that identify their caller have a row in the matrix", key)

		if route.Audience == web.Employer || route.Audience == web.EmployerSide {
			require.Equal(t, matrix[key].anyMember, route.Permission == "",
				"%s: either any member may use the route, or it requires a permission", key)
		}
	}

	for key := range matrix {
		require.True(t, known[key], "%s is no longer a route", key)
	}
}

// TestRoleMatrix sends the request of every row as every kind of user and requires the
// documented status of each.
func TestRoleMatrix(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// The rows of a group of routes share their users, because creating users is slow. The groups are small, because
		// each row creates resources of its own, and a user can have a limited number of them.
		const routesPerGroup = 40
		for group := range slices.Chunk(routes(), routesPerGroup) {
			usersOfGroup := sharedMatrixUsers(server)
			for _, route := range group {
				row, hasRow := matrix[route.Method+" "+route.Path]
				if !hasRow {
					continue // TestRoleMatrix_EveryRoute_HasARow checks that the route does not identify its caller
				}

				t.Run(route.Method+" "+route.Path, func(t *testing.T) {
					t.Parallel()
					row.check(t, row.newUsers(t, usersOfGroup, route), route)
				})
			}
		}
	})
}

// newUsers returns the users of the group, or separate ones for an isolated row. It creates the resources that the request
// needs.
func (row matrixRow) newUsers(t *testing.T, usersOfGroup func(*testing.T) *matrixUsers, route web.Route) *matrixUsers {
	t.Helper()

	users := usersOfGroup(t).forTest(t)
	if row.isolated {
		users = newMatrixUsers(t, users.server)
	}

	users.createResources()

	if strings.HasPrefix(route.Path, "/api/developers/") {
		users.createDeveloperResources()
	}

	if row.prepare != nil {
		row.prepare(users)
	}

	return users
}

// check sends the row's request as every kind of user, and requires the status of each. The authorized caller is last,
// because the request may change or delete the resource.
func (row matrixRow) check(t *testing.T, users *matrixUsers, route web.Route) {
	t.Helper()

	sendAs := func(caller *client) *response {
		var body any
		if row.body != nil {
			body = row.body(users)
		}

		return caller.fromNewAddress().send(route.Method, row.path(users), body)
	}

	// An invalid token, and no token.
	sendAs(&client{t: t, server: users.server, token: "nonsense"}).fails(http.StatusUnauthorized, "Unauthorized")

	if route.Auth == web.Required {
		sendAs(users.guest).fails(http.StatusUnauthorized, "Unauthorized")
	} else {
		require.Less(t, sendAs(users.guest).status, 401, "guests are admitted")
	}

	// Users of the wrong kind, and a member of the right organization without the permission.
	switch route.Audience {
	case web.Seeker:
		sendAs(users.employer.client).fails(http.StatusForbidden, "Forbidden")
	case web.Employer, web.EmployerSide:
		sendAs(users.seeker.client).fails(http.StatusForbidden, "Forbidden")
	case web.Moderator:
		sendAs(users.seeker.client).fails(http.StatusForbidden, "Forbidden")
		sendAs(users.employer.client).fails(http.StatusForbidden, "Forbidden")
	}

	if route.Permission != "" {
		sendAs(users.withoutPermissions.client).fails(http.StatusForbidden, "Forbidden")
	}

	// The owner of the resource, and a user of the same kind who does not own it.
	authorized, nonOwner := users.seeker, users.otherSeeker
	switch route.Audience {
	case web.Employer, web.EmployerSide:
		authorized, nonOwner = users.employer, users.otherEmployer
	case web.Moderator:
		authorized = users.server.moderator(t)
	}

	// Only private resources have an owner. Those of developers are private, although their routes are for users of any
	// kind.
	isForOwner := route.Audience != web.Anyone && route.Audience != web.Moderator

	isOfDeveloper := strings.HasPrefix(route.Path, "/api/developers/")
	if isForOwner || isOfDeveloper {
		row.checkNonOwner(t, users, route, sendAs(nonOwner.client))
	}

	status := row.status
	if status == 0 {
		status = http.StatusOK
	}

	require.Equal(t, status, sendAs(authorized.client).status, "the authorized caller")
}

// checkNonOwner checks the response to a user of the same kind who does not own the resource.
// Such a resource is reported as not found. Operations without an id, such as lists and
// batches, succeed but must not contain it.
func (row matrixRow) checkNonOwner(t *testing.T, users *matrixUsers, route web.Route, res *response) {
	t.Helper()

	if strings.Contains(route.Path, "/:id") && !row.isPerUser {
		status := row.foreignStatus
		if status == 0 {
			status = http.StatusNotFound
		}

		res.fails(status, row.foreignError)

		return
	}

	// The response to a batch repeats the items of the request that it refuses. They have ids, but no title.
	if !row.isPerUser {
		require.NotContains(t, string(res.raw), users.title, "another user's listing")
	}

	require.NotContains(t, string(res.raw), users.seeker.email, "another user's e-mail address")
}
