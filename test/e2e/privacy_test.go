package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// uniqueUser is a user whose names and address no other user has, so that any remaining
// personal data can be found.
type uniqueUser struct {
	*account
	first, last string // names
	local       string // the address before the @
}

// registerUnique registers a user of the type "jobseeker" or "employer".
func (s *testServer) registerUnique(t testing.TB, userType string) uniqueUser {
	t.Helper()

	guest := s.guest(t)
	tag := newEmail()[1:9] // a part that differs for each address
	user := uniqueUser{first: "Zephyrine" + tag, last: "Quillfeather" + tag, local: "zq" + tag}
	email := user.local + "@privacy.example"
	registered := guest.post("/api/auth/register", object{
		"email":    email,
		"password": password,
		"name":     user.first + " " + user.last,
		"userType": userType,
	})
	user.account = s.account(t, registered, guest, email)

	return user
}

// words returns the words that identify the user.
func (u uniqueUser) words() []string { return []string{u.email, u.local, u.first, u.last} }

// findTraces returns the places that contain the user's personal data: columns of the database, and stored files. It does
// not look at sent e-mails, which the server cannot recall.
func (u uniqueUser) findTraces() []string {
	u.t.Helper()

	var places []string
	for column, example := range kit.ColumnsContaining(u.t, u.server.databaseURL(), u.words()...) {
		places = append(places, column+": "+example)
	}

	root := filepath.Join(u.server.dir, "data", "files")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server deleted the file meanwhile
		}

		if err == nil && entry.IsDir() {
			return nil
		}

		content, _ := os.ReadFile(path) // empty if the server has deleted the file meanwhile
		for _, word := range u.words() {
			if bytes.Contains(content, []byte(word)) || strings.Contains(path, word) {
				places = append(places, path)
			}
		}

		return err
	})
	require.NoError(u.t, err)

	return places
}

// requireErased waits until no personal data is left, since background tasks delete some of it,
// and requires that the log never contained any.
func (u uniqueUser) requireErased() {
	u.t.Helper()
	var remaining []string

	isErased := func() bool {
		remaining = u.findTraces()
		return len(remaining) == 0
	}
	if !assert.Eventually(u.t, isErased, waitTimeout, 100*time.Millisecond) {
		require.Empty(u.t, remaining, "remaining data of %s", u.email)
	}

	log := u.server.log.String()
	require.NotContains(u.t, log, u.email)
	require.NotContains(u.t, log, u.first)
}

// createApp creates an app with the user's name in every text.
func (u uniqueUser) createApp() {
	u.t.Helper()

	app := u.fromNewAddress().
		post("/api/developers/apps", object{
			"name":         u.first,
			"description":  u.last,
			"redirectUris": []string{"https://" + u.local + ".example/cb"},
		}).
		ok(201).
		text("data.app.id")
	u.fromNewAddress().post("/api/developers/apps/"+app+"/keys", object{"name": u.first}).ok(201)
	u.fromNewAddress().post("/api/developers/apps/"+app+"/plan", object{"plan": "professional", "paymentMethodId": "pm_card_visa"}).ok(200)
	u.server.waitForMail(u.t, u.email, "Your Professional plan has begun")
}

// TestDeleteAccount_Jobseeker_LeavesNothing checks that the deletion of a jobseeker's account
// erases all personal data (GDPR Article 17), also in the data of employers, such as messages,
// interviews and exports.
func TestDeleteAccount_Jobseeker_LeavesNothing(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		user := server.registerUnique(t, "jobseeker")
		employer := server.employer(t)

		application := user.useEverything(employer)
		export := user.beProcessedBy(employer, application)

		// If findTraces did not find data that exists, the test could not fail. The requests have written the name to many
		// more places than this minimum.
		const minPlaces = 9
		require.GreaterOrEqual(t, len(user.findTraces()), minPlaces, "findTraces misses data of the user")

		user.delete("/api/jobseekers/profile").ok(200)
		user.requireSignedOut(t)
		user.requireErased()

		t.Run("employer keeps the application without its applicant", func(t *testing.T) {
			seen := employer.get("/api/employers/applications/" + application).ok(200)
			require.Equal(t, "Deleted user", seen.text("data.application.applicantName"))
			require.Empty(t, seen.text("data.application.applicantEmail"))
			require.Equal(t, "withdrawn", seen.text("data.application.status"))
		})

		t.Run("export and invitation, which contain the name, are deleted", func(t *testing.T) {
			employer.get("/api/employers/exports/"+export).fails(404, "Export not found")

			// Without the invited user, the team has the employer only.
			require.Len(t, employer.get("/api/employers/team").ok(200).list("data.team"), 1)
		})

		t.Run("address can be registered again, for a new account without the old data", func(t *testing.T) {
			guest := server.guest(t)
			registered := guest.post("/api/auth/register", object{
				"email":    user.email,
				"password": password,
				"name":     "Somebody Else",
				"userType": "jobseeker",
			})
			newAccount := server.account(t, registered, guest, user.email)
			require.NotEqual(t, user.id, newAccount.id)
			require.Empty(t, newAccount.get("/api/jobseekers/applications").ok(200).list("data.applications"))
		})
	})
}

// otherAddress is an address to which the user wants to change the account.
func (u uniqueUser) otherAddress() string { return u.local + "@elsewhere.example" }

// useEverything does everything that a jobseeker can do, with the user's name in every text. It returns the id of
// an application to the employer.
func (u uniqueUser) useEverything(employer *account) (application string) {
	u.t.Helper()

	personalText := "I am " + u.first + " " + u.last + " <" + u.email + ">"
	listing := employer.listing(object{"title": "Staff Nurse", "questions": []object{{"id": "why", "text": "Why?", "required": false}}})
	otherListing := employer.listing(object{"title": "Ward Sister"})
	seeker := u.fromNewAddress // each request from another address, because limits count addresses

	// The profile and the settings.
	seeker().put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{
		"firstName":   u.first,
		"lastName":    u.last,
		"bio":         personalText,
		"phone":       "+44 20 7946 0000",
		"location":    "Leeds",
		"currentRole": personalText[:40],
		"email":       u.otherAddress(),
	}}).ok(200)
	seeker().put("/api/jobseekers/settings", object{"intent": "update-profile", "profile": object{"bio": personalText}}).ok(200)
	seeker().put("/api/jobseekers/settings", object{"intent": "update-privacy", "showProfile": true}).ok(200)

	// Applications and documents.
	application = seeker().post("/api/jobseekers/applications", object{
		"listingId":   listing,
		"coverLetter": personalText,
		"answers":     []object{{"question_id": "why", "answer": personalText}},
	}).
		ok(201).
		text("data.id")
	u.application(otherListing, object{"coverLetter": personalText})
	seeker().put("/api/jobseekers/applications/"+application, object{"status": "in-progress", "statusColor": u.first}).ok(200)
	seeker().post("/api/jobseekers/documents", object{
		"intent":   "upload-document",
		"type":     "cv",
		"title":    u.first,
		"fileName": u.last + ".txt",
		"content":  personalText,
	}).
		ok(200)

	// Bookmarks and searches.
	saved := seeker().post("/api/jobseekers/saved", object{"listingId": listing}).ok(201).text("data.id")
	seeker().put("/api/jobseekers/bookmarks/"+saved, object{"notes": personalText}).ok(200)
	seeker().post("/api/jobseekers/search", object{
		"intent":      "save-search",
		"name":        u.first + "'s search",
		"query":       "nurse",
		"emailAlerts": true,
	}).
		ok(200)

	// The onboarding.
	seeker().post(onboardingPath, form{"action": {"capture_email"}, "email": {u.email}, "source": {"apply"}}).ok(200)
	seeker().post(onboardingPath, form{
		"action":      {"update_preferences"},
		"preferences": {`{"call me":"` + u.first + `"}`},
	}).
		ok(200)

	// A subscription, a reset link, a second session and an app.
	seeker().post("/api/jobseekers/billing", object{
		"intent":          "create-subscription",
		"planId":          "premium",
		"paymentMethodId": "pm_card_visa",
	}).
		ok(200)
	u.server.guest(u.t).post("/api/auth/forgot-password", object{"email": u.email}).ok(200)
	u.signIn(password)
	u.createApp()

	return application
}

// beProcessedBy does everything that the employer can do with the user's application: an interview, a message, a
// decision, an invitation to the team, and an export, whose id it returns. It waits until the e-mails to the user
// are sent, because the user's name may otherwise be in tasks.
func (u uniqueUser) beProcessedBy(employer *account, application string) (export string) {
	u.t.Helper()

	path := "/api/employers/applications/" + application
	employer.post(path+"/interview", appointment(object{"notes": u.first + " was kind"})).ok(200)
	employer.post(path+"/contact", object{"subject": "Dear " + u.first, "message": u.first + ", can you come?"}).ok(200)
	employer.fromNewAddress().put(path, object{"status": "interview"}).ok(200)
	employer.fromNewAddress().post("/api/employers/team", object{
		"intent": "add-member",
		"name":   u.first,
		"email":  u.email,
	}).ok(200)

	export = employer.post("/api/employers/exports", object{"kind": "applications"}).ok(202).text("data.id")
	isExported := func() bool {
		return employer.get("/api/employers/exports/"+export).ok(200).text("data.status") == "completed"
	}
	require.Eventually(u.t, isExported, waitTimeout, 20*time.Millisecond)

	u.server.waitForMail(u.t, u.otherAddress(), "confirm your new")
	u.server.waitForMail(u.t, u.email, "Set a new password")
	u.server.waitForMail(u.t, u.email, "Join ")

	return export
}

// TestDeleteAccount_Employer_LeavesNothing checks that the deletion of the account of an
// organization's only admin erases all personal data and closes the jobs. An applicant keeps the
// application.
func TestDeleteAccount_Employer_LeavesNothing(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// The organization gets the user's name.
		user := server.registerUnique(t, "employer")
		user.fromNewAddress().
			put("/api/employers/profile", object{
				"intent":  "update-profile",
				"profile": object{"jobTitle": "Head, " + user.first, "email": user.otherAddress()},
			}).
			ok(200)
		user.fromNewAddress().
			put("/api/jobseekers/settings", object{
				"intent":  "update-contact",
				"contact": object{"name": user.first, "email": user.email, "phone": "+44 20 7946 0000"},
			}).
			ok(200)
		user.fromNewAddress().put("/api/employers/settings", object{"intent": "update-notifications", "emailAlerts": true}).ok(200)

		open := user.listing(nil)
		paused := user.listing(nil)
		user.fromNewAddress().put("/api/employers/jobs/"+paused, object{"status": "inactive"}).ok(200)

		applicant := server.seeker(t)
		id := applicant.application(open, nil)
		applicant.fromNewAddress().post("/api/jobseekers/saved", object{"listingId": open}).ok(201)
		user.post("/api/employers/applications/"+id+"/interview", appointment(nil)).ok(200)
		user.post("/api/employers/applications/"+id+"/contact", object{"subject": "Hello", "message": "there"}).ok(200)
		user.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": newEmail()}).ok(200)
		user.createApp()
		server.waitForMail(t, user.otherAddress(), "confirm your new")

		// If findTraces did not find data that exists, the test could not fail. The requests have written the name to many
		// more places than this minimum.
		const minPlaces = 6
		require.GreaterOrEqual(t, len(user.findTraces()), minPlaces, "findTraces misses data of the user")

		user.delete("/api/employers/profile").ok(200)
		user.requireSignedOut(t)
		user.requireErased()
		applicant.get("/api/jobseekers/applications/" + id).ok(200)

		// A background task closes the jobs. It is not the task that erases the name, and may run later.
		guest := server.guest(t)
		isClosed := func() bool { return guest.get("/api/listings/"+open).status == 404 }
		require.Eventually(t, isClosed, waitTimeout, 50*time.Millisecond)
		guest.get("/api/listings/"+open).fails(404, "Listing not found")
	})
}
