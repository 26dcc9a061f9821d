package e2e

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostileDocument is a document of an application whose content does not match its name, or could be executed.
type hostileDocument struct {
	name      string
	upload    string // the content in the request
	mediaType string // of the download
	content   string // of the download
	isShown   bool   // whether it can be viewed in the browser
}

// hostileDocuments returns documents of each kind. PDF and text documents can be viewed in the browser. Other
// documents can only be downloaded. The media type follows the content and not the name.
func hostileDocuments() []hostileDocument {
	const (
		// png is the signature and the header of a PNG image of one pixel.
		png = "\x89PNG\r\n\x1a\n" +
			"\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
		html = "<!doctype html><script>alert(1)</script>"
		svg  = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	)

	return []hostileDocument{
		{
			name:      "Zoë's CV.pdf",
			upload:    dataURI("application/pdf", somePDF),
			mediaType: "application/pdf",
			content:   somePDF,
			isShown:   true,
		},
		{
			name:      "page.html", // a PDF that is also an HTML page
			upload:    dataURI("application/pdf", somePDF+html),
			mediaType: "application/pdf",
			content:   somePDF + html,
			isShown:   true,
		},
		{
			name:      "photo.pdf",
			upload:    dataURI("image/png", png),
			mediaType: "image/png",
			content:   png,
		},
		{
			name:      "page.pdf",
			upload:    html,
			mediaType: "text/plain; charset=utf-8",
			content:   html,
			isShown:   true,
		},
		{
			name:      "picture.svg",
			upload:    svg,
			mediaType: "text/plain; charset=utf-8",
			content:   svg,
			isShown:   true,
		},
	}
}

// TestConsole_Documents_AreShownSafely checks how an employer opens the documents of an application. Documents
// are hostile input: no script of a document may run on the site. With view=1 in the query, a document is shown
// in the browser, if this is safe. somePDF is the beginning of a PDF file.
func TestConsole_Documents_AreShownSafely(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, applicant := server.employer(t), server.seeker(t)
		documents := hostileDocuments()

		// The applicant uploads the documents, with titles that would be HTML, and sends all of them.
		var originals []string // ids of the documents of the applicant, of which the application has copies
		for _, document := range documents {
			originals = append(originals, applicant.document(object{
				"title":    "<b>" + document.name,
				"fileName": document.name,
				"content":  document.upload,
			}))
		}

		applicationID := applicant.application(employer.listing(nil), object{"documentIds": originals})
		path := "/employer/applications/" + applicationID
		browser := server.signedIn(t, employer)

		page := browser.show(path)
		for _, document := range documents {
			t.Run(document.name, func(t *testing.T) {
				document.check(t, browser, page, browser.receivedDocument(t, page, path, "<b>"+document.name))
			})
		}

		file := browser.receivedDocument(t, page, path, "<b>"+documents[0].name)

		t.Run("only members who may read applications can open a document", func(t *testing.T) {
			viewer := server.signedIn(t, employer.inviteMember("viewer"))
			seeker := server.signedIn(t, applicant)
			withoutPermission := server.signedIn(t, server.addMember(t, employer, object{
				"jobs":         object{"create": true, "update": true},
				"applications": object{"view": false, "update": false},
			}))
			otherOrganization := server.signedIn(t, server.employer(t))

			for _, address := range []string{file, file + "?view=1"} {
				require.Equal(t, 200, viewer.open("GET", address, nil).status)
				require.Equal(t, 403, seeker.open("GET", address, nil).status)
				require.Equal(t, 403, withoutPermission.open("GET", address, nil).status)
				require.Equal(t, 404, otherOrganization.open("GET", address, nil).status)

				asGuest := server.browser(t).open("GET", address, nil)
				require.Equal(t, "/sign-in?next="+url.QueryEscape(address), asGuest.header.Get("Location"))
			}
		})

		t.Run("unknown document", func(t *testing.T) {
			for _, id := range []string{
				nowhere, "nonsense",
				originals[0], // the application has a copy of it
			} {
				require.Equal(t, 404, browser.open("GET", path+"/documents/"+id+"?view=1", nil).status, id)
			}
		})

		t.Run("withdrawal deletes the documents", func(t *testing.T) {
			applicant.delete("/api/jobseekers/applications/" + applicationID).ok(200)
			require.Contains(t, browser.show(path).text, "Documents are deleted when an applicant withdraws.")
			require.Equal(t, 404, browser.open("GET", file+"?view=1", nil).status)
		})
	})
}

// check opens the document at the address file, which is linked on the page of its application, and requires
// responses that browsers do not execute.
func (d hostileDocument) check(t *testing.T, browser *browser, page pageView, file string) {
	t.Helper()

	viewed := browser.open("GET", file+"?view=1", nil)
	downloaded := browser.open("GET", file, nil)

	// Both responses have the content, and headers that keep browsers from executing it.
	for _, response := range []pageView{viewed, downloaded} {
		require.Equal(t, 200, response.status)
		require.Equal(t, d.content, response.text)
		require.Equal(t, d.mediaType, response.header.Get("Content-Type"))
		require.Equal(t, "nosniff", response.header.Get("X-Content-Type-Options"))
		require.Contains(t, response.header.Get("Content-Security-Policy"), "default-src 'none'")
		require.NotContains(t, response.header.Get("Content-Security-Policy"), "script")
		require.Equal(t, "DENY", response.header.Get("X-Frame-Options"))
		require.Contains(t, response.header.Get("Cache-Control"), "no-store")
	}

	// A document that cannot be viewed is downloaded by either address, and the page has no link to view it.
	isInline := strings.HasPrefix(viewed.header.Get("Content-Disposition"), "inline; filename=")
	hasLinkToView := strings.Contains(page.text, `href="`+file+`?view=1"`)

	require.True(t, strings.HasPrefix(downloaded.header.Get("Content-Disposition"), "attachment; "))
	require.Equal(t, d.isShown, isInline)
	require.Equal(t, d.isShown, hasLinkToView)

	if d.isShown {
		policy := viewed.header.Get("Content-Security-Policy")
		require.Equal(t, "private, no-store", viewed.header.Get("Cache-Control"))
		require.Contains(t, policy, "frame-ancestors 'none'")

		// Text is viewed in a sandbox. Some browsers do not show a PDF in one.
		isText := strings.HasPrefix(d.mediaType, "text/")
		require.Equal(t, isText, strings.Contains(policy, "sandbox"))
	}
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
