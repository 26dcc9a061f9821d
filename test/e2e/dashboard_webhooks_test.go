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

// hookLink, sentLink and replayLink match the paths of a webhook, of a delivery and of the form
// that sends a delivery again. hookSecret matches a signing secret.
var (
	hookLink   = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}`)
	hookSecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`)
	sentLink   = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}/deliveries/[0-9a-f-]{36}`)
	replayLink = regexp.MustCompile(`/developers/apps/[0-9a-f-]{36}/webhooks/[0-9a-f-]{36}/deliveries/[0-9a-f-]{36}/replay`)
)

// follow opens the page to which a form redirects.
func (b *browser) follow(answer pageView) pageView {
	b.T.Helper()
	require.Equal(b.T, 303, answer.status, answer.text)

	to, err := url.Parse(answer.header.Get("Location"))
	require.NoError(b.T, err)

	return b.open("GET", to.RequestURI(), nil)
}

// waitForText follows the redirect of a form and reloads the page until it shows the text. The
// page itself reloads for a short time only.
func (b *browser) waitForText(answer pageView, words string) pageView {
	b.T.Helper()

	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()

	for deadline := time.Now().Add(20 * time.Second); ; <-again.C {
		page := b.follow(answer)
		if strings.Contains(page.text, words) {
			return page
		}

		require.True(b.T, time.Now().Before(deadline), "%q is not on the page: %s", words, page.text)
	}
}

// visibleText returns the text of a page without HTML escapes.
func (s pageView) visibleText() string { return html.UnescapeString(s.text) }

// TestDashboard_Webhooks_WithoutScript checks webhooks on the dashboard with plain forms:
// creation, test events, the log of deliveries, replays, a new secret, pausing and deletion.
func TestDashboard_Webhooks_WithoutScript(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		t.Run("life cycle of a webhook", func(t *testing.T) {
			t.Parallel()

			receiver := newReceiver(t, nil)
			browser := server.signedIn(t, server.seeker(t))
			app := appLink.FindString(browser.open("POST", "/developers/apps", url.Values{"name": {"Ward Finder"}}).text)
			require.Contains(t, browser.open("GET", app, nil).text, "Add a webhook")

			made := browser.open("POST", app+"/webhooks",
				url.Values{"url": {receiver.URL + "/?a=1&b=2"}, "events": {"job.created", "application.submitted"}})
			require.Equal(t, 200, made.status, made.text)
			require.Equal(t, "no-store", made.header.Get("Cache-Control"))

			first := hookSecret.FindString(made.visibleText())
			require.NotEmpty(t, first, made.text)
			require.Contains(t, made.text, `href="/docs/guides/webhooks"`)

			path := hookLink.FindString(made.text)
			page := browser.open("GET", path, nil)
			require.NotContains(t, page.text, "whsec_")
			require.Contains(t, page.visibleText(), receiver.URL+"/?a=1&b=2")
			require.Contains(t, page.text, "Nothing was sent in the last 30 days")
			require.Contains(t, browser.open("GET", app, nil).text, path)

			sent := browser.waitForText(browser.open("POST", path+"/test", url.Values{"type": {"application.submitted"}}), "Accepted with status 200")
			hit := receiver.waitForHits(1)[0]
			require.NoError(t, hit.verify(t, first))
			require.Equal(t, "application.submitted", hit.body.Type)
			require.Contains(t, sent.text, ">thanks</pre>")
			require.Contains(t, sent.text, hit.headers.Get("Webhook-Id"))
			require.Contains(t, sent.text, "<details open>")

			details := browser.open("GET", sentLink.FindString(sent.text), nil)
			require.Equal(t, 200, details.status, details.text)
			require.Contains(t, details.visibleText(), "<pre>"+hit.raw+"</pre>")

			for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt"} {
				require.Contains(t, details.visibleText(), name+": "+hit.headers.Get(name)+"\n")
			}

			require.Contains(t, details.text, "Accepted with status 200")

			again := browser.follow(browser.open("POST", replayLink.FindString(sent.text), url.Values{}))
			require.Contains(t, again.text, "It is sent once more.")
			require.Equal(t, hit.headers.Get("Webhook-Id"), receiver.waitForHits(2)[1].headers.Get("Webhook-Id"))

			fromDelivery := url.Values{"from": {"delivery"}}

			require.Contains(t, details.text, `name="from" value="delivery"`)

			answer := browser.open("POST", replayLink.FindString(details.text), fromDelivery)
			require.Equal(t, sentLink.FindString(sent.text)+"?notice=replayed", answer.header.Get("Location"))
			require.Contains(t, browser.follow(answer).text, "It is sent once more.")
			require.Equal(t, hit.headers.Get("Webhook-Id"), receiver.waitForHits(3)[2].headers.Get("Webhook-Id"))

			rotated := browser.open("POST", path+"/secret", url.Values{})
			require.Equal(t, 200, rotated.status)
			require.Contains(t, rotated.text, "For 24 hours")

			second := hookSecret.FindString(rotated.visibleText())
			require.NotEqual(t, first, second)
			browser.follow(browser.open("POST", path+"/test", url.Values{"type": {"job.closed"}}))

			last := receiver.waitForHits(4)[3]

			// For 24 hours, deliveries are signed with both secrets, so that receivers can
			// change theirs.
			require.NoError(t, last.verify(t, first))
			require.NoError(t, last.verify(t, second))

			require.Contains(t,
				browser.follow(browser.open("POST", path, url.Values{"url": {receiver.URL + "/other"}, "events": {"job.updated"}})).text,
				receiver.URL+"/other")
			require.Contains(t, browser.follow(browser.open("POST", path+"/status", url.Values{"status": {"paused"}})).text, ">Paused</span>")
			require.Equal(t, 409, browser.open("POST", path+"/test", url.Values{}).status)
			require.Equal(t, 409, browser.open("POST", path+"/replay", url.Values{"since": {"2026-01-01T00:00"}}).status)

			paused := browser.open("GET", sentLink.FindString(sent.text), nil)
			require.NotContains(t, paused.text, "/replay\"", "what is paused is resumed first")
			require.Contains(t, paused.text, `Resume <a href="`+path+`">the webhook</a> to replay it.`)

			refused := browser.open("POST", replayLink.FindString(details.text), fromDelivery)
			require.Equal(t, 409, refused.status)
			require.Contains(t, refused.text, "The webhook is not active")
			require.Contains(t, refused.text, "What was sent")
			require.Contains(t,
				browser.follow(browser.open("GET", replayLink.FindString(details.text), nil)).text,
				"What was sent", "the address of the form leads to the page that it is on")
			require.Contains(t, browser.follow(browser.open("POST", path+"/status", url.Values{"status": {"active"}})).text, ">Active</span>")
			require.NotContains(t, browser.follow(browser.open("POST", path+"/delete", url.Values{})).text, path)
			require.Equal(t, 404, browser.open("GET", path, nil).status)
			require.Equal(t, 303, browser.open("POST", path+"/delete", url.Values{}).status, "a repeated deletion redirects too")
			receiver.waitForHits(4)
		})

		t.Run("failed deliveries", func(t *testing.T) {
			t.Parallel()

			// 410 Gone means that the receiver wants no more deliveries: it disables the
			// webhook at once.
			receiver := newReceiver(t, func(n int) int {
				if n == 1 {
					return http.StatusGone
				}

				return http.StatusOK
			})

			browser := server.signedIn(t, server.seeker(t))
			app := appLink.FindString(browser.open("POST", "/developers/apps", url.Values{"name": {"Ward Finder"}}).text)
			path := hookLink.FindString(browser.open("POST", app+"/webhooks", url.Values{
				"url":    {receiver.URL},
				"events": {"job.created"},
			}).text)
			gone := browser.waitForText(browser.open("POST", path+"/test", url.Values{}), "Answered with status 410")
			require.Contains(t, gone.text, ">Disabled</span>")
			require.NotContains(t, gone.text, "/replay\"", "what is disabled is resumed first")
			require.Contains(t, browser.open("GET", app, nil).text, ">Disabled</span>")
			require.Contains(t, browser.open("GET", path+"?status=failed", nil).text, ">Failed</span>")
			require.Contains(t, browser.open("GET", path+"?status=succeeded", nil).text, "There is none in this state")

			// A page ignores what an API would refuse.
			require.Equal(t, 200, browser.open("GET", path+"?status=odd&cursor=nonsense", nil).status)
			browser.follow(browser.open("POST", path+"/status", url.Values{"status": {"active"}}))

			for _, odd := range []string{"", "yesterday", "2026-02-31T10:00"} {
				refused := browser.open("POST", path+"/replay", url.Values{"since": {odd}})
				require.Equal(t, 400, refused.status)
				require.Contains(t, refused.text, "Since must be a date and a time")
			}

			later := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04")
			require.Contains(t,
				browser.follow(browser.open("POST", path+"/replay", url.Values{"since": {later}})).text,
				"Nothing has failed for good since then")

			since := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04")
			require.Contains(t,
				browser.follow(browser.open("POST", path+"/replay", url.Values{"since": {since}})).text,
				"What failed since then is sent once more")
			receiver.waitForHits(2)
		})

		t.Run("pages of the log", func(t *testing.T) {
			t.Parallel()

			receiver := newReceiver(t, nil)
			me := server.seeker(t)

			at, _ := me.createWebhook(receiver.URL, "job.created")
			for range 21 { // a page of the log shows 20
				me.fromNewAddress().post(at+"/test", nil).ok(202)
			}

			receiver.waitForHits(21)

			browser := server.signedIn(t, me)
			path := "/developers" + at[len("/api/developers"):]
			page := browser.open("GET", path, nil)
			require.Len(t, replayLink.FindAllString(page.text, -1), 20)

			older := regexp.MustCompile(`\?status=&amp;cursor=[0-9a-f-]{36}`).FindString(page.text)
			require.NotEmpty(t, older, page.text)

			page = browser.open("GET", path+html.UnescapeString(older), nil)
			require.Len(t, replayLink.FindAllString(page.text, -1), 1)
			require.Contains(t, page.text, ">Newest</a>")
		})

		t.Run("errors are shown in the form", func(t *testing.T) {
			t.Parallel()

			browser := server.signedIn(t, server.seeker(t))
			app := appLink.FindString(browser.open("POST", "/developers/apps", url.Values{"name": {"Ward Finder"}}).text)
			refused := browser.open("POST", app+"/webhooks", url.Values{"url": {"ftp://x.example"}, "events": {"job.closed"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "URL must be an http:// or https:// address")
			require.Contains(t, refused.text, `value="ftp://x.example"`)
			require.Contains(t, refused.text, `value="job.closed" checked`)

			refused = browser.open("POST", app+"/webhooks", url.Values{"url": {"https://x.example/"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, "Events must name at least one of")

			path := hookLink.FindString(
				browser.open("POST", app+"/webhooks", url.Values{"url": {"https://x.example/"}, "events": {"job.closed"}}).text,
			)

			// Credentials in a URL are refused.
			refused = browser.open("POST", path, url.Values{"url": {"https://u:p@x.example/"}, "events": {"job.created"}})
			require.Equal(t, 400, refused.status)
			require.Contains(t, refused.text, `value="https://u:p@x.example/"`)
			require.Equal(t, 400, browser.open("POST", path+"/status", url.Values{"status": {"disabled"}}).status)
			require.Equal(t, 400, browser.open("POST", path+"/test", url.Values{"type": {"user.deleted"}}).status)

			// The address of a form, if loaded again, leads to its page.
			for _, form := range []string{"", "/status", "/secret", "/test", "/replay"} {
				require.Equal(t, 200, browser.open("GET", path, nil).status)

				if form != "" {
					require.Equal(t, 200, browser.follow(browser.open("GET", path+form, nil)).status)
				}
			}

			for range 19 {
				require.Equal(t, 200,
					browser.open("POST", app+"/webhooks", url.Values{"url": {"https://x.example/"}, "events": {"job.closed"}}).status)
			}

			refused = browser.open("POST", app+"/webhooks", url.Values{"url": {"https://x.example/"}, "events": {"job.closed"}})
			require.Equal(t, 409, refused.status)
			require.Contains(t, refused.text, "at most 20 webhooks")
		})

		t.Run("limit of test events and replays", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)

			path, _ := me.createWebhook("https://receiver.invalid/", "job.created")
			for range 600 {
				// The limit is 600 a minute.
				require.Equal(t, 404, me.try("POST", path+"/deliveries/"+nowhere+"/replay", nil).status)
			}

			for _, at := range []string{path + "/test", path + "/deliveries/" + nowhere + "/replay"} {
				over := me.post(at, nil).fails(429, "Rate limit exceeded")
				require.NotEmpty(t, over.header.Get("Retry-After"))
			}

			page := server.signedIn(t, me).open("POST", strings.TrimPrefix(path, "/api")+"/test", url.Values{})
			require.Equal(t, 429, page.status)
			require.Contains(t, page.text, "This was done too often; please try again in ")
		})

		t.Run("other user's webhook, other site, signed out", func(t *testing.T) {
			t.Parallel()

			mine := server.signedIn(t, server.seeker(t))
			app := appLink.FindString(mine.open("POST", "/developers/apps", url.Values{"name": {"Mine"}}).text)
			receiver := newReceiver(t, nil)
			made := mine.open("POST", app+"/webhooks", url.Values{"url": {receiver.URL}, "events": {"job.closed"}})
			path := hookLink.FindString(made.text)
			delivery := replayLink.FindString(mine.follow(mine.open("POST", path+"/test", url.Values{})).text)
			second := appLink.FindString(mine.open("POST", "/developers/apps", url.Values{"name": {"Mine too"}}).text)
			other := server.signedIn(t, server.employer(t))
			values := url.Values{
				"url":    {"https://theirs.example/"},
				"events": {"job.created"},
				"status": {"paused"},
				"since":  {"2026-01-01T00:00"},
			}

			posts := []string{
				app + "/webhooks",
				path,
				path + "/status",
				path + "/secret",
				path + "/test",
				path + "/replay",
				delivery,
				path + "/delete",
			}
			for _, at := range posts {
				other.requirePostRefused(at, values)
			}

			require.Equal(t, 404, other.open("GET", path, nil).status)

			sent := delivery[:len(delivery)-len("/replay")]
			require.Equal(t, 200, mine.open("GET", sent, nil).status)
			require.Equal(t, 404, other.open("GET", sent, nil).status)
			require.Equal(t, 303, server.browser(t).open("GET", sent, nil).status)

			for _, at := range []string{
				// The user's own webhook below another app of the user.
				second + path[len(app):], second + sent[len(app):], path + "/deliveries/nonsense",
				path + "/deliveries/" + nowhere, app + "/webhooks/nonsense",
				app + "/webhooks/" + nowhere,
			} {
				require.Equal(t, 404, mine.open("GET", at, nil).status, at)
			}

			for _, on := range []string{"", "delivery"} {
				require.Equal(t, 404, mine.open("POST", path+"/deliveries/"+nowhere+"/replay", url.Values{"from": {on}}).status)
				require.Equal(t, 404, other.open("POST", delivery, url.Values{"from": {on}}).status)
			}

			page := mine.open("GET", path, nil)
			require.Contains(t, page.text, ">Active</span>")
			require.Contains(t, page.visibleText(), receiver.URL)
			receiver.waitForHits(1)
		})
	})
}
