package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWebhooks checks the delivery of webhooks: every event is sent once it has happened,
// signed and in its state at that time, only to those who may see it, and again after a
// failure. Slow receivers do not delay others.
func TestWebhooks(t *testing.T) {
	onEachQueueWithWebhooks(t, func(t *testing.T, server *testServer) {
		t.Run("events of a listing", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t, nil)
			path, secret := server.seeker(t).createWebhook(hooks.URL, "job.created", "job.updated", "job.closed")
			require.Regexp(t, `^/api/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}$`, path)

			employer := server.employer(t)
			id := employer.listing(object{"title": "Ward Sister", "location": "Leeds", "salary": object{"min": 30000}})
			created := hooks.waitForEvent("job.created", "id", id)
			require.NoError(t, created.verify(t, secret))
			require.Equal(t, "1", created.headers.Get("Webhook-Attempt"))
			require.Equal(t, "application/json", created.headers.Get("Content-Type"))
			require.Equal(t, "locum-webhooks/1", created.headers.Get("User-Agent"))

			job := created.body.Data["job"].(object)
			require.Equal(t, "Ward Sister", job["title"])
			require.Equal(t, "GBP", job["salary"].(object)["currency"])
			require.Nil(t, job["posted_by"])

			for _, member := range []string{
				"company", "location", "employment_type", "contract_type", "application_deadline",
				"posted_at", "questions", "url",
			} {
				require.Contains(t, job, member)
			}

			require.WithinDuration(t, time.Now(), created.body.Timestamp, time.Minute)
			employer.put("/api/employers/jobs/"+id, object{"title": "Ward Manager"}).ok(200)
			require.Equal(t, "Ward Manager", hooks.waitForEvent("job.updated", "id", id).body.Data["job"].(object)["title"])
			employer.delete("/api/employers/jobs/" + id).ok(200)

			closed := hooks.waitForEvent("job.closed", "id", id)
			require.Equal(t, "archived", closed.body.Data["job"].(object)["status"])
			require.NotEqual(t, created.headers.Get("Webhook-Id"), closed.headers.Get("Webhook-Id"))
		})

		t.Run("listing updated and closed at once", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t, nil)
			server.seeker(t).createWebhook(hooks.URL, "job.updated", "job.closed")

			employer := server.employer(t)
			for range 3 {
				id := employer.listing(nil)
				employer.put("/api/employers/jobs/"+id, object{"title": "Ward Manager"}).ok(200)
				employer.put("/api/employers/jobs/"+id, object{"title": "Private", "status": "closed"}).ok(200)
				employer.put("/api/employers/jobs/"+id, object{"title": "Changed after closing"}).ok(200)

				// Each event has the listing as it was then, and no event has a later change.
				updated := hooks.waitForEvent("job.updated", "id", id).body.Data["job"].(object)
				require.Equal(t, "Ward Manager", updated["title"])
				require.Equal(t, "active", updated["status"])

				closed := hooks.waitForEvent("job.closed", "id", id).body.Data["job"].(object)
				require.Equal(t, "Private", closed["title"])
				require.Equal(t, "closed", closed["status"])
			}
		})

		t.Run("event of an expired listing", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t, nil)
			server.seeker(t).createWebhook(hooks.URL, "job.closed")

			deadline := time.Now().Add(10 * time.Second).UTC() // late enough to create the listing before
			id := server.employer(t).listing(object{"applicationDeadline": deadline.Format(time.RFC3339Nano)})

			// The event is sent within a minute of the deadline.
			require.Eventually(t, func() bool {
				hooks.mu.Lock()
				defer hooks.mu.Unlock()
				return slices.ContainsFunc(hooks.hits, func(h hit) bool { return h.body.Data["id"] == id })
			}, time.Until(deadline)+time.Minute, 50*time.Millisecond)
			require.True(t, time.Now().After(deadline))
			hooks.waitForEvent("job.closed", "id", id)
		})

		t.Run("events of an application", func(t *testing.T) {
			t.Parallel()

			employer := server.employer(t)
			seeker := server.seeker(t)
			otherSeeker := server.seeker(t)
			otherEmployer := server.employer(t)

			// Only a user who may read the application gets its events: its applicant, and
			// members of the organization with the permission.
			events := []string{"application.submitted", "application.status_changed"}
			ofOrganization := newReceiver(t, nil)
			ofSeeker := newReceiver(t, nil)
			ofOtherUsers := newReceiver(t, nil)

			employer.createWebhook(ofOrganization.URL, events...)
			employer.inviteMember("viewer").createWebhook(ofOrganization.URL+"/viewer", events...)
			seeker.createWebhook(ofSeeker.URL, events...)
			otherSeeker.createWebhook(ofOtherUsers.URL, events...)
			otherEmployer.createWebhook(ofOtherUsers.URL, events...)

			listing := employer.listing(nil)

			id := seeker.application(listing, nil)
			for _, hooks := range []*receiver{ofOrganization, ofSeeker} {
				data := hooks.waitForEvent("application.submitted", "application_id", id).body.Data
				require.Equal(t, listing, data["job_id"])
				require.Equal(t, seeker.id, data["candidate_id"])
				require.Equal(t, "pending", data["status"])
				require.Contains(t, data, "submitted_at")
			}

			employer.put("/api/employers/applications/"+id, object{"status": "review"}).ok(200)

			for _, hooks := range []*receiver{ofOrganization, ofSeeker} {
				data := hooks.waitForEvent("application.status_changed", "application_id", id).body.Data
				require.Equal(t, "review", data["status"])
				require.Equal(t, "pending", data["previous_status"])
			}

			ofOrganization.waitForHits(4) // two events for each of the employer and the viewer
			ofSeeker.waitForHits(2)
			ofOtherUsers.waitForHits(0)
		})

		t.Run("POST /api/developers/apps/:id/webhooks/:webhookId/secret", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t, nil)
			me := server.seeker(t)
			path, first := me.createWebhook(hooks.URL, "application.status_changed")
			second := me.post(path+"/secret", nil).ok(200).text("data.secret")
			require.NotEqual(t, first, second)
			me.post(path+"/test", object{"type": "application.submitted"}).ok(202)

			delivered := hooks.waitForHits(1)[0]
			require.NoError(t, delivered.verify(t, first), "the previous secret also signs for a day")
			require.NoError(t, delivered.verify(t, second))

			// Signatures of several secrets are separated by spaces.
			require.Len(t, strings.Fields(delivered.headers.Get("Webhook-Signature")), 2)

			forged := hit{headers: delivered.headers, raw: delivered.raw + " "}
			require.Error(t, forged.verify(t, first))
			require.Equal(t, true, delivered.body.Data["test"])
			server.seeker(t).post(path+"/secret", nil).fails(404, "Application not found")
		})

		t.Run(
			"POST /api/developers/apps/:id/webhooks/:webhookId/test and GET /api/developers/apps/:id/webhooks/:webhookId/deliveries",
			func(t *testing.T) {
				t.Parallel()

				hooks := newReceiver(t, nil)
				me := server.seeker(t)
				path, _ := me.createWebhook(hooks.URL, "application.status_changed")
				created := me.post(path+"/test", nil).ok(202)
				require.Equal(t,
					object{"type": "application.status_changed", "status": "pending", "attempts": []any{}},
					created.pick("data.delivery", "type", "status", "attempts"))

				for _, kind := range everyEvent {
					me.post(path+"/test", object{"type": kind}).ok(202)
				}

				for _, delivered := range hooks.waitForHits(1 + len(everyEvent)) {
					require.Equal(t, true, delivered.body.Data["test"])
				}

				require.Eventually(t, func() bool {
					return me.get(path+"/deliveries?status=succeeded&limit=1").ok(200).number("data.pagination.total") == 6
				}, waitTimeout, 20*time.Millisecond)

				list := me.get(path + "/deliveries?limit=2").ok(200)
				require.Equal(t, "application.status_changed", list.text("data.deliveries.0.type"))
				require.Equal(t, object{"responseStatus": 200.0, "error": nil, "response": "thanks"},
					list.pick("data.deliveries.0.attempts.0", "responseStatus", "error", "response"))
				require.Nil(t, list.at("data.deliveries.0.nextAttemptAt"))
				require.Len(t, me.get(path+"/deliveries?cursor="+list.text("data.nextCursor")).ok(200).list("data.deliveries"), 4)
				require.Empty(t, me.get(path+"/deliveries?status=failed").ok(200).list("data.deliveries"))
				me.get(path + "/deliveries?status=lost").invalid("status")
				me.post(path+"/test", object{"type": "user.deleted"}).invalid("type")

				otherUser := server.seeker(t)
				otherUser.get(path+"/deliveries").fails(404, "Application not found")
				otherUser.post(path+"/test", nil).fails(404, "Application not found")
			},
		)

		t.Run("POST /api/developers/apps/:id/webhooks/:webhookId/deliveries/:deliveryId/replay and automatic retries", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t, func(n int) int {
				if n == 1 {
					return 500
				}

				return 200
			})

			me := server.seeker(t)
			path, secret := me.createWebhook(hooks.URL, "application.submitted")
			id := me.post(path+"/test", nil).ok(202).text("data.delivery.id")
			hits := hooks.waitForHits(2)
			require.Equal(t, hits[0].headers.Get("Webhook-Id"), hits[1].headers.Get("Webhook-Id"))
			require.Equal(t, hits[0].raw, hits[1].raw)
			require.Equal(t, "2", hits[1].headers.Get("Webhook-Attempt"))
			require.NoError(t, hits[1].verify(t, secret))
			require.Eventually(t, func() bool {
				return me.get(path+"/deliveries").ok(200).text("data.deliveries.0.status") == "succeeded"
			}, waitTimeout, 20*time.Millisecond)

			first := me.get(path + "/deliveries").ok(200)
			require.Equal(t, object{"responseStatus": 500.0, "error": "status"},
				first.pick("data.deliveries.0.attempts.0", "responseStatus", "error"))
			require.Equal(t, "pending", me.post(path+"/deliveries/"+id+"/replay", nil).ok(202).text("data.delivery.status"))

			hits = hooks.waitForHits(3)
			require.Equal(t, hits[0].headers.Get("Webhook-Id"), hits[2].headers.Get("Webhook-Id"))

			for _, missing := range []string{path + "/deliveries/nonsense/replay", path + "/deliveries/" + nowhere + "/replay"} {
				me.post(missing, nil).fails(404, "Delivery not found")
			}

			server.seeker(t).post(path+"/deliveries/"+id+"/replay", nil).fails(404, "Application not found")
		})

		t.Run("POST /api/developers/apps/:id/webhooks/:webhookId/replay after 410 Gone", func(t *testing.T) {
			t.Parallel()
			var isBack atomic.Bool
			hooks := newReceiver(t, func(int) int {
				if isBack.Load() {
					return http.StatusOK
				}

				return http.StatusGone
			})

			me := server.seeker(t)
			path, _ := me.createWebhook(hooks.URL, "application.submitted")
			me.post(path+"/test", nil).ok(202)
			require.Eventually(t,
				func() bool { return me.get(path).ok(200).text("data.webhook.status") == "disabled" },
				waitTimeout, 20*time.Millisecond)
			server.waitForMail(t, me.email, "was disabled")

			sinceAnHourAgo := object{"since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
			sinceTheFuture := object{"since": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}

			me.post(path+"/test", nil).fails(409, "The webhook is not active")
			me.post(path+"/replay", sinceAnHourAgo).fails(409, "The webhook is not active")
			require.Equal(t, "failed", me.get(path+"/deliveries").ok(200).text("data.deliveries.0.status"))
			isBack.Store(true)
			require.Equal(t, "active", me.put(path, object{"status": "active"}).ok(200).text("data.webhook.status"))
			hooks.waitForHits(1)
			require.Zero(t, me.post(path+"/replay", sinceTheFuture).ok(202).number("data.count"))
			require.Equal(t, 1.0, me.post(path+"/replay", sinceAnHourAgo).ok(202).number("data.count"))

			hits := hooks.waitForHits(2)
			require.Equal(t, hits[0].headers.Get("Webhook-Id"), hits[1].headers.Get("Webhook-Id"))
			me.post(path+"/replay", nil).invalid("since")
			me.post(path+"/replay", object{"since": "yesterday"}).invalid("since")
			server.seeker(t).post(path+"/replay", sinceAnHourAgo).fails(404, "Application not found")
		})

		t.Run("hanging delivery does not delay others of its webhook", func(t *testing.T) {
			t.Parallel()

			release := make(chan struct{})
			hooks := newReceiver(t, func(n int) int {
				if n == 1 {
					<-release
				}

				return 200
			})

			me := server.seeker(t)
			path, _ := me.createWebhook(hooks.URL, "application.submitted")
			me.post(path+"/test", nil).ok(202)
			hooks.waitForHits(1)

			// The first request hangs while the next ones are delivered. 4 seconds are longer than
			// the delivery of several of them.
			deliveries := 1
			for begun := time.Now(); time.Since(begun) < 4*time.Second; {
				me.fromNewAddress().post(path+"/test", nil).ok(202)
				deliveries++
				hooks.waitForHits(deliveries)
			}

			close(release)
			require.Eventually(t, func() bool {
				succeeded := me.get(path + "/deliveries?status=succeeded&limit=1").ok(200).number("data.pagination.total")
				return succeeded == float64(deliveries)
			}, waitTimeout, 20*time.Millisecond)

			for _, delivery := range me.get(path + "/deliveries").ok(200).list("data.deliveries") {
				require.Len(t, delivery.(object)["attempts"], 1, "no delivery waits for the failure of the first")
			}
		})

		t.Run("hanging webhook does not delay others", func(t *testing.T) {
			t.Parallel()

			release := make(chan struct{})
			hanging := newReceiver(t, func(int) int {
				<-release
				return 200
			})

			t.Cleanup(func() { close(release) })

			quick := newReceiver(t, nil)
			me := server.seeker(t)

			hangingPath, _ := me.createWebhook(hanging.URL, "application.submitted")
			for range 20 {
				me.fromNewAddress().post(hangingPath+"/test", nil).ok(202)
			}

			// A webhook has at most five deliveries at a time.
			hanging.waitForHits(5)

			quickPath, _ := me.createWebhook(quick.URL, "application.submitted")
			me.post(quickPath+"/test", nil).ok(202)
			quick.waitForHits(1)
			hanging.waitForHits(5)
		})
	})
}

// TestDeveloperWebhooks checks the API for an app's webhooks. Their URLs must not reach
// internal services (SSRF), in any notation of an address.
func TestDeveloperWebhooks(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/developers/apps/:id/webhooks", func(t *testing.T) {
			t.Parallel()

			me := server.employer(t)
			webhooks := "/api/developers/apps/" + me.app() + "/webhooks"
			created := me.post(webhooks, object{
				"url": " https://receiver.invalid/hook?x=1 ",
				// Duplicates are removed, in the order of the documentation.
				"events": []string{"job.closed", "job.created", "job.closed"},
			}).
				ok(201)
			require.Equal(t,
				object{"url": "https://receiver.invalid/hook?x=1", "events": []any{"job.created", "job.closed"}, "status": "active"},
				created.pick("data.webhook", "url", "events", "status"))
			require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, created.text("data.secret"))

			for _, invalidURL := range []string{
				// No https:// address of a host, or more than that.
				"", "x", "http://receiver.invalid/", "ftp://receiver.invalid/", "https://u:p@receiver.invalid/",
				// The server itself, in several notations.
				"https://127.0.0.1/", "https://127.9.9.9/", "https://localhost/", "https://localhost./",
				"https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://0.0.0.0/",
				"https://[::]/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/",
				"https://[64:ff9b::7f00:1]/",
				// Private networks.
				"https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.0.1/", "https://169.254.169.254/",
				"https://100.64.0.1/", "https://[fd00::1]/",
				// A port of another service, and an address that is too long.
				"https://receiver.invalid:22/", "https://receiver.invalid/" + strings.Repeat("x", 2048),
			} {
				me.fromNewAddress().post(webhooks, object{"url": invalidURL, "events": []string{"job.created"}}).invalid("url")
			}

			// The messages about local receivers have a hint for development.
			const hint = "; on your own installation webhooks.allow_private_networks allows it, " +
				"and `locum webhooks listen --forward URL` forwards to a local receiver"
			for localURL, message := range map[string]string{
				"http://localhost:3000/": "must be an https:// address" + hint,
				"https://127.0.0.1/":     "must be of a server on the public internet" + hint,
			} {
				refused := me.post(webhooks, object{"url": localURL, "events": []string{"job.created"}}).invalid("url")
				require.Equal(t, message, refused.text("details.message"))

				page := server.signedIn(t, me).
					open("POST", strings.TrimPrefix(webhooks, "/api"), url.Values{"url": {localURL}, "events": {"job.created"}})
				require.Equal(t, 400, page.status)
				require.Contains(t, page.visibleText(), "URL "+message)
			}

			valid := object{"url": "https://receiver.invalid/", "events": []string{"job.created"}}

			me.post(webhooks, object{"url": "https://receiver.invalid/", "events": []string{}}).invalid("events")
			me.post(webhooks, object{"url": "https://receiver.invalid/", "events": []string{"job.created", "user.deleted"}}).invalid("events")

			twoErrors := me.post(webhooks, json.RawMessage(`{"events": ["user.deleted"], "url": "x"}`)).invalid("events")
			require.Equal(t, "url", twoErrors.text("errors.1.field"), "all invalid fields, in the order of the body")
			server.employer(t).post(webhooks, valid).fails(404, "Application not found")
			server.guest(t).post(webhooks, valid).fails(401, "Unauthorized")

			for range 19 { // with the first webhook 20
				me.fromNewAddress().post(webhooks, valid).ok(201)
			}

			me.post(webhooks, valid).
				fails(409, "An application has at most 20 webhooks; delete one that is not used")
			require.Len(t, me.get(webhooks).ok(200).list("data.webhooks"), 20)
		})

		t.Run(
			"GET /api/developers/apps/:id/webhooks and GET and PUT and DELETE /api/developers/apps/:id/webhooks/:webhookId",
			func(t *testing.T) {
				t.Parallel()

				me := server.seeker(t)
				otherUser := server.seeker(t)
				path, secret := me.createWebhook("https://receiver.invalid/hook", "job.created")
				webhooks := path[:strings.LastIndexByte(path, '/')]
				list := me.get(webhooks).ok(200)
				require.Equal(t, me.get(path).ok(200).at("data.webhook"), list.at("data.webhooks.0"))
				require.NotContains(t, string(list.raw), secret)
				require.NotContains(t, string(list.raw), "whsec_")

				changed := me.put(path, object{
					"url":     "https://receiver.invalid/other",
					"events":  []string{"job.updated"},
					"status":  "paused",
					"ownerId": otherUser.id,
				}).
					ok(200)
				require.Equal(t,
					object{"url": "https://receiver.invalid/other", "events": []any{"job.updated"}, "status": "paused"},
					changed.pick("data.webhook", "url", "events", "status"))
				me.post(path+"/test", nil).fails(409, "The webhook is not active")
				require.Equal(t, "active", me.put(path, object{"status": "active"}).ok(200).text("data.webhook.status"))
				me.put(path, object{"status": "disabled"}).invalid("status") // only the server disables a webhook
				me.put(path, object{"url": "https://10.0.0.1/"}).invalid("url")
				me.put(path, object{"events": []string{}}).invalid("events")

				pathOfOtherApp, _ := me.createWebhook("https://receiver.invalid/hook", "job.created")

				// The path of this app with the webhook of the other app.
				mixed := webhooks + pathOfOtherApp[strings.LastIndexByte(pathOfOtherApp, '/'):]
				for _, missing := range []string{mixed, webhooks + "/nonsense", webhooks + "/" + nowhere} {
					me.get(missing).fails(404, "Webhook not found")
					me.delete(missing).fails(404, "Webhook not found")
				}

				otherUser.get(webhooks).fails(404, "Application not found")
				otherUser.get(path).fails(404, "Application not found")
				otherUser.put(path, object{"status": "paused"}).fails(404, "Application not found")
				otherUser.delete(path).fails(404, "Application not found")
				me.delete(path).ok(200)
				me.get(path).fails(404, "Webhook not found")
			},
		)
	})
}
