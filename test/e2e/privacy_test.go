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

// uniqueUser is a user with a unique name and address, so that any remaining
// personal data can be found.
type uniqueUser struct {
	*account
	first, last, local string
}

// registerUnique registers a user of either kind.
func (w *testServer) registerUnique(t testing.TB, path string, more object) uniqueUser {
	t.Helper()
	c, tag := w.guest(t), newEmail()[1:9]
	p := uniqueUser{first: "Zephyrine" + tag, last: "Quillfeather" + tag, local: "zq" + tag}
	email := p.local + "@privacy.example"
	body := object{"email": email, "password": password, "name": p.first + " " + p.last}
	for k, v := range more {
		body[k] = v
	}
	p.account = w.account(t, c.post(path, body), c, email)
	return p
}

func (p uniqueUser) words() []string { return []string{p.email, p.local, p.first, p.last} }

// findTraces returns the places that contain the user's personal data: columns,
// and files other than sent mails.
func (p uniqueUser) findTraces() []string {
	p.t.Helper()
	var out []string
	for column, example := range kit.Holding(p.t, p.w.databaseURL(), p.words()...) {
		out = append(out, column+": "+example)
	}
	root := filepath.Join(p.w.dir, "data", "files")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil // a file may go while we look
		}
		content, _ := os.ReadFile(path)
		for _, word := range p.words() {
			if bytes.Contains(content, []byte(word)) || strings.Contains(path, word) {
				out = append(out, path)
			}
		}
		return err
	})
	require.NoError(p.t, err)
	return out
}

// requireErased waits until no personal data is left.
func (p uniqueUser) requireErased() {
	p.t.Helper()
	var left []string
	if !assert.Eventually(p.t, func() bool { left = p.findTraces(); return len(left) == 0 }, waitTimeout, 100*time.Millisecond) {
		require.Empty(p.t, left, "remaining data of %s", p.email)
	}
	log := p.w.log.String()
	require.NotContains(p.t, log, p.email)
	require.NotContains(p.t, log, p.first)
}

// createApp creates an app with the user's name in every text.
func (p uniqueUser) createApp() {
	p.t.Helper()
	app := p.fromNewAddress().
		post("/api/developers/apps", object{"name": p.first, "description": p.last, "redirectUris": []string{"https://" + p.local + ".example/cb"}}).
		ok(201).
		text("data.app.id")
	p.fromNewAddress().post("/api/developers/apps/"+app+"/keys", object{"name": p.first}).ok(201)
	p.fromNewAddress().post("/api/developers/apps/"+app+"/plan", object{"plan": "professional", "paymentMethodId": "pm_card_visa"}).ok(200)
	p.w.waitForMail(p.t, p.email, "Your Professional plan has begun")
}

func TestDeleteAccount_Jobseeker_LeavesNothing(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		p := server.registerUnique(t, "/api/auth/register", object{"userType": "jobseeker"})
		me := "I am " + p.first + " " + p.last + " <" + p.email + ">"
		employer := server.employer(t)
		listing := employer.listing(object{"title": "Staff Nurse", "questions": []object{{"id": "why", "text": "Why?", "required": false}}})
		second := employer.listing(object{"title": "Ward Sister"})
		seeker := p.fromNewAddress

		// Everything that a jobseeker can do, with their name in every text.
		seeker().put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{
			"firstName":   p.first,
			"lastName":    p.last,
			"bio":         me,
			"phone":       "+44 20 7946 0000",
			"location":    "Leeds",
			"currentRole": me[:40],
			"email":       p.local + "@elsewhere.example",
		}}).ok(200)
		id := seeker().post("/api/jobseekers/applications", object{"listingId": listing, "coverLetter": me, "answers": []object{{"question_id": "why", "answer": me}}}).
			ok(201).
			text("data.id")
		p.application(second, object{"coverLetter": me})
		seeker().put("/api/jobseekers/applications/"+id, object{"status": "in-progress", "statusColor": p.first}).ok(200)
		saved := seeker().post("/api/jobseekers/saved", object{"listingId": listing}).ok(201).text("data.id")
		seeker().put("/api/jobseekers/bookmarks/"+saved, object{"notes": me}).ok(200)
		seeker().post("/api/jobseekers/search", object{"intent": "save-search", "name": p.first + "'s search", "query": "nurse", "emailAlerts": true}).
			ok(200)
		seeker().post("/api/jobseekers/onboarding", form{"action": {"capture_email"}, "email": {p.email}, "source": {"apply"}}).ok(200)
		seeker().post("/api/jobseekers/onboarding", form{"action": {"update_preferences"}, "preferences": {`{"call me":"` + p.first + `"}`}}).
			ok(200)
		seeker().put("/api/jobseekers/settings", object{"intent": "update-profile", "profile": object{"bio": me}}).ok(200)
		seeker().post("/api/jobseekers/documents", object{"intent": "upload-document", "type": "cv", "title": p.first, "fileName": p.last + ".txt", "content": me}).
			ok(200)
		seeker().put("/api/jobseekers/settings", object{"intent": "update-privacy", "showProfile": true}).ok(200)
		seeker().post("/api/jobseekers/billing", object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_card_visa"}).
			ok(200)
		server.guest(t).post("/api/auth/forgot-password", object{"email": p.email}).ok(200)
		p.signIn(password)
		p.createApp()

		// Everything that others can do with these resources.
		path := "/api/employers/applications/" + id
		employer.post(path+"/interview", appointment(object{"notes": p.first + " was kind"})).ok(200)
		employer.post(path+"/contact", object{"subject": "Dear " + p.first, "message": p.first + ", can you come?"}).ok(200)
		employer.fromNewAddress().put(path, object{"status": "interview"}).ok(200)
		employer.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": p.first, "email": p.email}).ok(200)
		export := employer.post("/api/employers/exports", object{"kind": "applications"}).ok(202).text("data.id")
		require.Eventually(t, func() bool {
			return employer.get("/api/employers/exports/"+export).ok(200).text("data.status") == "completed"
		}, waitTimeout, 20*time.Millisecond)
		server.waitForMail(t, p.local+"@elsewhere.example", "confirm your new")
		server.waitForMail(t, p.email, "Set a new password")
		server.waitForMail(t, p.email, "Join ")
		require.Greater(t, len(p.findTraces()), 8, "the search finds the listings")

		p.delete("/api/jobseekers/profile").ok(200)
		p.requireSignedOut(t)
		p.requireErased()

		seen := employer.get(path).ok(200)
		require.Equal(t, "Deleted user", seen.text("data.application.applicantName"))
		require.Empty(t, seen.text("data.application.applicantEmail"))
		require.Equal(t, "withdrawn", seen.text("data.application.status"))
		employer.get("/api/employers/exports/"+export).fails(404, "Export not found")
		require.Len(t, employer.get("/api/employers/team").ok(200).list("data.team"), 1)
		c := server.guest(t)
		again := server.account(
			t,
			c.post("/api/auth/register", object{"email": p.email, "password": password, "name": "Somebody Else", "userType": "jobseeker"}),
			c,
			p.email,
		)
		require.NotEqual(t, p.id, again.id)
		require.Empty(t, again.get("/api/jobseekers/applications").ok(200).list("data.applications"))
	})
}

func TestDeleteAccount_Employer_LeavesNothing(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		p := server.registerUnique(t, "/api/auth/register", object{"userType": "employer"}) // whose organization has their name
		p.fromNewAddress().
			put("/api/employers/profile", object{"intent": "update-profile", "profile": object{"jobTitle": "Head, " + p.first, "email": p.local + "@elsewhere.example"}}).
			ok(200)
		p.fromNewAddress().
			put("/api/jobseekers/settings", object{"intent": "update-contact", "contact": object{"name": p.first, "email": p.email, "phone": "+44 20 7946 0000"}}).
			ok(200)
		p.fromNewAddress().put("/api/employers/settings", object{"intent": "update-notifications", "emailAlerts": true}).ok(200)
		open, paused := p.listing(nil), p.listing(nil)
		p.fromNewAddress().put("/api/employers/jobs/"+paused, object{"status": "inactive"}).ok(200)
		jo := server.seeker(t)
		id := jo.application(open, nil)
		jo.fromNewAddress().post("/api/jobseekers/saved", object{"listingId": open}).ok(201)
		p.post("/api/employers/applications/"+id+"/interview", appointment(nil)).ok(200)
		p.post("/api/employers/applications/"+id+"/contact", object{"subject": "Hello", "message": "there"}).ok(200)
		p.fromNewAddress().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": newEmail()}).ok(200)
		p.createApp()
		server.waitForMail(t, p.local+"@elsewhere.example", "confirm your new")
		require.Greater(t, len(p.findTraces()), 5, "the search finds the listings")

		p.delete("/api/employers/profile").ok(200)
		p.requireSignedOut(t)
		p.requireErased()
		jo.get("/api/jobseekers/applications/" + id).ok(200)
		// Another task than the one that removes the name closes the jobs.
		guest := server.guest(t)
		require.Eventually(t, func() bool { return guest.get("/api/listings/"+open).status == 404 }, waitTimeout, 50*time.Millisecond)
		guest.get("/api/listings/"+open).fails(404, "Listing not found")
	})
}
