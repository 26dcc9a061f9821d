package e2e

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
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
			job, is := created.body.Data["job"].(object)
			require.True(t, is)
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
				for kind, want := range map[string][2]string{
					"job.updated": {"Ward Manager", "active"},
					"job.closed":  {"Private", "closed"},
				} {
					job, is := hooks.waitForEvent(kind, "id", id).body.Data["job"].(object)
					require.True(t, is, kind)
					require.Equal(t, want, [2]string{job["title"].(string), job["status"].(string)})
				}
			}
		})
		t.Run("event of an expired listing", func(t *testing.T) {
			t.Parallel()
			hooks := newReceiver(t, nil)
			server.seeker(t).createWebhook(hooks.URL, "job.closed")
			deadline := time.Now().Add(10 * time.Second).UTC() // late enough that the listing exists before
			id := server.employer(t).listing(object{"applicationDeadline": deadline.Format(time.RFC3339Nano)})
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
			employer, seeker, otherUser, rival := server.employer(t), server.seeker(t), server.seeker(t), server.employer(t)
			// Only a user who may read the application gets its events: its applicant, and
			// members of the organization with the permission.
			events := []string{"application.submitted", "application.status_changed"}
			atWork, atHome, elsewhere := newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)
			employer.createWebhook(atWork.URL, events...)
			seeker.createWebhook(atHome.URL, events...)
			otherUser.createWebhook(elsewhere.URL, events...)
			rival.createWebhook(elsewhere.URL, events...)
			employer.inviteMember("viewer").createWebhook(atWork.URL+"/viewer", events...)
			listing := employer.listing(nil)
			id := seeker.application(listing, nil)
			for _, hooks := range []*receiver{atWork, atHome} {
				data := hooks.waitForEvent("application.submitted", "application_id", id).body.Data
				require.Equal(t, listing, data["job_id"])
				require.Equal(t, seeker.id, data["candidate_id"])
				require.Equal(t, "pending", data["status"])
				require.Contains(t, data, "submitted_at")
			}
			employer.put("/api/employers/applications/"+id, object{"status": "review"}).ok(200)
			for _, hooks := range []*receiver{atWork, atHome} {
				data := hooks.waitForEvent("application.status_changed", "application_id", id).body.Data
				require.Equal(t, "review", data["status"])
				require.Equal(t, "pending", data["previous_status"])
			}
			atWork.waitForHits(4) // two events for the employer and for the member
			atHome.waitForHits(2)
			elsewhere.waitForHits(0)
		})
		t.Run("POST /api/developers/apps/:id/webhooks/:webhookId/secret", func(t *testing.T) {
			t.Parallel()
			hooks := newReceiver(t, nil)
			me := server.seeker(t)
			path, first := me.createWebhook(hooks.URL, "application.status_changed")
			second := me.post(path+"/secret", nil).ok(200).text("data.secret")
			require.NotEqual(t, first, second)
			me.post(path+"/test", object{"type": "application.submitted"}).ok(202)
			h := hooks.waitForHits(1)[0]
			require.NoError(t, h.verify(t, first), "both secrets sign for a day")
			require.NoError(t, h.verify(t, second))
			// Signatures of several secrets are separated by spaces.
			require.Len(t, strings.Fields(h.headers.Get("Webhook-Signature")), 2)
			require.Error(t, hit{headers: h.headers, raw: h.raw + " "}.verify(t, first))
			require.Equal(t, true, h.body.Data["test"])
			server.seeker(t).post(path+"/secret", nil).fails(404, "Application not found")
		})
		t.Run(
			"POST /api/developers/apps/:id/webhooks/:webhookId/test and GET /api/developers/apps/:id/webhooks/:webhookId/deliveries",
			func(t *testing.T) {
				t.Parallel()
				hooks := newReceiver(t, nil)
				me := server.seeker(t)
				path, _ := me.createWebhook(hooks.URL, "application.status_changed")
				d := me.post(path+"/test", nil).ok(202)
				require.Equal(t,
					object{"type": "application.status_changed", "status": "pending", "attempts": []any{}},
					d.pick("data.delivery", "type", "status", "attempts"))
				for _, kind := range everyEvent {
					me.post(path+"/test", object{"type": kind}).ok(202)
				}
				for _, h := range hooks.waitForHits(6) {
					require.Equal(t, true, h.body.Data["test"])
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
			gone := make(chan struct{})
			hooks := newReceiver(t, func(int) int {
				select {
				case <-gone:
					return 200
				default:
					return 410
				}
			})
			me := server.seeker(t)
			path, _ := me.createWebhook(hooks.URL, "application.submitted")
			me.post(path+"/test", nil).ok(202)
			require.Eventually(t,
				func() bool { return me.get(path).ok(200).text("data.webhook.status") == "disabled" },
				waitTimeout, 20*time.Millisecond)
			server.waitForMail(t, me.email, "was disabled")
			since := object{"since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
			me.post(path+"/test", nil).fails(409, "The webhook is not active")
			me.post(path+"/replay", since).fails(409, "The webhook is not active")
			require.Equal(t, "failed", me.get(path+"/deliveries").ok(200).text("data.deliveries.0.status"))
			close(gone)
			require.Equal(t, "active", me.put(path, object{"status": "active"}).ok(200).text("data.webhook.status"))
			hooks.waitForHits(1)
			require.Zero(
				t,
				me.post(path+"/replay", object{"since": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}).ok(202).number("data.count"),
			)
			require.InDelta(t, 1, me.post(path+"/replay", since).ok(202).number("data.count"), 0)
			hits := hooks.waitForHits(2)
			require.Equal(t, hits[0].headers.Get("Webhook-Id"), hits[1].headers.Get("Webhook-Id"))
			me.post(path+"/replay", nil).invalid("since")
			me.post(path+"/replay", object{"since": "yesterday"}).invalid("since")
			server.seeker(t).post(path+"/replay", since).fails(404, "Application not found")
		})
		t.Run("slow receiver does not delay other deliveries", func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			one := newReceiver(t, func(n int) int {
				if n == 1 {
					<-release
				}
				return 200
			})
			me := server.seeker(t)
			path, _ := me.createWebhook(one.URL, "application.submitted")
			me.post(path+"/test", nil).ok(202)
			one.waitForHits(1)
			begun, n := time.Now(), 1
			// The first request hangs while the others are delivered.
			for ; time.Since(begun) < 4*time.Second; n++ {
				me.fromNewAddress().post(path+"/test", nil).ok(202)
				one.waitForHits(n + 1)
			}
			close(release)
			require.Eventually(t, func() bool {
				return me.get(path+"/deliveries?status=succeeded&limit=1").ok(200).number("data.pagination.total") == float64(n)
			}, waitTimeout, 20*time.Millisecond)
			for _, d := range me.get(path + "/deliveries").ok(200).list("data.deliveries") {
				require.Len(t, d.(map[string]any)["attempts"], 1, "no delivery waits for the failure of the first")
			}
		})
		t.Run("hanging receiver does not delay others", func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			slow := newReceiver(t, func(int) int { <-release; return 200 })
			t.Cleanup(func() { close(release) })
			quick := newReceiver(t, nil)
			me := server.seeker(t)
			stuck, _ := me.createWebhook(slow.URL, "application.submitted")
			for range 20 {
				me.fromNewAddress().post(stuck+"/test", nil).ok(202)
			}
			// A webhook has at most five deliveries at a time.
			slow.waitForHits(5)
			path, _ := me.createWebhook(quick.URL, "application.submitted")
			me.post(path+"/test", nil).ok(202)
			quick.waitForHits(1)
			slow.waitForHits(5)
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
			app := "/api/developers/apps/" + me.post("/api/developers/apps", object{"name": "Ward Finder"}).
				ok(201).
				text("data.app.id") +
				"/webhooks"
			made := me.post(app, object{
				"url": " https://receiver.invalid/hook?x=1 ",
				// Duplicates are removed, in the order of the documentation.
				"events": []string{"job.closed", "job.created", "job.closed"},
			}).
				ok(201)
			require.Equal(t,
				object{"url": "https://receiver.invalid/hook?x=1", "events": []any{"job.created", "job.closed"}, "status": "active"},
				made.pick("data.webhook", "url", "events", "status"))
			require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, made.text("data.secret"))
			for _, bad := range []string{"", "x", "http://receiver.invalid/", "ftp://receiver.invalid/", "https://u:p@receiver.invalid/", "https://127.0.0.1/", "https://127.9.9.9/", "https://localhost/", "https://localhost./", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/",
				"https://0.0.0.0/", "https://[::]/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/", "https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.0.1/", "https://169.254.169.254/", "https://100.64.0.1/", "https://[fd00::1]/", "https://[64:ff9b::7f00:1]/",
				"https://receiver.invalid:22/", "https://receiver.invalid/" + strings.Repeat("x", 2048)} {
				me.fromNewAddress().post(app, object{"url": bad, "events": []string{"job.created"}}).invalid("url")
			}
			const local = "; on your own installation webhooks.allow_private_networks allows it, and `locum webhooks listen --forward URL` forwards to a local receiver"
			for own, says := range map[string]string{
				"http://localhost:3000/": "must be an https:// address" + local,
				"https://127.0.0.1/":     "must be of a server on the public internet" + local,
			} {
				require.Equal(t, says,
					me.post(app, object{"url": own, "events": []string{"job.created"}}).invalid("url").text("details.message"))
				page := server.signedIn(t, me).
					open("POST", strings.TrimPrefix(app, "/api"), url.Values{"url": {own}, "events": {"job.created"}})
				require.Equal(t, 400, page.status)
				require.Contains(t, page.visibleText(), "URL "+says)
			}
			me.post(app, object{"url": "https://receiver.invalid/", "events": []string{}}).invalid("events")
			me.post(app, object{"url": "https://receiver.invalid/", "events": []string{"job.created", "user.deleted"}}).invalid("events")
			both := me.post(app, json.RawMessage(`{"events": ["user.deleted"], "url": "x"}`)).invalid("events")
			require.Equal(t, "url", both.text("errors.1.field"), "all invalid fields, in the order of the body")
			server.employer(t).
				post(app, object{"url": "https://receiver.invalid/", "events": []string{"job.created"}}).
				fails(404, "Application not found")
			server.guest(t).
				post(app, object{"url": "https://receiver.invalid/", "events": []string{"job.created"}}).
				fails(401, "Unauthorized")
			for range 19 {
				me.fromNewAddress().post(app, object{"url": "https://receiver.invalid/", "events": []string{"job.created"}}).ok(201)
			}
			me.post(app, object{"url": "https://receiver.invalid/", "events": []string{"job.created"}}).
				fails(409, "An application has at most 20 webhooks; delete one that is not used")
			require.Len(t, me.get(app).ok(200).list("data.webhooks"), 20)
		})
		t.Run(
			"GET /api/developers/apps/:id/webhooks and GET and PUT and DELETE /api/developers/apps/:id/webhooks/:webhookId",
			func(t *testing.T) {
				t.Parallel()
				me, otherUser := server.seeker(t), server.seeker(t)
				path, secret := me.createWebhook("https://receiver.invalid/hook", "job.created")
				list := strings.TrimSuffix(path, path[strings.LastIndexByte(path, '/'):])
				shown := me.get(list).ok(200)
				require.Equal(t, me.get(path).ok(200).at("data.webhook"), shown.at("data.webhooks.0"))
				require.NotContains(t, string(shown.raw), secret)
				require.NotContains(t, string(shown.raw), "whsec_")
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
				second, _ := me.createWebhook("https://receiver.invalid/hook", "job.created")
				// The webhook of another app below this app.
				foreign := list + second[strings.LastIndexByte(second, '/'):]
				for _, missing := range []string{foreign, list + "/nonsense", list + "/" + nowhere} {
					me.get(missing).fails(404, "Webhook not found")
					me.delete(missing).fails(404, "Webhook not found")
				}
				otherUser.get(list).fails(404, "Application not found")
				otherUser.get(path).fails(404, "Application not found")
				otherUser.put(path, object{"status": "paused"}).fails(404, "Application not found")
				otherUser.delete(path).fails(404, "Application not found")
				me.delete(path).ok(200)
				me.get(path).fails(404, "Webhook not found")
			},
		)
	})
}
