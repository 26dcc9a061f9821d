package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-ical"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// waitForMails waits for n mails to the address whose subject contains the words.
func waitForMails(t *testing.T, server *kit.SMTP, n int, to, subject string) (out []kit.Mail) {
	t.Helper()
	require.Eventually(t, func() bool {
		out = nil
		for _, m := range server.Mails() {
			if m.To == to && strings.Contains(m.Header.Get("Subject"), subject) {
				out = append(out, m)
			}
		}

		return len(out) >= n
	}, waitTimeout, 20*time.Millisecond, "no %d mails to %s about %s", n, to, subject)
	require.Len(t, out, n)

	return out
}

// TestMailOverSMTP checks the e-mails that the server sends over SMTP: the calendar entries of
// an interview update each other, every e-mail has a safe form, and an unavailable mail server
// delays e-mails without failing requests.
func TestMailOverSMTP(t *testing.T) {
	t.Parallel()

	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()

			dir, server := t.TempDir(), kit.NewSMTP(t)
			w := start(
				t,
				dir,
				append(s.env(t, dir), "LOCUM_MAIL_URL="+server.URL(), "LOCUM_MAIL_FROM=locum <no-reply@jobs.example.org>")...)
			employer, seeker := w.employer(t), w.seeker(t)
			id := seeker.application(employer.listing(object{"title": "Theatre Nurse"}), nil)

			t.Run("interview across a clock change", func(t *testing.T) {
				// On 28 March 2027 the clocks in London skip the hour from 1 to 2.
				path := "/api/employers/applications/" + id + "/interview"
				employer.post(path, appointment(object{"scheduledAt": "2027-03-27T10:00:00+00:00"})).ok(200)
				waitForMails(t, server, 1, seeker.email, "Interview: Theatre Nurse")
				employer.put(path, object{"scheduledAt": "2027-03-28T10:00:00+01:00"}).ok(200)
				waitForMails(t, server, 1, seeker.email, "Changed interview: Theatre Nurse")
				employer.put(path, object{"status": "cancelled"}).ok(200)
				waitForMails(t, server, 1, seeker.email, "Cancelled interview: Theatre Nurse")

				calendar := kit.Calendar{}

				var history []string
				for _, m := range waitForMails(t, server, 3, seeker.email, "nterview: Theatre Nurse") {
					calendar.Take(t, m)
					require.Len(t, calendar, 1)
					require.Contains(t, m.Header.Get("Reply-To"), employer.email)

					for uid, event := range calendar {
						require.True(t, strings.HasSuffix(uid, "@jobs.example.org"))

						start, err := event.DateTimeStart(time.UTC)
						require.NoError(t, err)

						status, err := event.Status()
						require.NoError(t, err)

						history = append(
							history,
							m.Parts["method"]+" "+event.Props.Get(ical.PropSequence).Value+" "+string(status)+" "+start.Format(time.RFC3339),
						)
					}
				}

				require.Equal(t, []string{
					"REQUEST 0 CONFIRMED 2027-03-27T10:00:00Z", "REQUEST 1 CONFIRMED 2027-03-28T09:00:00Z", "CANCEL 2 CANCELLED 2027-03-28T09:00:00Z",
				}, history)
			})

			t.Run("form of every mail", func(t *testing.T) {
				waitForMails(t, server, 1, employer.email, "New application: Theatre Nurse")

				for _, m := range server.Mails() {
					about := m.Header.Get("Subject")
					require.Contains(t, m.Header.Get("Message-ID"), "@jobs.example.org>", about)
					require.Equal(t, "auto-generated", m.Header.Get("Auto-Submitted"), about)
					require.Contains(t, m.Header.Get("From"), "<no-reply@jobs.example.org>", about)
					require.NotEmpty(t, m.Text(), about)
					require.Contains(t, m.Parts["text/html"], `<html lang="en">`, about)
					require.NotRegexp(t, `(?i)<(script|img|iframe|link|style)`, m.Parts["text/html"], about)
				}
			})

			t.Run("unavailable mail server", func(t *testing.T) {
				server.Hang()

				begun := time.Now()
				late := w.seeker(t)
				again := late.application(employer.listing(object{"title": "Night Porter"}), nil)
				employer.put("/api/employers/applications/"+again, object{"status": "review"}).ok(200)
				require.Less(t, time.Since(begun), 10*time.Second)

				says := func(state string) func() bool {
					return func() bool {
						res := late.try("GET", "/readyz", nil) // the server is ready without the mail server
						return res.status == 200 && strings.Contains(string(res.raw), `"mail":"`+state+`"`)
					}
				}

				require.Eventually(t, says("degraded"), 10*time.Second, 100*time.Millisecond)
				require.Eventually(t, func() bool {
					return len(late.get("/api/jobseekers/notifications").ok(200).list("data.notifications")) == 1
				}, waitTimeout, 20*time.Millisecond)
				server.Start()
				require.Eventually(t, says("ok"), 10*time.Second, 100*time.Millisecond)
				waitForMails(t, server, 1, late.email, "Your application: Night Porter")
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
			employer.fromNewAddress().put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)
			seeker.waitForNotifications(1)
		}

		// An e-mail to withoutMails would have been sent before this one.
		server.waitForMail(t, withMails.email, "Your application: Theatre Nurse")
		server.requireNoMail(t, withoutMails.email, "Your application")
	})
}
