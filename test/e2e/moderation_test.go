package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestModeration_Reports follows reports of a job through the API of moderators. A case is a job that waits for a
// moderator; it opens with the first report. A moderator takes the job down, which hides it and notifies the employer and
// the applicants, or restores it. A later report opens the case again. The subtests run in their order, and each sees the
// changes of those before.
func TestModeration_Reports(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		jo := server.seeker(t)
		guest := server.guest(t)
		moderator := server.moderator(t)
		title := "Ward " + newEmail()
		id := boss.listing(object{"title": title})

		t.Run("POST /api/listings/:id/report", func(t *testing.T) {
			guest.fromNewAddress().
				post("/api/listings/"+id+"/report", object{
					"reason": "fees",
					"text":   "They ask for <b>money</b>",
					"email":  "witness@example.org",
				}).
				ok(201)
			jo.fromNewAddress().post("/api/listings/"+id+"/report", object{"reason": "fraud"}).ok(201)

			// An unknown reason, an invalid address, an unknown job and a draft are refused.
			guest.fromNewAddress().post("/api/listings/"+id+"/report", object{"reason": "boring"}).invalid("reason")
			guest.fromNewAddress().post("/api/listings/"+id+"/report", object{"reason": "fraud", "email": "nonsense"}).invalid("email")
			guest.fromNewAddress().post("/api/listings/"+nowhere+"/report", object{"reason": "fraud"}).fails(404, "Listing not found")

			draft := boss.listing(object{"status": "draft"})
			guest.fromNewAddress().post("/api/listings/"+draft+"/report", object{"reason": "fraud"}).fails(404, "Listing not found")

			const maxReports = 10 // of one address in 15 minutes

			// Refused reports also count towards the limit of an address.
			limited := server.guest(t)
			for range maxReports {
				limited.post("/api/listings/"+nowhere+"/report", object{"reason": "fraud"}).fails(404, "Listing not found")
			}

			require.Equal(t, http.StatusTooManyRequests, limited.post("/api/listings/"+id+"/report", object{"reason": "fraud"}).status)
		})

		t.Run("GET /api/admin/cases", func(t *testing.T) {
			found := moderator.get("/api/admin/cases?state=open").ok(200)
			require.Equal(t, title, found.text("data.cases.0.job.title"))
			require.Equal(t, 2., found.at("data.cases.0.reports"), "the reports of the guest and of the jobseeker")
			require.Equal(t, "open", found.text("data.cases.0.state"))
			require.Equal(t, 1., found.at("data.pagination.total"))
			require.Empty(t, moderator.get("/api/admin/cases?state=taken-down").ok(200).list("data.cases"))
			boss.get("/api/admin/cases").fails(403, "Forbidden")
		})

		t.Run("GET /api/admin/jobs/:id", func(t *testing.T) {
			found := moderator.get("/api/admin/jobs/" + id).ok(200)
			require.Equal(t, "fraud", found.text("data.reportList.0.reason"), "the newest report is first")
			require.Equal(t, "fees", found.text("data.reportList.1.reason"))
			require.Equal(t, "witness@example.org", found.text("data.reportList.1.email"))
			require.Equal(t, 0., found.at("data.score"), "the score of suspicion counts the text of the job, and no reports")
			moderator.get("/api/admin/jobs/"+nowhere).fails(404, "Job listing not found")
		})

		application := jo.application(id, nil)
		t.Run("POST /api/admin/jobs/:id/take-down", func(t *testing.T) {
			moderator.post("/api/admin/jobs/"+id+"/take-down", object{"message": "Employers must not ask for fees."}).ok(200)
			guest.get("/api/listings/"+id).fails(404, "Listing not found")

			// The employer can change the job but not make it public.
			boss.put("/api/employers/jobs/"+id, object{"status": "active", "title": title}).ok(200)
			guest.get("/api/listings/"+id).fails(404, "Listing not found")
			require.Contains(t, server.waitForMail(t, boss.email, "Job removed by moderators"), "must not ask for fees")

			// The applicant is warned about payments.
			message := server.waitForMail(t, jo.email, "Job removed: Ward")
			require.Contains(t, message, "Do not pay anything")

			// The reason is for the employer only.
			require.NotContains(t, message, "must not ask for fees")

			// The case is closed as taken down, and the employer's audit log names the moderator.
			require.Empty(t, moderator.get("/api/admin/cases?state=open").ok(200).list("data.cases"))
			require.Equal(t, id, moderator.get("/api/admin/cases?state=taken-down").ok(200).text("data.cases.0.job.id"))
			require.Equal(t, []auditEntry{{action: "listing.hidden", actorID: moderator.id, object: id}}, boss.auditEntries("&action=listing.hidden"))
			jo.delete("/api/jobseekers/applications/" + application).ok(200)
		})

		t.Run("POST /api/admin/jobs/:id/restore", func(t *testing.T) {
			moderator.post("/api/admin/jobs/"+id+"/restore", object{}).ok(200)
			guest.get("/api/listings/" + id).ok(200)
			server.waitForMail(t, boss.email, "Job public again")

			// The jobseeker has withdrawn the application and gets no e-mail.
			server.requireNoMail(t, jo.email, "Job public again")
			moderator.post("/api/admin/jobs/"+nowhere+"/restore", object{}).fails(404, "Job listing not found")
		})

		t.Run("a report opens the case again", func(t *testing.T) {
			guest.fromNewAddress().post("/api/listings/"+id+"/report", object{"reason": "other"}).ok(201)

			// Only the new report counts. A moderator has decided on the earlier ones.
			require.Equal(t, 1., moderator.get("/api/admin/cases?state=open").ok(200).at("data.cases.0.reports"))
		})

		t.Run("a deleted account leaves no address in its reports", func(t *testing.T) {
			witness := server.seeker(t)
			witness.post("/api/listings/"+id+"/report", object{"reason": "other", "email": witness.email}).ok(201)
			require.Contains(t, string(moderator.get("/api/admin/jobs/"+id).raw), witness.email)
			witness.send("DELETE", "/api/jobseekers/profile", object{"currentPassword": password}).ok(200)
			require.Eventually(t, func() bool {
				return moderator.get("/api/admin/jobs/"+id).ok(200).text("data.reportList.0.email") == ""
			}, waitTimeout, 50*time.Millisecond)
		})
	})
}

// TestModeration_SuspiciousJobs checks that a suspicious text opens a case without hiding the
// job. The server computes a score from 0 to 100 with the reasons for it. A case that a moderator has closed opens
// again only when the description changes. Copies of the job have cases of their own.
func TestModeration_SuspiciousJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		other := server.employer(t)
		moderator := server.moderator(t)
		text := "Write to us on WhatsApp and pay the registration fee."
		id := boss.listing(object{"title": "Dream Nurse", "description": text, "salary": object{"min": 900000}})
		server.guest(t).get("/api/listings/" + id).ok(200)

		openCases := func() *response { return moderator.get("/api/admin/cases?state=open").ok(200) }

		found := openCases()
		require.Equal(t, id, found.text("data.cases.0.job.id"))
		require.Equal(t, 100., found.at("data.cases.0.score"))
		require.Len(t, found.list("data.cases.0.reasons"), 3, "a messenger, a fee and the high pay")

		// A moderator closes the case. Another title does not open it again.
		moderator.post("/api/admin/jobs/"+id+"/restore", object{}).ok(200)
		boss.fromNewAddress().put("/api/employers/jobs/"+id, object{"title": "Dream Nurse, ICU"}).ok(200)
		require.Empty(t, openCases().list("data.cases"), "the moderator has seen the text")

		// Another description opens it again.
		boss.fromNewAddress().put("/api/employers/jobs/"+id, object{"description": text + " Now."}).ok(200)
		require.Equal(t, id, openCases().text("data.cases.0.job.id"), "the moderator has not seen the new text")

		// The case is closed again, with the first description. A copy of the job by its employer has a case of its own.
		boss.fromNewAddress().put("/api/employers/jobs/"+id, object{"description": text}).ok(200)
		moderator.fromNewAddress().post("/api/admin/jobs/"+id+"/restore", object{}).ok(200)

		duplicate := boss.post("/api/employers/jobs/"+id+"/duplicate", nil).ok(200).text("data.id")
		require.Equal(t, duplicate, openCases().text("data.cases.0.job.id"), "a copy is suspicious, too")

		// A copy by another organization is suspicious for the two reasons in the text, and for being a copy. The server
		// compares texts of organizations in the background.
		copyByOther := other.listing(object{"title": "Dream Nurse", "description": text})
		require.Eventually(t, func() bool {
			return len(moderator.get("/api/admin/jobs/"+copyByOther).ok(200).list("data.reasons")) >= 3
		}, waitTimeout, 50*time.Millisecond, "the copy of another organization has too few reasons")
		require.Contains(t, string(moderator.get("/api/admin/jobs/"+copyByOther).raw),
			"It has the text of a job of St Brigid's Hospital")
	})
}

// TestModeration_DuplicatesInConsole_AreLimited checks that the console allows ten copies in 15
// minutes, so that copies cannot evade moderation in numbers.
func TestModeration_DuplicatesInConsole_AreLimited(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		path := "/employer/jobs/" + boss.listing(nil)

		const maxDuplicates = 10

		browser := server.signedIn(t, boss)
		for range maxDuplicates {
			require.Equal(t, 303, browser.open("POST", path, url.Values{"action": {"duplicate"}}).status)
		}

		require.Equal(t, 429, browser.open("POST", path, url.Values{"action": {"duplicate"}}).status, "one copy too many")
	})
}

// TestModeration_Pages checks reporting and moderation on pages, with hostile text, and that
// only moderators can open them. The subtests follow one job, from the report to its restoration, and run in their order.
// browser.open returns a page with its status, browser.submit posts a form and follows its redirect, and browser.show
// requires that a page exists. page.links returns the addresses of the links with a text.
func TestModeration_Pages(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, jo := server.employer(t), server.seeker(t)
		const wicked = `Nurse <script>alert(1)</script>`
		id := boss.listing(object{"title": wicked, "description": wicked})
		jo.application(id, nil)

		visitor := server.browser(t)
		moderator := server.signedIn(t, server.moderator(t))

		casePath := "/moderation/jobs/" + id
		jobPath := "/employer/jobs/" + id // its page in the employer's console

		t.Run("visitor reports the job", func(t *testing.T) {
			reportPath := "/jobs/" + id + "/report"
			require.Equal(t, []string{reportPath}, visitor.open("GET", "/jobs/"+id, nil).links("Report this job"))
			require.Contains(t, visitor.open("GET", reportPath, nil).text, "What is wrong with it?")

			// A report without a reason is refused, with a link to the field and the input that was sent.
			refused := visitor.open("POST", reportPath, url.Values{"text": {wicked}, "email": {"nonsense"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, `<a href="#reason">Reason is required</a>`)
			require.Contains(t, refused.text, "<legend>Reason</legend>")
			require.Contains(t, refused.text, `value="nonsense"`)
			require.Contains(t, visitor.submit(reportPath, url.Values{"reason": {"fees"}, "text": {wicked}}).text, "Report sent")
			require.Equal(t, 404, visitor.open("GET", "/jobs/nonsense/report", nil).status)
			require.Equal(t, 404, visitor.open("POST", "/jobs/nonsense/report", url.Values{"reason": {"fees"}}).status)

			// A form that another site sends is refused. The browser marks it in the header Sec-Fetch-Site, which Site sets.
			visitor.Site = "cross-site"
			require.Equal(t, 403, visitor.open("POST", reportPath, url.Values{"reason": {"fees"}}).status)
		})

		t.Run("moderator takes the job down", func(t *testing.T) {
			queue := moderator.open("GET", "/moderation", nil)
			require.Equal(t, []string{casePath}, queue.links("Nurse"))
			require.Contains(t, queue.text, "1 report")

			// The public pages of a job and of its employer lead moderators to those of moderation.
			public := moderator.open("GET", "/jobs/"+id, nil)
			require.Equal(t, []string{casePath}, public.links("Moderate this job"))
			require.Empty(t, visitor.open("GET", "/jobs/"+id, nil).links("Moderate this job"))

			employerPath := regexp.MustCompile(`/employers/[^"]+`).FindString(public.text)
			require.Len(t, moderator.open("GET", employerPath, nil).links("Moderate this employer"), 1)
			require.Empty(t, visitor.open("GET", employerPath, nil).links("Moderate this employer"))

			// The page explains the reason of the report and shows the hostile text as text.
			casePage := moderator.open("GET", casePath, nil)
			require.Contains(t, casePage.text, "It asks applicants for money")
			require.NotContains(t, casePage.text, "<script>alert")
			require.NotContains(t, queue.text, "<script>alert")

			tooLong := url.Values{"message": {strings.Repeat("x", 2001)}}
			require.Equal(t, 400, moderator.open("POST", casePath+"/take-down", tooLong).status)
			require.Contains(t, moderator.submit(casePath+"/take-down", url.Values{"message": {"No fees."}}).text, "The job is taken down")
			require.Equal(t, 410, visitor.open("GET", "/jobs/"+id, nil).status,
				"410 Gone, so that search engines remove the page")
		})

		t.Run("employer sees the reason and cannot publish the job", func(t *testing.T) {
			console := server.signedIn(t, boss)
			require.Contains(t, console.show("/employer/jobs").text, `<span class="badge bad">Taken down</span>`)
			require.Contains(t, console.show("/employer/jobs").text, "Published (0)")
			require.Contains(t, console.show("/employer/jobs?status=hidden").text, jobPath)
			require.NotContains(t, console.show("/employer/jobs?status=active").text, jobPath)

			takenDown := console.show(jobPath)
			require.Contains(t, takenDown.text, "Our moderators have taken this job down.")
			require.Contains(t, takenDown.text, "No fees.")

			// The page has none of these buttons, and the server refuses their forms.
			for _, action := range []string{"publish", "pause", "renew", "restore", "duplicate"} {
				require.NotContains(t, takenDown.text, `value="`+action+`"`)

				form := url.Values{"action": {action}, "durationDays": {"30"}}
				require.Equal(t, 409, console.open("POST", jobPath, form).status, action)
			}

			require.Equal(t, 400, console.open("POST", "/employer/jobs", url.Values{"action": {"renew"}, "id": {id}}).status)
			server.waitForMail(t, jo.email, "Job removed: ")
		})

		t.Run("moderator restores the job", func(t *testing.T) {
			decided := moderator.open("GET", "/moderation/decided", nil)
			require.Equal(t, []string{casePath}, decided.links("Nurse"))
			require.NotContains(t, decided.text, "longest waiting first")
			require.Contains(t, moderator.submit(casePath+"/restore", url.Values{}).text, "The case is closed")
			require.Contains(t, server.waitForMail(t, jo.email, "Job restored: "), "The job is open again")
			require.Equal(t, 404, moderator.open("GET", "/moderation/jobs/nonsense", nil).status)
			require.Equal(t, 404, moderator.open("POST", "/moderation/jobs/"+nowhere+"/restore", url.Values{}).status)
		})

		t.Run("other users cannot moderate", func(t *testing.T) {
			for _, user := range []*account{boss, jo} {
				browser := server.signedIn(t, user)
				require.NotContains(t, browser.open("GET", "/jobs", nil).text, `href="/moderation"`)

				for _, path := range []string{"/moderation", "/moderation/decided", casePath} {
					require.Equal(t, 403, browser.open("GET", path, nil).status, path)
				}

				require.Equal(t, 403, browser.open("POST", casePath+"/take-down", url.Values{}).status)
			}

			require.Equal(t, 303, server.browser(t).open("GET", "/moderation", nil).status)

			moderator.Site = "cross-site"
			require.Equal(t, 403, moderator.open("POST", casePath+"/take-down", url.Values{}).status)
		})
	})
}

// TestModeration_Organizations checks the standing of an organization: whether it is verified, suspended, or held. An
// organization is held, until a moderator releases it, because its name resembles that of a verified one. The jobs of a
// held or suspended organization are not public.
func TestModeration_Organizations(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		guest, moderator := server.guest(t), server.moderator(t)
		register := func(name string) *account {
			c := server.guest(t)
			email := newEmail()
			res := c.register("/api/auth/register-employer",
				object{"email": email, "password": password, "name": "Asha Patel", "companyName": name})

			return server.account(t, res, c, email)
		}

		idOf := func(a *account) string {
			return a.fromNewAddress().get("/api/employers/organization").ok(200).text("data.organizationId")
		}

		// changeStanding changes the standing of an organization as a moderator, with a message for its employer.
		changeStanding := func(organization, action string) *response {
			return moderator.fromNewAddress().
				post("/api/admin/organizations/"+organization+"/standing", object{
					"action":  action,
					"message": "Because we " + action + " it.",
				})
		}

		isPublic := func(listing string) bool { return guest.fromNewAddress().get("/api/listings/"+listing).status == 200 }

		// The name contains random characters of a new address, so that it resembles no other organization.
		name := "Royal " + newEmail()[1:9] + " Infirmary"
		boss := register(name)
		organization := idOf(boss)
		job := boss.listing(nil)
		browser := server.browser(t)

		t.Run("GET /api/admin/organizations/:id", func(t *testing.T) {
			found := moderator.get("/api/admin/organizations/" + organization).ok(200)
			require.Equal(t, name, found.text("data.name"))
			require.Equal(t, boss.email, found.text("data.members.0.email"))
			require.Nil(t, found.at("data.verifiedAt"))
			moderator.get("/api/admin/organizations/"+nowhere).fails(404, "Organization not found")
			require.Contains(t, browser.open("GET", "/jobs/"+job, nil).text, "Not verified")
		})

		t.Run("POST /api/admin/organizations/:id/standing", func(t *testing.T) {
			require.Equal(t, "moderator", changeStanding(organization, "verify").ok(200).text("data.verifiedBy"))
			require.Contains(t, server.waitForMail(t, boss.email, "Your organization is verified"), "Because we verify it.")
			require.NotContains(t, browser.open("GET", "/jobs/"+job, nil).text, "Not verified")

			organizationPage := browser.open("GET", "/jobs/"+job, nil).links(name)[0]
			require.Contains(t, browser.open("GET", organizationPage, nil).text, "Verified")
			changeStanding(organization, "praise").invalid("action")
			changeStanding(nowhere, "verify").fails(404, "Organization not found")
			require.Equal(t, []auditEntry{{action: "organization.verified", actorID: moderator.id, object: organization}},
				boss.auditEntries("&action=organization.verified"))
		})

		t.Run("a registration with a similar name is held", func(t *testing.T) {
			// The name differs from the verified one in case, article and legal form only. Its jobs are not public.
			fake := register("The " + strings.ToUpper(name) + " Ltd.")
			held := fake.listing(nil)
			require.False(t, isPublic(held))
			require.Contains(t, server.signedIn(t, fake).show("/employer/jobs/"+held).text, "This job is not public yet.")

			// Neither a copy nor publishing the job again makes it public, and the organization has no page.
			copied := fake.post("/api/employers/jobs/"+held+"/duplicate", nil).ok(200).text("data.id")
			require.False(t, isPublic(copied))
			fake.fromNewAddress().put("/api/employers/jobs/"+held, object{"status": "active", "title": "Nurse"}).ok(200)
			require.False(t, isPublic(held))
			require.Equal(t, 404, browser.open("GET", "/employers/x-"+idOf(fake), nil).status)

			queue := moderator.get("/api/admin/cases?state=open&organizationId=" + idOf(fake)).ok(200)
			require.Equal(t, true, queue.at("data.cases.0.held"))
			require.Equal(t, held, queue.text("data.cases.0.job.id"))

			// The release publishes the jobs and closes the case.
			changeStanding(idOf(fake), "release").ok(200)
			require.Eventually(t, func() bool { return isPublic(held) && isPublic(copied) }, waitTimeout, 50*time.Millisecond)
			require.Empty(t, moderator.get("/api/admin/cases?state=open&organizationId="+idOf(fake)).ok(200).list("data.cases"))
		})

		t.Run("a new name that is similar is held", func(t *testing.T) {
			other := register("Clinic " + newEmail())
			shown := other.listing(nil)
			require.True(t, isPublic(shown))
			other.put("/api/employers/organization", object{"name": name}).ok(200)
			require.Eventually(t, func() bool { return !isPublic(shown) }, waitTimeout, 50*time.Millisecond)
			server.waitForMail(t, other.email, "Your jobs wait for a check")
		})

		t.Run("suspend and restore", func(t *testing.T) {
			changeStanding(organization, "suspend").ok(200)
			require.Eventually(t, func() bool { return !isPublic(job) }, waitTimeout, 50*time.Millisecond)

			// A job that is posted during the suspension is not public either.
			later := boss.listing(nil)
			require.False(t, isPublic(later))
			require.Contains(t, server.waitForMail(t, boss.email, "Your organization is suspended"), "Contact the operator")
			require.Contains(t, server.signedIn(t, boss).page("/employer"), "have suspended your organization")
			changeStanding(organization, "restore").ok(200)
			require.Eventually(t, func() bool { return isPublic(job) && isPublic(later) }, waitTimeout, 50*time.Millisecond)
			require.NotContains(t, server.signedIn(t, boss).page("/employer"), "have suspended your organization")
			require.Contains(t, server.signedIn(t, boss).page("/employer/organization"), "has removed the verification")
		})

		t.Run("POST /api/admin/accounts/:id/standing", func(t *testing.T) {
			moderate := func(id, action string) *response {
				return moderator.post("/api/admin/accounts/"+id+"/standing", object{"action": action})
			}

			// The suspension ends every session. A sign-in fails as if the password were wrong.
			moderate(boss.id, "suspend").ok(200)
			boss.requireSignedOut(t)
			require.Contains(t, server.waitForMail(t, boss.email, "Your account is suspended"), "Contact the operator")
			server.guest(t).
				post("/api/auth/login", object{"email": boss.email, "password": password}).
				fails(401, "Invalid email or password")
			moderate(boss.id, "restore").ok(200)
			server.guest(t).post("/api/auth/login", object{"email": boss.email, "password": password}).ok(200)
			moderate(nowhere, "suspend").fails(404, "User not found")

			// Moderators cannot lock each other out.
			moderate(moderator.id, "suspend").fails(409, "The account is one of a moderator; an operator can lock it")
			moderate(boss.id, "praise").invalid("action")
		})
	})
}

// TestModeration_Domain_VerifiesOrganization checks that an organization is verified when an
// admin has confirmed an address at the domain of its website, and no longer after a change of
// website or name.
func TestModeration_Domain_VerifiesOrganization(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// verifiedBy returns how the organization of the employer was verified: "domain", "moderator", or "" if it is not.
		verifiedBy := func(employer *account) string {
			id := employer.fromNewAddress().get("/api/employers/organization").ok(200).text("data.organizationId")
			return server.moderator(t).get("/api/admin/organizations/" + id).ok(200).text("data.verifiedBy")
		}

		boss := server.employer(t) // with an address at example.org
		boss.put("/api/employers/organization", object{"website": "https://www.example.org/careers"}).ok(200)
		require.Empty(t, verifiedBy(boss), "the address is not confirmed")
		server.guest(t).post("/api/auth/verify-email", object{"token": server.tokenFromMail(t, boss.email, "confirm your e-mail")}).ok(200)
		require.Equal(t, "domain", verifiedBy(boss))

		require.Contains(t, server.browser(t).open("GET", "/jobs/"+boss.listing(nil), nil).text, "Verified: example.org")

		// Another website, the same website again, and another name.
		boss.fromNewAddress().put("/api/employers/organization", object{"website": "https://other.example"}).ok(200)
		require.Empty(t, verifiedBy(boss), "the address is not at the domain of the new website")
		boss.fromNewAddress().put("/api/employers/organization", object{"website": "https://example.org"}).ok(200)
		require.Equal(t, "domain", verifiedBy(boss))
		boss.fromNewAddress().put("/api/employers/organization", object{"name": "Quite Another Clinic"}).ok(200)
		require.Empty(t, verifiedBy(boss), "an organization cannot keep its verification under another name")
	})
}

// TestModeration_HoldNewOrganizations_HidesTheirJobs checks the setting with which the jobs of
// new organizations wait for a moderator, who verifies the organization on its page.
func TestModeration_HoldNewOrganizations_HidesTheirJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss, moderator := server.employer(t), server.moderator(t)
		job := boss.listing(nil)
		server.guest(t).get("/api/listings/"+job).fails(404, "Listing not found")

		require.Contains(t, server.signedIn(t, boss).page("/employer"), "our moderators check them first")

		browser := server.signedIn(t, moderator)

		// The queue leads to the page of the held organization. Verifying it there publishes its jobs.
		page := browser.open("GET", "/moderation", nil)
		path := page.links("St Brigid")[0]
		require.Contains(t, browser.open("GET", path, nil).text, "Held")
		require.Equal(t, 303, browser.open("POST", path, url.Values{"action": {"verify"}}).status)
		require.Eventually(t, func() bool { return server.guest(t).get("/api/listings/"+job).status == 200 },
			waitTimeout, 50*time.Millisecond)
		require.Contains(t, browser.open("GET", path, nil).text, "Verified by a moderator")

		// Unknown actions and organizations are refused. The page can also suspend the account of a member.
		require.Equal(t, 400, browser.open("POST", path, url.Values{"action": {"praise"}}).status)
		require.Equal(t, 404, browser.open("GET", "/moderation/organizations/"+nowhere, nil).status)
		require.Equal(t, 303, browser.open("POST", path+"/accounts/"+boss.id, url.Values{"action": {"suspend"}}).status)
		require.Contains(t, browser.open("GET", path, nil).text, "Restore Asha Patel")

		// Users who are no moderators are refused.
		other := server.signedIn(t, server.seeker(t))
		require.Equal(t, 403, other.open("GET", path, nil).status)
		require.Equal(t, 403, other.open("POST", path, url.Values{"action": {"verify"}}).status)
		require.Equal(t, 403, other.open("POST", path+"/accounts/"+boss.id, url.Values{"action": {"suspend"}}).status)
	}, "LOCUM_MODERATION_NEW_ORGANIZATIONS=hold")
}
