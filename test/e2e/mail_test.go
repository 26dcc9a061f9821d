package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-ical"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// waitForMails waits for n mails to the address whose subject contains the words, and returns them in the order of their
// arrival. It fails if there are more.
func waitForMails(t *testing.T, mailServer *kit.SMTP, n int, to, subject string) (mails []kit.Mail) {
	t.Helper()
	require.Eventually(t, func() bool {
		mails = nil
		for _, mail := range mailServer.Mails() {
			if mail.To == to && strings.Contains(mail.Header.Get("Subject"), subject) {
				mails = append(mails, mail)
			}
		}

		return len(mails) >= n
	}, waitTimeout, 20*time.Millisecond, "no %d mails to %s about %s", n, to, subject)
	require.Len(t, mails, n)

	return mails
}

// TestMailOverSMTP checks the e-mails that the server sends over SMTP: the calendar entries of
// an interview update each other, every e-mail has a safe form, and an unavailable mail server
// delays e-mails without failing requests.
func TestMailOverSMTP(t *testing.T) {
	t.Parallel()

	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()

			dir, mailServer := t.TempDir(), kit.NewSMTP(t)
			env := append(
				setup.env(t, dir),
				"LOCUM_MAIL_URL="+mailServer.URL(),
				"LOCUM_MAIL_FROM=locum <no-reply@jobs.example.org>",
			)
			server := start(t, dir, env...)

			employer, seeker := server.employer(t), server.seeker(t)
			application := seeker.application(employer.listing(object{"title": "Theatre Nurse"}), nil)

			t.Run("interview across a clock change", func(t *testing.T) {
				// On 28 March 2027 the clocks in London skip the hour from 1 to 2, so that 10:00 is 9:00 UTC.
				path := "/api/employers/applications/" + application + "/interview"
				employer.post(path, appointment(object{"scheduledAt": "2027-03-27T10:00:00+00:00"})).ok(200)
				waitForMails(t, mailServer, 1, seeker.email, "Interview: Theatre Nurse")
				employer.put(path, object{"scheduledAt": "2027-03-28T10:00:00+01:00"}).ok(200)
				waitForMails(t, mailServer, 1, seeker.email, "Changed interview: Theatre Nurse")
				employer.put(path, object{"status": "cancelled"}).ok(200)
				waitForMails(t, mailServer, 1, seeker.email, "Cancelled interview: Theatre Nurse")

				// A calendar that reads the mails has one entry, which each mail changes (RFC 5546).
				calendar := kit.Calendar{}

				var changes []string // method, sequence number, status and start of the entry, after each mail
				for _, mail := range waitForMails(t, mailServer, 3, seeker.email, "nterview: Theatre Nurse") {
					calendar.Take(t, mail)
					require.Len(t, calendar, 1)
					require.Contains(t, mail.Header.Get("Reply-To"), employer.email)

					for uid, event := range calendar {
						require.True(t, strings.HasSuffix(uid, "@jobs.example.org"))

						start, err := event.DateTimeStart(time.UTC)
						require.NoError(t, err)

						status, err := event.Status()
						require.NoError(t, err)

						sequence := event.Props.Get(ical.PropSequence).Value
						changes = append(changes,
							fmt.Sprintf("%s %s %s %s", mail.Parts["method"], sequence, status, start.Format(time.RFC3339)))
					}
				}

				require.Equal(t, []string{
					"REQUEST 0 CONFIRMED 2027-03-27T10:00:00Z",
					"REQUEST 1 CONFIRMED 2027-03-28T09:00:00Z",
					"CANCEL 2 CANCELLED 2027-03-28T09:00:00Z",
				}, changes)
			})

			// Each mail has text and HTML without anything that mail programs load or execute.
			t.Run("form of every mail", func(t *testing.T) {
				waitForMails(t, mailServer, 1, employer.email, "New application: Theatre Nurse")

				for _, mail := range mailServer.Mails() {
					subject := mail.Header.Get("Subject")
					require.Contains(t, mail.Header.Get("Message-ID"), "@jobs.example.org>", subject)
					require.Equal(t, "auto-generated", mail.Header.Get("Auto-Submitted"), subject)
					require.Contains(t, mail.Header.Get("From"), "<no-reply@jobs.example.org>", subject)
					require.NotEmpty(t, mail.Text(), subject)
					require.Contains(t, mail.Parts["text/html"], `<html lang="en">`, subject)
					require.NotRegexp(t, `(?i)<(script|img|iframe|link|style)`, mail.Parts["text/html"], subject)
				}
			})

			t.Run("unavailable mail server", func(t *testing.T) {
				mailServer.Hang()

				// Requests that send mails do not wait for the mail server.
				begun := time.Now()
				applicant := server.seeker(t)
				application := applicant.application(employer.listing(object{"title": "Night Porter"}), nil)
				employer.put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)
				require.Less(t, time.Since(begun), 10*time.Second)

				// reports returns a condition: the server is ready, and reports the state of the mail server.
				reports := func(state string) func() bool {
					return func() bool {
						ready := applicant.try("GET", "/readyz", nil)
						return ready.status == 200 && strings.Contains(string(ready.raw), `"mail":"`+state+`"`)
					}
				}

				// Meanwhile the applicant is notified on the site.
				require.Eventually(t, reports("degraded"), 10*time.Second, 100*time.Millisecond)
				require.Eventually(t, func() bool {
					return len(applicant.get("/api/jobseekers/notifications").ok(200).list("data.notifications")) == 1
				}, waitTimeout, 20*time.Millisecond)

				// The mail is sent when the mail server is available again.
				mailServer.Start()
				require.Eventually(t, reports("ok"), 10*time.Second, 100*time.Millisecond)
				waitForMails(t, mailServer, 1, applicant.email, "Your application: Night Porter")
			})
		})
	}
}

// TestApplicationMails_Off_NotificationRemains checks that a user who has turned off e-mails
// still gets the notification of a changed application on the site.
func TestApplicationMails_Off_NotificationRemains(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		withoutMails, withMails := server.seeker(t), server.seeker(t)
		listing := employer.listing(object{"title": "Theatre Nurse"})

		withoutMails.put("/api/jobseekers/settings", object{"intent": "update-notifications", "email": false}).ok(200)

		for _, seeker := range []*account{withoutMails, withMails} {
			application := seeker.application(listing, nil)
			employer.put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)
			seeker.waitForNotifications(1)
		}

		// An e-mail to withoutMails would have been sent before this one.
		server.waitForMail(t, withMails.email, "Your application: Theatre Nurse")
		server.requireNoMail(t, withoutMails.email, "Your application")
	})
}
