package e2e

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	// hookLink, sentLink and replayLink match the paths of a webhook, of a delivery, and of the
	// form that sends a delivery again.
	hookLink   = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}`)
	sentLink   = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}/deliveries/[0-9a-f-]{36}`)
	replayLink = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}/deliveries/[0-9a-f-]{36}/replay`)
	// hookSecret matches a signing secret.
	hookSecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)
)

// follow requires that the response to a form is a redirect, and opens the page to which it leads.
func (b *browser) follow(redirect pageView) pageView {
	b.T.Helper()
	require.Equal(b.T, 303, redirect.status, redirect.text)

	location, err := url.Parse(redirect.header.Get("Location"))
	require.NoError(b.T, err)

	return b.open("GET", location.RequestURI(), nil)
}

// waitForText opens the page to which a form redirects, and reloads the page until it shows the text.
func (b *browser) waitForText(redirect pageView, text string) pageView {
	b.T.Helper()

	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()

	for deadline := time.Now().Add(20 * time.Second); ; <-retry.C {
		page := b.follow(redirect)
		if strings.Contains(page.text, text) {
			return page
		}

		require.True(b.T, time.Now().Before(deadline), "%q is not on the page: %s", text, page.text)
	}
}

// visibleText returns the HTML of a page without escapes, such as &lt;, so that it contains texts as a user
// reads them.
func (p pageView) visibleText() string { return html.UnescapeString(p.text) }

// newWebhookPath adds a webhook for job.closed to the app with the form of the dashboard, and
// returns the path of its page.
func (b *browser) newWebhookPath(appPath, receiverURL string) string {
	b.T.Helper()

	form := url.Values{"url": {receiverURL}, "events": {"job.closed"}}

	return hookLink.FindString(b.open("POST", appPath+"/webhooks", form).text)
}

// TestDashboard_Webhooks_WithoutScript checks the webhooks of an app on the developers' dashboard, whose
// forms need no script. A webhook is the address of a server to which events are delivered.
//
// newReceiver starts such a server. It responds with the body "thanks" and status 200.
// receiver.waitForHits(n) waits for n requests since its start, and fails if there are more. Deliveries
// are sent in the background. newWebhookPath and the other helpers return paths of pages and forms.
func TestDashboard_Webhooks_WithoutScript(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		t.Run("life cycle of a webhook", func(t *testing.T) {
			t.Parallel()

			hook := createHookOnDashboard(t, server)
			hook.sendTestEvent()
			hook.requirePageOfDelivery()
			hook.replayFromLog()
			hook.replayFromDelivery()
			hook.replaceSecret()
			hook.change()
			hook.pause()
			hook.resume()
			hook.delete()
		})

		t.Run("failed delivery disables the webhook and is replayed", func(t *testing.T) {
			t.Parallel()

			// The response 410 Gone to the first request means that the receiver wants no more
			// deliveries: it disables the webhook at once.
			receiver := newReceiverWithStatus(t, func(request int) int {
				if request == 1 {
					return http.StatusGone
				}

				return http.StatusOK
			})

			browser := server.signedIn(t, server.seeker(t))
			app := browser.newAppPath("Ward Finder")
			path := browser.newWebhookPath(app, receiver.URL)
			failed := browser.waitForText(browser.open("POST", path+"/test", url.Values{}), "Answered with status 410")
			require.Contains(t, failed.text, ">Disabled</span>")
			require.NotContains(t, failed.text, "/replay\"", "a disabled webhook is resumed first")
			require.Contains(t, browser.open("GET", app, nil).text, ">Disabled</span>")

			// The log can be filtered by the status of deliveries. The page ignores values that the API would
			// refuse.
			require.Contains(t, browser.open("GET", path+"?status=failed", nil).text, ">Failed</span>")
			require.Contains(t, browser.open("GET", path+"?status=succeeded", nil).text, "There is none in this state")
			require.Equal(t, 200, browser.open("GET", path+"?status=odd&cursor=nonsense", nil).status)

			// Failed deliveries since a time are sent again after the webhook is resumed.
			browser.submit(path+"/status", url.Values{"status": {"active"}})

			for _, invalid := range []string{"", "yesterday", "2026-02-31T10:00"} {
				refused := browser.open("POST", path+"/replay", url.Values{"since": {invalid}})
				require.Equal(t, 400, refused.status)
				require.Contains(t, refused.text, "Since must be a date and a time")
			}

			const formLayout = "2006-01-02T15:04" // of the field for a date and a time
			now := time.Now().UTC()

			none := browser.submit(path+"/replay", url.Values{"since": {now.Add(time.Hour).Format(formLayout)}})
			require.Contains(t, none.text, "Nothing has failed for good since then")

			replayed := browser.submit(path+"/replay", url.Values{"since": {now.Add(-time.Hour).Format(formLayout)}})
			require.Contains(t, replayed.text, "What failed since then is sent once more")
			receiver.waitForHits(2)
		})

		t.Run("log has pages of 20 deliveries", func(t *testing.T) {
			t.Parallel()

			const pageSize = 20 // of the log
			receiver := newReceiver(t)
			developer := server.seeker(t)

			apiPath, _ := developer.createWebhook(receiver.URL, "job.created")
			for range pageSize + 1 {
				developer.fromNewAddress().post(apiPath+"/test", nil).ok(202)
			}

			receiver.waitForHits(pageSize + 1)

			browser := server.signedIn(t, developer)
			path := strings.TrimPrefix(apiPath, "/api")
			newest := browser.open("GET", path, nil)
			require.Len(t, replayLink.FindAllString(newest.text, -1), pageSize)

			// The first page has 20 of the 21 deliveries. Its link leads to a page with the oldest one.
			linkToOlder := regexp.MustCompile(`\?status=&amp;cursor=[0-9a-f-]{36}`).FindString(newest.text)
			require.NotEmpty(t, linkToOlder, newest.text)

			older := browser.open("GET", path+html.UnescapeString(linkToOlder), nil)
			require.Len(t, replayLink.FindAllString(older.text, -1), 1)
			require.Contains(t, older.text, ">Newest</a>")
		})

		t.Run("errors are shown in the form, with the values that were sent", func(t *testing.T) {
			t.Parallel()

			browser := server.signedIn(t, server.seeker(t))
			app := browser.newAppPath("Ward Finder")

			// The form of a new webhook.
			refused := browser.open("POST", app+"/webhooks", url.Values{"url": {"ftp://x.example"}, "events": {"job.closed"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "URL must be an http:// or https:// address")
			require.Contains(t, refused.text, `value="ftp://x.example"`)
			require.Contains(t, refused.text, `value="job.closed" checked`)

			refused = browser.open("POST", app+"/webhooks", url.Values{"url": {"https://x.example/"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "Events must name at least one of")

			// The form that changes a webhook. Credentials in a URL are refused.
			path := browser.newWebhookPath(app, "https://x.example/")
			refused = browser.open("POST", path, url.Values{"url": {"https://u:p@x.example/"}, "events": {"job.created"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, `value="https://u:p@x.example/"`)

			// Only the server disables a webhook, and only documented events can be sent as a test.
			require.Equal(t, 400, browser.open("POST", path+"/status", url.Values{"status": {"disabled"}}).status)
			require.Equal(t, 400, browser.open("POST", path+"/test", url.Values{"type": {"user.deleted"}}).status)
		})

		t.Run("address of a form leads to the page of the webhook", func(t *testing.T) {
			t.Parallel()

			browser := server.signedIn(t, server.seeker(t))
			path := browser.newWebhookPath(browser.newAppPath("Ward Finder"), "https://x.example/")
			require.Equal(t, 200, browser.open("GET", path, nil).status)

			for _, form := range []string{"/status", "/secret", "/test", "/replay"} {
				require.Equal(t, 200, browser.follow(browser.open("GET", path+form, nil)).status)
			}
		})

		t.Run("app has at most 20 webhooks", func(t *testing.T) {
			t.Parallel()

			browser := server.signedIn(t, server.seeker(t))
			app := browser.newAppPath("Ward Finder")

			const maxWebhooks = 20

			webhook := url.Values{"url": {"https://x.example/"}, "events": {"job.closed"}}
			for range maxWebhooks {
				require.Equal(t, 200, browser.open("POST", app+"/webhooks", webhook).status)
			}

			refused := browser.open("POST", app+"/webhooks", webhook)
			require.Equal(t, 409, refused.status)
			require.Contains(t, refused.text, "at most 20 webhooks")
		})

		t.Run("test events and replays are limited by the minute", func(t *testing.T) {
			t.Parallel()

			const limit = 600 // requests a minute
			developer := server.seeker(t)
			path, _ := developer.createWebhook("https://receiver.invalid/", "job.created")
			replay := path + "/deliveries/" + nowhere + "/replay"

			// Replays of an unknown delivery count too.
			for range limit {
				require.Equal(t, 404, developer.try("POST", replay, nil).status)
			}

			for _, limited := range []string{path + "/test", replay} {
				refused := developer.post(limited, nil).fails(429, "Rate limit exceeded")
				require.NotEmpty(t, refused.header.Get("Retry-After"))
			}

			// The form of the dashboard has the same limit as the API.
			page := server.signedIn(t, developer).open("POST", strings.TrimPrefix(path, "/api")+"/test", url.Values{})
			require.Equal(t, 429, page.status)
			require.Contains(t, page.text, "This was done too often; please try again in ")
		})

		t.Run("webhook of another user and form of another site are refused", func(t *testing.T) {
			t.Parallel()

			owner, other := server.signedIn(t, server.seeker(t)), server.signedIn(t, server.employer(t))
			app, secondApp := owner.newAppPath("Mine"), owner.newAppPath("Mine too")
			receiver := newReceiver(t)
			path := owner.newWebhookPath(app, receiver.URL)
			replay := replayLink.FindString(owner.submit(path+"/test", url.Values{}).text)
			delivery := strings.TrimSuffix(replay, "/replay")

			// Forms of others are refused.
			values := url.Values{
				"url":    {"https://theirs.example/"},
				"events": {"job.created"},
				"status": {"paused"},
				"since":  {"2026-01-01T00:00"},
			}
			for _, form := range []string{
				app + "/webhooks",
				path,
				path + "/status",
				path + "/secret",
				path + "/test",
				path + "/replay",
				replay,
				path + "/delete",
			} {
				other.requirePostRefused(form, values)
			}

			// Only the owner sees the pages.
			require.Equal(t, 404, other.open("GET", path, nil).status)
			require.Equal(t, 200, owner.open("GET", delivery, nil).status)
			require.Equal(t, 404, other.open("GET", delivery, nil).status)
			require.Equal(t, 303, server.browser(t).open("GET", delivery, nil).status)

			for _, absent := range []string{
				// The owner's webhook and delivery below the other app of the owner.
				secondApp + strings.TrimPrefix(path, app),
				secondApp + strings.TrimPrefix(delivery, app),
				path + "/deliveries/nonsense",
				path + "/deliveries/" + nowhere,
				app + "/webhooks/nonsense",
				app + "/webhooks/" + nowhere,
			} {
				require.Equal(t, 404, owner.open("GET", absent, nil).status, absent)
			}

			// The form for a replay is on the log and on the page of the delivery, and says where it is.
			for _, page := range []string{"", "delivery"} {
				from := url.Values{"from": {page}}
				require.Equal(t, 404, owner.open("POST", path+"/deliveries/"+nowhere+"/replay", from).status)
				require.Equal(t, 404, other.open("POST", replay, from).status)
			}

			// No refused form had an effect.
			webhook := owner.open("GET", path, nil)
			require.Contains(t, webhook.text, ">Active</span>")
			require.Contains(t, webhook.visibleText(), receiver.URL)
			receiver.waitForHits(1)
		})
	})
}

// dashboardHook is a webhook on the dashboard of its developer. Its methods are the steps of the subtest "life
// cycle of a webhook". Each step continues with the webhook as the one before has left it.
type dashboardHook struct {
	t        *testing.T
	receiver *receiver
	browser  *browser // of the developer

	path         string // of the page of the webhook
	secret       string // with which the webhook was created
	log          pageView
	delivered    hit      // the first request to the receiver, a test event
	deliveryPath string   // of the page of this delivery
	delivery     pageView // the page
	replayPath   string   // of the form that sends the delivery again
}

// createHookOnDashboard creates a webhook for two types of events. It requires that the secret is on the page
// after the form only, and that the page of the app links to the webhook.
func createHookOnDashboard(t *testing.T, server *testServer) *dashboardHook {
	t.Helper()

	receiver := newReceiver(t)
	browser := server.signedIn(t, server.seeker(t))
	app := browser.newAppPath("Ward Finder")
	require.Contains(t, browser.open("GET", app, nil).text, "Add a webhook")

	receiverURL := receiver.URL + "/?a=1&b=2"
	events := []string{"job.created", "application.submitted"}
	created := browser.open("POST", app+"/webhooks", url.Values{"url": {receiverURL}, "events": events})
	require.Equal(t, 200, created.status, created.text)
	require.Equal(t, "no-store", created.header.Get("Cache-Control"))
	require.Contains(t, created.text, `href="/docs/guides/webhooks"`)

	secret := hookSecret.FindString(created.visibleText())
	require.NotEmpty(t, secret, created.text)

	path := hookLink.FindString(created.text)
	webhook := browser.open("GET", path, nil)
	require.NotContains(t, webhook.text, "whsec_")
	require.Contains(t, webhook.visibleText(), receiverURL)
	require.Contains(t, webhook.text, "Nothing was sent in the last 30 days")
	require.Contains(t, browser.open("GET", app, nil).text, path)

	return &dashboardHook{t: t, receiver: receiver, browser: browser, path: path, secret: secret}
}

// sendTestEvent sends a test event. It requires that the log shows the delivery with the response of the
// receiver, "thanks".
func (h *dashboardHook) sendTestEvent() {
	h.t.Helper()

	testSent := h.browser.open("POST", h.path+"/test", url.Values{"type": {"application.submitted"}})
	h.log = h.browser.waitForText(testSent, "Accepted with status 200")
	h.delivered = h.receiver.waitForHits(1)[0]
	require.NoError(h.t, h.delivered.verify(h.t, h.secret))
	require.Equal(h.t, "application.submitted", h.delivered.body.Type)

	requireContainsAll(h.t, h.log.text, ">thanks</pre>", h.delivered.headers.Get("Webhook-Id"), "<details open>")

	h.deliveryPath = sentLink.FindString(h.log.text)
	h.replayPath = replayLink.FindString(h.log.text)
}

// requirePageOfDelivery requires that the page of the delivery shows the request as it was sent.
func (h *dashboardHook) requirePageOfDelivery() {
	h.t.Helper()

	h.delivery = h.browser.open("GET", h.deliveryPath, nil)
	require.Equal(h.t, 200, h.delivery.status, h.delivery.text)
	require.Contains(h.t, h.delivery.text, "Accepted with status 200")
	require.Contains(h.t, h.delivery.visibleText(), "<pre>"+h.delivered.raw+"</pre>")

	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt"} {
		require.Contains(h.t, h.delivery.visibleText(), name+": "+h.delivered.headers.Get(name)+"\n")
	}
}

// requireReplayed requires that the receiver has got n requests, the last of which has the id of the first
// delivery.
func (h *dashboardHook) requireReplayed(n int) {
	h.t.Helper()

	last := h.receiver.waitForHits(n)[n-1]
	require.Equal(h.t, h.delivered.headers.Get("Webhook-Id"), last.headers.Get("Webhook-Id"))
}

// replayFromLog sends the delivery again with the form of the log, which leads back to the log.
func (h *dashboardHook) replayFromLog() {
	h.t.Helper()

	replayed := h.browser.follow(h.browser.open("POST", h.replayPath, url.Values{}))
	require.Contains(h.t, replayed.text, "It is sent once more.")
	h.requireReplayed(2)
}

// fromDelivery is the input of the form that replays a delivery on its own page.
var fromDelivery = url.Values{"from": {"delivery"}}

// replayFromDelivery sends the delivery again with the form of its own page, which leads back to that page.
func (h *dashboardHook) replayFromDelivery() {
	h.t.Helper()

	require.Contains(h.t, h.delivery.text, `name="from" value="delivery"`)
	require.Equal(h.t, h.replayPath, replayLink.FindString(h.delivery.text))

	redirect := h.browser.open("POST", h.replayPath, fromDelivery)
	require.Equal(h.t, h.deliveryPath+"?notice=replayed", redirect.header.Get("Location"))
	require.Contains(h.t, h.browser.follow(redirect).text, "It is sent once more.")
	h.requireReplayed(3)
}

// replaceSecret replaces the secret. For 24 hours, deliveries are signed with both secrets, so that receivers
// can change theirs.
func (h *dashboardHook) replaceSecret() {
	h.t.Helper()

	replaced := h.browser.open("POST", h.path+"/secret", url.Values{})
	require.Equal(h.t, 200, replaced.status)
	require.Contains(h.t, replaced.text, "For 24 hours")

	newSecret := hookSecret.FindString(replaced.visibleText())
	require.NotEqual(h.t, h.secret, newSecret)
	h.browser.submit(h.path+"/test", url.Values{"type": {"job.closed"}})

	signedTwice := h.receiver.waitForHits(4)[3]
	require.NoError(h.t, signedTwice.verify(h.t, h.secret))
	require.NoError(h.t, signedTwice.verify(h.t, newSecret))
}

// change changes the address and the events of the webhook.
func (h *dashboardHook) change() {
	h.t.Helper()

	otherURL := h.receiver.URL + "/other"
	changed := h.browser.submit(h.path, url.Values{"url": {otherURL}, "events": {"job.updated"}})
	require.Contains(h.t, changed.text, otherURL)
}

// pause pauses the webhook. It requires that nothing can be sent, and that the pages of the webhook say so
// instead of offering a replay.
func (h *dashboardHook) pause() {
	h.t.Helper()

	paused := h.browser.submit(h.path+"/status", url.Values{"status": {"paused"}})
	require.Contains(h.t, paused.text, ">Paused</span>")
	require.Equal(h.t, 409, h.browser.open("POST", h.path+"/test", url.Values{}).status)
	require.Equal(h.t, 409, h.browser.open("POST", h.path+"/replay", url.Values{"since": {"2026-01-01T00:00"}}).status)

	delivery := h.browser.open("GET", h.deliveryPath, nil)
	require.NotContains(h.t, delivery.text, "/replay\"", "a paused webhook is resumed first")
	require.Contains(h.t, delivery.text, `Resume <a href="`+h.path+`">the webhook</a> to replay it.`)

	refused := h.browser.open("POST", h.replayPath, fromDelivery)
	require.Equal(h.t, 409, refused.status)
	require.Contains(h.t, refused.text, "The webhook is not active")
	require.Contains(h.t, refused.text, "What was sent")

	// The address of the form, opened without a form, leads to the page that it is on.
	opened := h.browser.follow(h.browser.open("GET", h.replayPath, nil))
	require.Contains(h.t, opened.text, "What was sent")
}

// resume makes the paused webhook active again.
func (h *dashboardHook) resume() {
	h.t.Helper()

	resumed := h.browser.submit(h.path+"/status", url.Values{"status": {"active"}})
	require.Contains(h.t, resumed.text, ">Active</span>")
}

// delete deletes the webhook. It requires that a repeated deletion redirects, too, and that the receiver got no
// request since the change of the secret.
func (h *dashboardHook) delete() {
	h.t.Helper()

	deleted := h.browser.follow(h.browser.open("POST", h.path+"/delete", url.Values{}))
	require.NotContains(h.t, deleted.text, h.path)
	require.Equal(h.t, 404, h.browser.open("GET", h.path, nil).status)
	require.Equal(h.t, 303, h.browser.open("POST", h.path+"/delete", url.Values{}).status)
	h.receiver.waitForHits(4)
}
