package e2e

import (
	"encoding/base64"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestApplicationDocuments checks that an application gets copies of documents, which the
// organization can download safely and which are deleted with the application or the account of
// the applicant.
func TestApplicationDocuments(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker, other, employer, stranger := server.seeker(t), server.seeker(t), server.employer(t), server.employer(t)
		cv := seeker.document(
			object{
				"title":    "My CV",
				"fileName": "Zoë's CV.pdf",
				"content":  "data:application/pdf;base64," + base64.StdEncoding.EncodeToString([]byte(somePDF)),
			},
		)
		letter := seeker.document(
			object{"type": "cover-letter", "title": "<b>Letter</b>", "content": "Dear ward", "fileName": "letter.html"},
		)
		a := seeker.fromNewAddress().
			post("/api/jobseekers/applications", object{"listingId": employer.listing(nil), "documentIds": []string{cv, letter}}).
			ok(201).
			text("data.id")
		path := "/api/employers/applications/" + a
		stored := func() []string {
			found, err := filepath.Glob(filepath.Join(server.dir, "data/files/applications/*"))
			require.NoError(t, err)
			return found
		}

		require.Len(t, stored(), 2) // the copies

		t.Run("POST /api/jobseekers/applications documentIds", func(t *testing.T) {
			s, listing := seeker.fromNewAddress(), employer.listing(nil)

			apply := func(ids any) *response {
				return seeker.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": listing, "documentIds": ids})
			}
			for _, absent := range []string{nowhere, "nonsense", other.document(nil)} {
				apply([]string{cv, absent}).fails(404, "Document not found")
			}

			apply([]string{cv, cv, cv, cv, cv, cv}).invalid("documentIds") // at most five
			apply(cv).invalid("documentIds")
			s.post("/api/jobseekers/applications", object{"listingId": listing, "documentIds": []string{}}).ok(201)
		})

		t.Run("GET /api/employers/applications/:id/documents", func(t *testing.T) {
			// Later changes of the originals do not change the documents of the application.
			seeker.fromNewAddress().put("/api/jobseekers/documents/"+letter, object{"title": "Other", "content": "Other"}).ok(200)
			seeker.fromNewAddress().delete("/api/jobseekers/documents/" + cv).ok(200)

			got := employer.get(path + "/documents").ok(200)
			require.Len(t, got.list("data.documents"), 2)
			require.Equal(t, "My CV", got.text("data.documents.0.title"))
			require.Equal(t, "Zoë's CV.pdf", got.text("data.documents.0.fileName"))
			require.Equal(t, "application/pdf", got.text("data.documents.0.mediaType"))
			require.InDelta(t, len(somePDF), got.at("data.documents.0.size"), 0)
			require.Equal(t, got.at("data.documents"), employer.get(path).ok(200).at("data.application.documents"))
			require.Equal(t, got.at("data.documents"),
				seeker.get("/api/jobseekers/applications/"+a).ok(200).at("data.application.documents"))
		})

		t.Run("GET /api/employers/applications/:id/documents/:documentId", func(t *testing.T) {
			ids := employer.get(path + "/documents").ok(200)
			file := path + "/documents/" + ids.text("data.documents.0.id")
			got := employer.get(file)
			require.Equal(t, 200, got.status)
			require.Equal(t, somePDF, string(got.raw))
			require.Equal(t, "application/pdf", got.header.Get("Content-Type"))

			// RFC 6266: a name in ASCII for old clients, and the real one in UTF-8.
			require.Equal(t, `attachment; filename="Zo_'s CV.pdf"; filename*=UTF-8''Zo%C3%AB%27s%20CV.pdf`,
				got.header.Get("Content-Disposition"))
			require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
			require.Contains(t, got.header.Get("Content-Security-Policy"), "sandbox")

			text := employer.get(path + "/documents/" + ids.text("data.documents.1.id"))
			require.Equal(t, "Dear ward", string(text.raw), "as it was when it was sent")
			require.Equal(t, "text/plain; charset=utf-8", text.header.Get("Content-Type"))

			// The id of the original is not that of its copy.
			for _, absent := range []string{nowhere, "nonsense", letter} {
				employer.get(path+"/documents/"+absent).fails(404, "Document not found")
			}

			stranger.get(file).fails(404, "Application not found")
			seeker.get(file).fails(403, "Forbidden")
			server.guest(t).get(file).fails(401, "Unauthorized")
		})

		t.Run("withdrawal removes the documents", func(t *testing.T) {
			kept := seeker.fromNewAddress().
				post("/api/jobseekers/applications", object{"listingId": employer.listing(nil), "documentIds": []string{letter}}).
				ok(201).
				text("data.id")
			seeker.fromNewAddress().delete("/api/jobseekers/applications/" + a).ok(200)
			require.Empty(t, employer.get(path+"/documents").ok(200).list("data.documents"))
			require.EventuallyWithT(t, func(t *assert.CollectT) { assert.Len(t, stored(), 1) }, 20*time.Second, 50*time.Millisecond)
			seeker.fromNewAddress().delete("/api/jobseekers/profile").ok(200)
			require.EventuallyWithT(t, func(t *assert.CollectT) { assert.Empty(t, stored()) }, 20*time.Second, 50*time.Millisecond)
			require.Empty(t, employer.get("/api/employers/applications/"+kept+"/documents").ok(200).list("data.documents"))
		})
	})
}
