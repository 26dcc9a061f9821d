package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
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
		t.Run("creation, change and deletion of a listing are events", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t)
			webhook, secret := server.seeker(t).createWebhook(hooks.URL, "job.created", "job.updated", "job.closed")
			require.Regexp(t, `^/api/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}$`, webhook)

			// A new listing: the request is signed, and contains the public members of the listing.
			employer := server.employer(t)
			id := employer.listing(object{"title": "Ward Sister", "location": "Leeds", "salary": object{"min": 30000}})
			created := hooks.waitForEvent("job.created", "id", id)
			require.NoError(t, created.verify(t, secret))
			require.WithinDuration(t, time.Now(), created.body.Timestamp, time.Minute)
			require.Equal(t, "1", created.headers.Get("Webhook-Attempt"))
			require.Equal(t, "application/json", created.headers.Get("Content-Type"))
			require.Equal(t, "locum-webhooks/1", created.headers.Get("User-Agent"))

			job := created.body.Data["job"].(object)
			require.Equal(t, "Ward Sister", job["title"])
			require.Equal(t, "GBP", job["salary"].(object)["currency"], "the default currency")
			require.Nil(t, job["posted_by"], "the user who created the listing is not public")

			for _, member := range []string{
				"company", "location", "employment_type", "contract_type", "application_deadline",
				"posted_at", "questions", "url",
			} {
				require.Contains(t, job, member)
			}

			// A changed listing.
			employer.put("/api/employers/jobs/"+id, object{"title": "Ward Manager"}).ok(200)

			updated := hooks.waitForEvent("job.updated", "id", id)
			require.Equal(t, "Ward Manager", updated.body.Data["job"].(object)["title"])

			// A deleted listing, which has the status of an archived one.
			employer.delete("/api/employers/jobs/" + id).ok(200)

			closed := hooks.waitForEvent("job.closed", "id", id)
			require.Equal(t, "archived", closed.body.Data["job"].(object)["status"])
			require.NotEqual(t, created.headers.Get("Webhook-Id"), closed.headers.Get("Webhook-Id"))
		})

		t.Run("each event has the listing as it was then", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t)
			server.seeker(t).createWebhook(hooks.URL, "job.updated", "job.closed")

			employer := server.employer(t)

			const listings = 3 // a wrong snapshot depends on the timing and may be missed once

			for range listings {
				id := employer.listing(nil)
				employer.put("/api/employers/jobs/"+id, object{"title": "Ward Manager"}).ok(200)
				employer.put("/api/employers/jobs/"+id, object{"title": "Private", "status": "closed"}).ok(200)
				employer.put("/api/employers/jobs/"+id, object{"title": "Changed after closing"}).ok(200)

				// No event has a later change.
				updated := hooks.waitForEvent("job.updated", "id", id).body.Data["job"].(object)
				require.Equal(t, "Ward Manager", updated["title"])
				require.Equal(t, "active", updated["status"])

				closed := hooks.waitForEvent("job.closed", "id", id).body.Data["job"].(object)
				require.Equal(t, "Private", closed["title"])
				require.Equal(t, "closed", closed["status"])
			}
		})

		t.Run("expiry of a listing is an event", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t)
			server.seeker(t).createWebhook(hooks.URL, "job.closed")

			deadline := time.Now().Add(10 * time.Second).UTC() // late enough to create the listing before
			id := server.employer(t).listing(object{"applicationDeadline": deadline.Format(time.RFC3339Nano)})

			// The event is sent within a minute of the deadline.
			hasEvent := func() bool {
				hooks.mu.Lock()
				defer hooks.mu.Unlock()
				return slices.ContainsFunc(hooks.hits, func(h hit) bool { return h.body.Data["id"] == id })
			}
			require.Eventually(t, hasEvent, time.Until(deadline)+time.Minute, 50*time.Millisecond)
			require.True(t, time.Now().After(deadline), "no event before the deadline")
			hooks.waitForEvent("job.closed", "id", id) // the event that has arrived is of this type
		})

		t.Run("only users who may read an application get its events", func(t *testing.T) {
			t.Parallel()

			employer := server.employer(t)
			seeker := server.seeker(t)
			otherSeeker := server.seeker(t)
			otherEmployer := server.employer(t)

			// The applicant and the members of the organization with the permission may read the application.
			events := []string{"application.submitted", "application.status_changed"}
			ofOrganization := newReceiver(t)
			ofSeeker := newReceiver(t)
			ofOtherUsers := newReceiver(t)

			employer.createWebhook(ofOrganization.URL, events...)
			employer.inviteMember("viewer").createWebhook(ofOrganization.URL+"/viewer", events...)
			seeker.createWebhook(ofSeeker.URL, events...)
			otherSeeker.createWebhook(ofOtherUsers.URL, events...)
			otherEmployer.createWebhook(ofOtherUsers.URL, events...)

			// A new application.
			listing := employer.listing(nil)
			id := seeker.application(listing, nil)

			for _, hooks := range []*receiver{ofOrganization, ofSeeker} {
				data := hooks.waitForEvent("application.submitted", "application_id", id).body.Data
				require.Equal(t, listing, data["job_id"])
				require.Equal(t, seeker.id, data["candidate_id"])
				require.Equal(t, "pending", data["status"])
				require.Contains(t, data, "submitted_at")
			}

			// A change of the application's status.
			employer.put("/api/employers/applications/"+id, object{"status": "review"}).ok(200)

			for _, hooks := range []*receiver{ofOrganization, ofSeeker} {
				data := hooks.waitForEvent("application.status_changed", "application_id", id).body.Data
				require.Equal(t, "review", data["status"])
				require.Equal(t, "pending", data["previous_status"])
			}

			ofOrganization.waitForHits(2 * len(events)) // both events for each of the employer and the viewer
			ofSeeker.waitForHits(len(events))
			ofOtherUsers.requireHits(0)
		})

		t.Run("POST /api/developers/apps/:id/webhooks/:webhookId/secret", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t)
			developer := server.seeker(t)
			webhook, previousSecret := developer.createWebhook(hooks.URL, "application.status_changed")
			newSecret := developer.post(webhook+"/secret", nil).ok(200).text("data.secret")
			require.NotEqual(t, previousSecret, newSecret)

			// A test delivery has a signature of each of the two secrets, separated by a space.
			developer.post(webhook+"/test", object{"type": "application.submitted"}).ok(202)

			delivered := hooks.waitForHits(1)[0]
			require.Equal(t, true, delivered.body.Data["test"])
			require.NoError(t, delivered.verify(t, previousSecret), "the previous secret also signs for a day")
			require.NoError(t, delivered.verify(t, newSecret))
			require.Len(t, strings.Fields(delivered.headers.Get("Webhook-Signature")), 2)

			// The signature does not fit another body.
			forged := hit{headers: delivered.headers, raw: delivered.raw + " "}
			require.Error(t, forged.verify(t, previousSecret))

			server.seeker(t).post(webhook+"/secret", nil).fails(404, "Application not found")
		})

		t.Run(
			"POST /api/developers/apps/:id/webhooks/:webhookId/test and GET /api/developers/apps/:id/webhooks/:webhookId/deliveries",
			func(t *testing.T) {
				t.Parallel()

				hooks := newReceiver(t)
				developer := server.seeker(t)
				webhook, _ := developer.createWebhook(hooks.URL, "application.status_changed")

				// A request without a type sends an event of the first type of the webhook.
				created := developer.post(webhook+"/test", nil).ok(202)
				require.Equal(t,
					object{"type": "application.status_changed", "status": "pending", "attempts": []any{}},
					created.pick("data.delivery", "type", "status", "attempts"))

				// A request with a type sends this one, even if the webhook does not have it.
				for _, kind := range everyEvent {
					developer.post(webhook+"/test", object{"type": kind}).ok(202)
				}

				deliveries := 1 + len(everyEvent)
				for _, delivered := range hooks.waitForHits(deliveries) {
					require.Equal(t, true, delivered.body.Data["test"])
				}

				developer.waitForSucceeded(webhook, deliveries)

				// The list begins with the newest delivery, which is the last of everyEvent.
				const firstPage = 2
				list := developer.get(fmt.Sprintf("%s/deliveries?limit=%d", webhook, firstPage)).ok(200)

				// The newest delivery has succeeded: no further attempt is planned, and its attempt has the response of the receiver.
				require.Len(t, list.list("data.deliveries"), firstPage)
				require.Equal(t, everyEvent[len(everyEvent)-1], list.text("data.deliveries.0.type"))
				require.Nil(t, list.at("data.deliveries.0.nextAttemptAt"))
				require.Equal(t, object{"responseStatus": 200.0, "error": nil, "response": receiverResponse},
					list.pick("data.deliveries.0.attempts.0", "responseStatus", "error", "response"))

				nextPage := developer.get(webhook + "/deliveries?cursor=" + list.text("data.nextCursor")).ok(200)
				require.Len(t, nextPage.list("data.deliveries"), deliveries-firstPage)

				require.Empty(t, developer.get(webhook+"/deliveries?status=failed").ok(200).list("data.deliveries"))

				t.Run("invalid parameters", func(t *testing.T) {
					developer := developer.in(t)
					developer.get(webhook + "/deliveries?status=lost").invalid("status")
					developer.post(webhook+"/test", object{"type": "user.deleted"}).invalid("type")
				})

				t.Run("app of another user", func(t *testing.T) {
					otherUser := server.seeker(t)
					otherUser.get(webhook+"/deliveries").fails(404, "Application not found")
					otherUser.post(webhook+"/test", nil).fails(404, "Application not found")
				})
			},
		)

		t.Run("failed delivery is sent again unchanged", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiverWithStatus(t, func(request int) int {
				if request == 1 {
					return http.StatusInternalServerError
				}

				return http.StatusOK
			})

			developer := server.seeker(t)
			webhook, secret := developer.createWebhook(hooks.URL, "application.submitted")
			developer.post(webhook+"/test", nil).ok(202)

			hits := hooks.waitForHits(2)
			failed, retried := hits[0], hits[1]
			require.Equal(t, failed.headers.Get("Webhook-Id"), retried.headers.Get("Webhook-Id"))
			require.Equal(t, failed.raw, retried.raw)
			require.Equal(t, "2", retried.headers.Get("Webhook-Attempt"))
			require.NoError(t, retried.verify(t, secret))

			// The delivery lists its failed attempt.
			developer.waitForSucceeded(webhook, 1)

			deliveries := developer.get(webhook + "/deliveries").ok(200)
			require.Equal(t, object{"responseStatus": 500.0, "error": "status"},
				deliveries.pick("data.deliveries.0.attempts.0", "responseStatus", "error"))
		})

		t.Run("POST /api/developers/apps/:id/webhooks/:webhookId/deliveries/:deliveryId/replay sends it once more", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiver(t)
			developer := server.seeker(t)
			webhook, _ := developer.createWebhook(hooks.URL, "application.submitted")
			id := developer.post(webhook+"/test", nil).ok(202).text("data.delivery.id")
			developer.waitForSucceeded(webhook, 1)

			replay := webhook + "/deliveries/" + id + "/replay"
			require.Equal(t, "pending", developer.post(replay, nil).ok(202).text("data.delivery.status"))

			hits := hooks.waitForHits(2)
			delivered, replayed := hits[0], hits[1]
			require.Equal(t, delivered.headers.Get("Webhook-Id"), replayed.headers.Get("Webhook-Id"))

			// Unknown deliveries, and an app of another user.
			for _, missing := range []string{webhook + "/deliveries/nonsense/replay", webhook + "/deliveries/" + nowhere + "/replay"} {
				developer.post(missing, nil).fails(404, "Delivery not found")
			}

			server.seeker(t).post(replay, nil).fails(404, "Application not found")
		})

		// A receiver that responds 410 Gone wants no further requests.
		t.Run("410 Gone disables the webhook", func(t *testing.T) {
			t.Parallel()

			hooks := newReceiverWithStatus(t, func(int) int { return http.StatusGone })
			developer := server.seeker(t)
			webhook, _ := developer.createWebhook(hooks.URL, "application.submitted")
			developer.post(webhook+"/test", nil).ok(202)
			developer.waitUntilDisabled(webhook)
			server.waitForMail(t, developer.email, "was disabled")
			require.Equal(t, "failed", developer.get(webhook+"/deliveries").ok(200).text("data.deliveries.0.status"))

			// A disabled webhook sends neither tests nor replays.
			developer.post(webhook+"/test", nil).fails(409, "The webhook is not active")

			sinceAnHourAgo := object{"since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
			developer.post(webhook+"/replay", sinceAnHourAgo).fails(409, "The webhook is not active")
		})

		t.Run("POST /api/developers/apps/:id/webhooks/:webhookId/replay sends the failed deliveries since a time", func(t *testing.T) {
			t.Parallel()

			// The receiver responds 410 Gone, which disables the webhook, until it is back.
			var isBack atomic.Bool
			hooks := newReceiverWithStatus(t, func(int) int {
				if isBack.Load() {
					return http.StatusOK
				}

				return http.StatusGone
			})

			developer := server.seeker(t)
			webhook, _ := developer.createWebhook(hooks.URL, "application.submitted")
			developer.post(webhook+"/test", nil).ok(202)
			developer.waitUntilDisabled(webhook)

			sinceAnHourAgo := object{"since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
			sinceTheFuture := object{"since": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}

			// The activation of the webhook sends nothing by itself.
			isBack.Store(true)
			require.Equal(t, "active", developer.put(webhook, object{"status": "active"}).ok(200).text("data.webhook.status"))
			hooks.requireHits(1)

			// One delivery has failed in the last hour, and none in the future.
			require.Zero(t, developer.post(webhook+"/replay", sinceTheFuture).ok(202).integer("data.count"))
			require.Equal(t, 1, developer.post(webhook+"/replay", sinceAnHourAgo).ok(202).integer("data.count"))

			hits := hooks.waitForHits(2)
			failed, replayed := hits[0], hits[1]
			require.Equal(t, failed.headers.Get("Webhook-Id"), replayed.headers.Get("Webhook-Id"))

			// Invalid times, and an app of another user.
			developer.post(webhook+"/replay", nil).invalid("since")
			developer.post(webhook+"/replay", object{"since": "yesterday"}).invalid("since")
			server.seeker(t).post(webhook+"/replay", sinceAnHourAgo).fails(404, "Application not found")
		})

		t.Run("hanging delivery does not delay others of its webhook", func(t *testing.T) {
			t.Parallel()

			release := make(chan struct{})
			hooks := newReceiverWithStatus(t, func(request int) int {
				if request == 1 {
					<-release // the first request hangs
				}

				return http.StatusOK
			})

			developer := server.seeker(t)
			webhook, _ := developer.createWebhook(hooks.URL, "application.submitted")
			developer.post(webhook+"/test", nil).ok(202)
			hooks.waitForHits(1)

			// The first request hangs while the next ones are delivered.
			const hangTime = 4 * time.Second // is longer than the delivery of several requests

			deliveries := 1
			for begun := time.Now(); time.Since(begun) < hangTime; {
				developer.post(webhook+"/test", nil).ok(202)
				deliveries++
				hooks.waitForHits(deliveries)
			}

			close(release)
			developer.waitForSucceeded(webhook, deliveries)

			for _, delivery := range developer.get(webhook + "/deliveries").ok(200).list("data.deliveries") {
				require.Len(t, delivery.(object)["attempts"], 1, "no delivery waits for the failure of the first")
			}
		})

		t.Run("hanging webhook does not delay others", func(t *testing.T) {
			t.Parallel()

			release := make(chan struct{})
			hanging := newReceiverWithStatus(t, func(int) int {
				<-release
				return http.StatusOK
			})

			// The requests end before the receiver is closed, because that waits for them.
			t.Cleanup(func() { close(release) })

			const maxConcurrent = 5 // requests of the server to a webhook

			developer := server.seeker(t)
			hangingPath, _ := developer.createWebhook(hanging.URL, "application.submitted")

			for range 4 * maxConcurrent { // more than the server sends at a time
				developer.post(hangingPath+"/test", nil).ok(202)
			}

			hanging.waitForHits(maxConcurrent)

			// Another webhook gets its delivery meanwhile, and the hanging one no further ones.
			quick := newReceiver(t)
			quickPath, _ := developer.createWebhook(quick.URL, "application.submitted")
			developer.post(quickPath+"/test", nil).ok(202)
			quick.waitForHits(1)
			hanging.requireHits(maxConcurrent)
		})
	})
}

// waitUntilDisabled waits until the server has disabled the webhook. webhook is its path.
func (a *account) waitUntilDisabled(webhook string) {
	a.t.Helper()

	isDisabled := func() bool { return a.get(webhook).ok(200).text("data.webhook.status") == "disabled" }
	require.Eventually(a.t, isDisabled, waitTimeout, 20*time.Millisecond)
}

// waitForSucceeded waits until the number of deliveries of the webhook have succeeded. webhook is its path.
func (a *account) waitForSucceeded(webhook string, deliveries int) {
	a.t.Helper()

	haveSucceeded := func() bool {
		succeeded := a.get(webhook + "/deliveries?status=succeeded&limit=1").ok(200)
		return succeeded.integer("data.pagination.total") == deliveries
	}
	require.Eventually(a.t, haveSucceeded, waitTimeout, 20*time.Millisecond)
}

// TestDeveloperWebhooks checks the API for an app's webhooks. Their URLs must not reach
// internal services (server-side request forgery, SSRF), in any notation of an address.
func TestDeveloperWebhooks(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/developers/apps/:id/webhooks", func(t *testing.T) {
			t.Parallel()

			developer := server.employer(t)
			webhooks := "/api/developers/apps/" + developer.app() + "/webhooks"

			// Spaces around the URL and duplicate events are removed, and events get the order of the documentation.
			created := developer.post(webhooks, object{
				"url":    " https://receiver.invalid/hook?x=1 ",
				"events": []string{"job.closed", "job.created", "job.closed"},
			}).
				ok(201)
			require.Equal(t,
				object{"url": "https://receiver.invalid/hook?x=1", "events": []any{"job.created", "job.closed"}, "status": "active"},
				created.pick("data.webhook", "url", "events", "status"))
			require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, created.text("data.secret"))

			t.Run("invalid URLs", func(t *testing.T) {
				developer := developer.in(t)
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
					webhook := object{"url": invalidURL, "events": []string{"job.created"}}
					developer.post(webhooks, webhook).invalid("url")
				}
			})

			// The messages about local receivers have a hint for development, in the API and on the page.
			t.Run("URLs of local receivers", func(t *testing.T) {
				developer := developer.in(t)

				const hint = "; on your own installation webhooks.allow_private_networks allows it, " +
					"and `locum webhooks listen --forward URL` forwards to a local receiver"
				for localURL, message := range map[string]string{
					"http://localhost:3000/": "must be an https:// address" + hint,
					"https://127.0.0.1/":     "must be of a server on the public internet" + hint,
				} {
					refused := developer.post(webhooks, object{"url": localURL, "events": []string{"job.created"}}).invalid("url")
					require.Equal(t, message, refused.text("details.message"))

					page := server.signedIn(t, developer).
						open("POST", strings.TrimPrefix(webhooks, "/api"), url.Values{"url": {localURL}, "events": {"job.created"}})
					require.Equal(t, 400, page.status)
					require.Contains(t, page.visibleText(), "URL "+message)
				}
			})

			const validURL = "https://receiver.invalid/"

			t.Run("invalid events", func(t *testing.T) {
				developer := developer.in(t)
				developer.post(webhooks, object{"url": validURL, "events": []string{}}).invalid("events")
				developer.post(webhooks, object{"url": validURL, "events": []string{"job.created", "user.deleted"}}).invalid("events")

				twoErrors := developer.post(webhooks, json.RawMessage(`{"events": ["user.deleted"], "url": "x"}`)).invalid("events")
				require.Equal(t, "url", twoErrors.text("errors.1.field"), "all invalid fields, in the order of the body")
			})

			valid := object{"url": validURL, "events": []string{"job.created"}}

			t.Run("other employer and guest", func(t *testing.T) {
				server.employer(t).post(webhooks, valid).fails(404, "Application not found")
				server.guest(t).post(webhooks, valid).fails(401, "Unauthorized")
			})

			t.Run("limit of an app", func(t *testing.T) {
				developer := developer.in(t)

				const maxWebhooks = 20

				for range maxWebhooks - 1 { // the app has one since the beginning of the test
					developer.post(webhooks, valid).ok(201)
				}

				developer.post(webhooks, valid).
					fails(409, "An application has at most 20 webhooks; delete one that is not used")
				require.Len(t, developer.get(webhooks).ok(200).list("data.webhooks"), maxWebhooks)
			})
		})

		t.Run(
			"GET /api/developers/apps/:id/webhooks and GET and PUT and DELETE /api/developers/apps/:id/webhooks/:webhookId",
			func(t *testing.T) {
				t.Parallel()

				developer := server.seeker(t)
				otherUser := server.seeker(t)
				webhook, secret := developer.createWebhook("https://receiver.invalid/hook", "job.created")
				webhooks := path.Dir(webhook)

				// The list and the webhook do not contain its secret.
				list := developer.get(webhooks).ok(200)
				require.Equal(t, developer.get(webhook).ok(200).at("data.webhook"), list.at("data.webhooks.0"))
				require.NotContains(t, string(list.raw), secret)
				require.NotContains(t, string(list.raw), "whsec_")

				// A change, which cannot give the webhook to another user.
				changed := developer.put(webhook, object{
					"url":     "https://receiver.invalid/other",
					"events":  []string{"job.updated"},
					"status":  "paused",
					"ownerId": otherUser.id,
				}).
					ok(200)
				require.Equal(t,
					object{"url": "https://receiver.invalid/other", "events": []any{"job.updated"}, "status": "paused"},
					changed.pick("data.webhook", "url", "events", "status"))

				// A paused webhook sends nothing until it is active again.
				developer.post(webhook+"/test", nil).fails(409, "The webhook is not active")
				require.Equal(t, "active", developer.put(webhook, object{"status": "active"}).ok(200).text("data.webhook.status"))

				t.Run("invalid changes", func(t *testing.T) {
					developer := developer.in(t)
					developer.put(webhook, object{"status": "disabled"}).invalid("status") // only the server disables a webhook
					developer.put(webhook, object{"url": "https://10.0.0.1/"}).invalid("url")
					developer.put(webhook, object{"events": []string{}}).invalid("events")
				})

				t.Run("unknown webhooks", func(t *testing.T) {
					developer := developer.in(t)
					ofOtherApp, _ := developer.createWebhook("https://receiver.invalid/hook", "job.created")
					mixed := webhooks + "/" + path.Base(ofOtherApp) // the path of this app with the webhook of the other app

					for _, missing := range []string{mixed, webhooks + "/nonsense", webhooks + "/" + nowhere} {
						developer.get(missing).fails(404, "Webhook not found")
						developer.delete(missing).fails(404, "Webhook not found")
					}
				})

				t.Run("app of another user", func(t *testing.T) {
					otherUser := otherUser.in(t)
					otherUser.get(webhooks).fails(404, "Application not found")
					otherUser.get(webhook).fails(404, "Application not found")
					otherUser.put(webhook, object{"status": "paused"}).fails(404, "Application not found")
					otherUser.delete(webhook).fails(404, "Application not found")
				})

				// A deleted webhook.
				developer.delete(webhook).ok(200)
				developer.get(webhook).fails(404, "Webhook not found")
			},
		)
	})
}
