package e2e

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsole_Documents_AreShownSafely checks how an employer opens the documents of an application. PDF
// and text documents can be viewed in the browser, with view=1 in the query. Other documents can only be
// downloaded. Documents are hostile input: the media type follows the content and not the name of the
// file, and no script of a document may run on the site. somePDF is the beginning of a PDF file.
func TestConsole_Documents_AreShownSafely(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const (
			// png is the signature and the header of a PNG image of one pixel.
			png = "\x89PNG\r\n\x1a\n" +
				"\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
			html = "<!doctype html><script>alert(1)</script>"
			svg  = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
		)

		boss, jo := server.employer(t), server.seeker(t)
		documents := []struct {
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

		// The applicant uploads the documents, with titles that would be HTML, and sends all of them.
		var ids []string
		for _, document := range documents {
			ids = append(ids, jo.document(object{
				"title":    "<b>" + document.name,
				"fileName": document.name,
				"content":  document.upload,
			}))
		}

		path := "/employer/applications/" + jo.application(boss.listing(nil), object{"documentIds": ids})
		browser := server.signedIn(t, boss)

		page := browser.show(path)
		for _, document := range documents {
			name := document.name
			file := browser.receivedDocument(t, page, path, "<b>"+name)
			viewed := browser.open("GET", file+"?view=1", nil)
			downloaded := browser.open("GET", file, nil)

			// Both responses have the content, and headers that keep browsers from executing it.
			for _, response := range []pageView{viewed, downloaded} {
				require.Equal(t, 200, response.status, name)
				require.Equal(t, document.bytes, response.text, name)
				require.Equal(t, document.mediaType, response.header.Get("Content-Type"), name)
				require.Equal(t, "nosniff", response.header.Get("X-Content-Type-Options"))
				require.Contains(t, response.header.Get("Content-Security-Policy"), "default-src 'none'")
				require.NotContains(t, response.header.Get("Content-Security-Policy"), "script")
				require.Equal(t, "DENY", response.header.Get("X-Frame-Options"))
				require.Contains(t, response.header.Get("Cache-Control"), "no-store")
			}

			// A document that cannot be viewed is downloaded by either address, and the page has no link to view it.
			isInline := strings.HasPrefix(viewed.header.Get("Content-Disposition"), "inline; filename=")
			hasLinkToView := strings.Contains(page.text, `href="`+file+`?view=1"`)

			require.True(t, strings.HasPrefix(downloaded.header.Get("Content-Disposition"), "attachment; "), name)
			require.Equal(t, document.isShown, isInline, name)
			require.Equal(t, document.isShown, hasLinkToView, name)

			// Text is viewed in a sandbox. Some browsers do not show a PDF in one.
			if document.isShown {
				policy := viewed.header.Get("Content-Security-Policy")
				isText := strings.HasPrefix(document.mediaType, "text/")

				require.Equal(t, "private, no-store", viewed.header.Get("Cache-Control"))
				require.Contains(t, policy, "frame-ancestors 'none'")
				require.Equal(t, isText, strings.Contains(policy, "sandbox"), name)
			}
		}

		// Only members of the organization who may read applications can open a document.
		file := browser.receivedDocument(t, page, path, "<b>"+documents[0].name)
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

		// An id that no document has, a text that is no id, and the id of the applicant's original, of which
		// the application has a copy.
		for _, id := range []string{nowhere, "nonsense", ids[0]} {
			require.Equal(t, 404, browser.open("GET", path+"/documents/"+id+"?view=1", nil).status)
		}

		jo.delete("/api/jobseekers/applications/" + strings.TrimPrefix(path, "/employer/applications/")).ok(200)
		require.Contains(t, browser.show(path).text, "Documents are deleted when an applicant withdraws.")
		require.Equal(t, 404, browser.open("GET", file+"?view=1", nil).status)
	})
}

// receivedDocument returns the path of a document of the application at the path. It finds the link to
// the document by its title on the page of the application.
func (b *browser) receivedDocument(t testing.TB, page pageView, path, title string) string {
	t.Helper()

	link := regexp.MustCompile(`<li><a href="(` + path + `/documents/[0-9a-f-]{36})[^>]*>` + regexp.QuoteMeta(title) + `<`).
		FindStringSubmatch(page.visibleText())
	require.NotNil(t, link, "%s: %s", title, page.visibleText())

	return link[1]
}

// dataURI returns the content as a data URL (RFC 2397), the form in which documents are uploaded.
func dataURI(mediaType, content string) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))
}
