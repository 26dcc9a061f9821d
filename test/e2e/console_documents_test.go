package e2e

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsole_Documents_AreShownSafely checks that an employer can view PDF and text documents
// in the browser, and only download others. Documents are hostile input: the media type follows
// the content and not the name, and no script of a document may run on the site.
func TestConsole_Documents_AreShownSafely(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
		const html, svg = "<!doctype html><script>alert(1)</script>", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
		boss, jo := server.employer(t), server.seeker(t)
		sent := []struct {
			name      string
			upload    string // the content in the request
			mediaType string // of the download
			bytes     string // of the download
			isShown   bool   // whether it can be viewed in the browser
		}{
			{
				name:      "Zoë's CV.pdf",
				upload:    dataURI("application/pdf", somePDF),
				mediaType: "application/pdf",
				bytes:     somePDF,
				isShown:   true,
			},
			{
				name:      "page.html", // a PDF that is also an HTML page
				upload:    dataURI("application/pdf", somePDF+html),
				mediaType: "application/pdf",
				bytes:     somePDF + html,
				isShown:   true,
			},
			{
				name:      "photo.pdf",
				upload:    dataURI("image/png", png),
				mediaType: "image/png",
				bytes:     png,
			},
			{
				name:      "page.pdf",
				upload:    html,
				mediaType: "text/plain; charset=utf-8",
				bytes:     html,
				isShown:   true,
			},
			{
				name:      "picture.svg",
				upload:    svg,
				mediaType: "text/plain; charset=utf-8",
				bytes:     svg,
				isShown:   true,
			},
		}

		var ids []string
		for _, d := range sent {
			ids = append(ids, jo.document(object{"title": "<b>" + d.name, "fileName": d.name, "content": d.upload}))
		}

		path := "/employer/applications/" + jo.application(boss.listing(nil), object{"documentIds": ids})
		browser := server.signedIn(t, boss)

		page := browser.show(path)
		for _, d := range sent {
			file := browser.receivedDocument(t, page, path, "<b>"+d.name)
			shown := browser.open("GET", file+"?view=1", nil)

			saved := browser.open("GET", file, nil)
			for _, got := range []pageView{shown, saved} {
				require.Equal(t, 200, got.status, d.name)
				require.Equal(t, d.bytes, got.text, d.name)
				require.Equal(t, d.mediaType, got.header.Get("Content-Type"), d.name)
				require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
				require.Contains(t, got.header.Get("Content-Security-Policy"), "default-src 'none'")
				require.NotContains(t, got.header.Get("Content-Security-Policy"), "script")
				require.Equal(t, "DENY", got.header.Get("X-Frame-Options"))
				require.Contains(t, got.header.Get("Cache-Control"), "no-store")
			}

			require.True(t, strings.HasPrefix(saved.header.Get("Content-Disposition"), "attachment; "), d.name)
			require.Equal(t, d.isShown, strings.HasPrefix(shown.header.Get("Content-Disposition"), "inline; filename="), d.name)
			require.Equal(t, d.isShown, strings.Contains(page.text, `href="`+file+`?view=1"`), d.name)

			if d.isShown {
				require.Equal(t, "private, no-store", shown.header.Get("Cache-Control"))
				require.Contains(t, shown.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
				require.Equal(t, strings.HasPrefix(d.mediaType, "text/"),
					strings.Contains(shown.header.Get("Content-Security-Policy"), "sandbox"), d.name)
			}
		}

		file := browser.receivedDocument(t, page, path, "<b>"+sent[0].name)
		viewer := server.signedIn(t, boss.inviteMember("viewer"))
		seeker := server.signedIn(t, jo)
		withoutPermission := server.signedIn(t, server.addMember(t, boss, object{
			"jobs":         object{"create": true, "update": true},
			"applications": object{"view": false, "update": false},
		}))

		otherOrganization := server.signedIn(t, server.employer(t))
		for _, address := range []string{file, file + "?view=1"} {
			require.Equal(t, 200, viewer.open("GET", address, nil).status)
			require.Equal(t, 403, seeker.open("GET", address, nil).status)
			require.Equal(t, 403, withoutPermission.open("GET", address, nil).status)
			require.Equal(t, 404, otherOrganization.open("GET", address, nil).status)
			require.Equal(t, "/sign-in?next="+url.QueryEscape(address),
				server.browser(t).open("GET", address, nil).header.Get("Location"))
		}

		for _, id := range []string{nowhere, "nonsense", ids[0]} {
			require.Equal(t, 404, browser.open("GET", path+"/documents/"+id+"?view=1", nil).status)
		}

		jo.delete("/api/jobseekers/applications/" + strings.TrimPrefix(path, "/employer/applications/")).ok(200)
		require.Contains(t, browser.show(path).text, "Documents are deleted when an applicant withdraws.")
		require.Equal(t, 404, browser.open("GET", file+"?view=1", nil).status)
	})
}

// receivedDocument returns the path of the document with the title on the page of an
// application.
func (b *browser) receivedDocument(t testing.TB, page pageView, path, title string) string {
	t.Helper()

	link := regexp.MustCompile(`<li><a href="(` + path + `/documents/[0-9a-f-]{36})[^>]*>` + regexp.QuoteMeta(title) + `<`).
		FindStringSubmatch(page.visibleText())
	require.NotNil(t, link, "%s: %s", title, page.visibleText())

	return link[1]
}

// dataURI returns the content as a data URL, as which documents are uploaded.
func dataURI(mediaType, content string) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))
}
