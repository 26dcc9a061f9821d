package e2e

import (
	"encoding/base64"
	"path/filepath"
	"slices"
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
		seeker, otherSeeker := server.seeker(t), server.seeker(t)
		employer, otherEmployer := server.employer(t), server.employer(t)
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
		application := seeker.application(employer.listing(nil), object{"documentIds": []string{cv, letter}})
		path := "/api/employers/applications/" + application

		// storedCopies returns the files of the documents of applications.
		storedCopies := func() []string {
			files, err := filepath.Glob(filepath.Join(server.dir, "data/files/applications/*"))
			require.NoError(t, err)
			return files
		}

		require.Len(t, storedCopies(), len([]string{cv, letter}))

		t.Run("POST /api/jobseekers/applications documentIds", func(t *testing.T) {
			// Each request comes from a new address, because the route is limited by address.
			listing := employer.listing(nil)
			apply := func(documents any) *response {
				return seeker.fromNewAddress().
					post("/api/jobseekers/applications", object{"listingId": listing, "documentIds": documents})
			}

			for _, absent := range []string{nowhere, "nonsense", otherSeeker.document(nil)} {
				apply([]string{cv, absent}).fails(404, "Document not found")
			}

			const maxDocuments = 5
			apply(slices.Repeat([]string{cv}, maxDocuments+1)).invalid("documentIds")
			apply(cv).invalid("documentIds") // no array
			apply([]string{}).ok(201)
		})

		t.Run("GET /api/employers/applications/:id/documents", func(t *testing.T) {
			// Later changes of the originals do not change the documents of the application.
			seeker.put("/api/jobseekers/documents/"+letter, object{"title": "Other", "content": "Other"}).ok(200)
			seeker.delete("/api/jobseekers/documents/" + cv).ok(200)

			list := employer.get(path + "/documents").ok(200)
			require.Len(t, list.list("data.documents"), 2)
			require.Equal(t, "My CV", list.text("data.documents.0.title"))
			require.Equal(t, "Zoë's CV.pdf", list.text("data.documents.0.fileName"))
			require.Equal(t, "application/pdf", list.text("data.documents.0.mediaType"))
			require.Equal(t, len(somePDF), list.integer("data.documents.0.size"))

			// The application contains the same list, for the employer and the applicant.
			require.Equal(t, list.at("data.documents"), employer.get(path).ok(200).at("data.application.documents"))
			require.Equal(t, list.at("data.documents"),
				seeker.get("/api/jobseekers/applications/"+application).ok(200).at("data.application.documents"))
		})

		t.Run("GET /api/employers/applications/:id/documents/:documentId", func(t *testing.T) {
			list := employer.get(path + "/documents").ok(200)
			cvPath := path + "/documents/" + list.text("data.documents.0.id")
			letterPath := path + "/documents/" + list.text("data.documents.1.id")

			sentCV := employer.get(cvPath)
			require.Equal(t, 200, sentCV.status)
			require.Equal(t, somePDF, string(sentCV.raw))
			require.Equal(t, "application/pdf", sentCV.header.Get("Content-Type"))

			// RFC 6266: a name in ASCII for old clients, and the real one in UTF-8.
			require.Equal(t, `attachment; filename="Zo_'s CV.pdf"; filename*=UTF-8''Zo%C3%AB%27s%20CV.pdf`,
				sentCV.header.Get("Content-Disposition"))

			// A browser that opens the file executes nothing of it.
			require.Equal(t, "nosniff", sentCV.header.Get("X-Content-Type-Options"))
			require.Contains(t, sentCV.header.Get("Content-Security-Policy"), "sandbox")

			sentLetter := employer.get(letterPath)
			require.Equal(t, "Dear ward", string(sentLetter.raw), "as it was when it was sent")
			require.Equal(t, "text/plain; charset=utf-8", sentLetter.header.Get("Content-Type"), "no HTML, whatever its name is")

			// The id of the original is not that of its copy.
			for _, absent := range []string{nowhere, "nonsense", letter} {
				employer.get(path+"/documents/"+absent).fails(404, "Document not found")
			}

			otherEmployer.get(cvPath).fails(404, "Application not found")
			seeker.get(cvPath).fails(403, "Forbidden")
			server.guest(t).get(cvPath).fails(401, "Unauthorized")
		})

		t.Run("withdrawal removes the documents", func(t *testing.T) {
			otherApplication := seeker.application(employer.listing(nil), object{"documentIds": []string{letter}})

			// A withdrawn application loses its documents. The copy of the other application stays.
			seeker.delete("/api/jobseekers/applications/" + application).ok(200)
			require.Empty(t, employer.get(path+"/documents").ok(200).list("data.documents"))
			require.EventuallyWithT(t, func(t *assert.CollectT) { assert.Len(t, storedCopies(), 1) }, 20*time.Second, 50*time.Millisecond)

			// The deletion of the account deletes this one too.
			seeker.delete("/api/jobseekers/profile").ok(200)
			require.EventuallyWithT(t, func(t *assert.CollectT) { assert.Empty(t, storedCopies()) }, 20*time.Second, 50*time.Millisecond)
			require.Empty(t, employer.get("/api/employers/applications/"+otherApplication+"/documents").ok(200).list("data.documents"))
		})
	})
}
