package e2e

import (
	"encoding/base64"
	"mime"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// somePDF is the beginning of a PDF file. The server recognizes the type of a file by its beginning.
const somePDF = "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n"

// document uploads a text as a CV, with the members of more, and returns the document's id.
func (a *account) document(more object) string {
	a.t.Helper()

	body := object{"intent": "upload-document", "type": "cv", "title": "My CV", "content": "I am a nurse."}
	for name, value := range more {
		body[name] = value
	}

	return a.fromNewAddress().post("/api/jobseekers/documents", body).ok(200).text("data.document.id")
}

// TestDocuments checks the API for a user's documents: upload, change, default and deletion. A
// download has exactly the uploaded content, and headers that keep browsers from executing it. The
// file on disk is deleted with its document. Other users get 404.
//
// POST /api/jobseekers/documents has several operations, which the member intent of the body names.
// The first subtest uploads the document cv, which the later ones use and the last one deletes.
func TestDocuments(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker, other := server.seeker(t), server.seeker(t)
		const path = "/api/jobseekers/documents"
		pdfBase64 := base64.StdEncoding.EncodeToString([]byte(somePDF))
		var cv string

		t.Run("POST /api/jobseekers/documents upload-document", func(t *testing.T) {
			// The route allows ten requests from one address, as a later subtest checks.
			client := seeker.fromNewAddress()
			uploaded := client.post(path, object{
				"intent":   "upload-document",
				"type":     "cv",
				"title":    "My CV",
				"content":  "data:application/pdf;base64," + pdfBase64,
				"fileName": "Zoë's CV.pdf",
			}).
				ok(200)
			cv = uploaded.text("data.document.id")
			require.Equal(t, "upload-document", uploaded.text("data.intent"))
			require.Equal(t, "cv", uploaded.text("data.document.type"))
			require.Equal(t, "My CV", uploaded.text("data.document.title"))
			require.Equal(t, "application/pdf", uploaded.text("data.document.mediaType"))
			require.Equal(t, false, uploaded.at("data.document.isDefault"))
			require.NotEmpty(t, uploaded.text("message"))

			// Each body has a missing or an invalid member.
			client.post(path, object{"type": "cv"}).fails(400, "Intent is required")
			client.post(path, nil).fails(400, "Intent is required")
			client.post(path, object{"intent": "print"}).invalid("intent")
			client.post(path, object{"intent": "upload-document", "content": "x"}).invalid("type")
			client.post(path, object{"intent": "upload-document", "type": "photo", "content": "x"}).invalid("type")
			client.post(path, object{"intent": "upload-document", "type": "cv"}).invalid("content")
			client.post(path, object{"intent": "upload-document", "type": "cv", "content": "data:text/html,<script>"}).invalid("content")

			longTitle := strings.Repeat("x", 200+1) // one more character than allowed
			client.post(path, object{"intent": "upload-document", "type": "cv", "content": "x", "title": longTitle}).invalid("title")

			longName := strings.Repeat("x", 255+1)
			client = seeker.fromNewAddress()
			client.post(path, object{"intent": "upload-document", "type": "cv", "content": "x", "fileName": longName}).invalid("fileName")
			require.Len(t, client.get(path).ok(200).list("data.documents"), 1, "the invalid requests stored nothing")
		})

		t.Run("POST /api/jobseekers/documents update-document, set-default, delete-document", func(t *testing.T) {
			client := seeker.fromNewAddress()
			id := seeker.document(object{"title": "Second"})

			// Title and content are replaced.
			update := object{"intent": "update-document", "documentId": id, "title": "Third", "content": "Other text"}
			require.Equal(t, "Third", client.post(path, update).ok(200).text("data.document.title"))
			require.Equal(t, "Other text", client.get(path+"/"+id).ok(200).text("data.document.content"))

			// Only one CV is the default: another one replaces it.
			setDefault := object{"intent": "set-default", "documentId": id, "isDefault": true}
			require.Equal(t, true, client.post(path, setDefault).ok(200).at("data.document.isDefault"))

			setOtherDefault := object{"intent": "set-default", "documentId": cv} // isDefault is true unless it is sent
			require.Equal(t, true, client.post(path, setOtherDefault).ok(200).at("data.document.isDefault"))
			require.Equal(t, false, client.get(path+"/"+id).ok(200).at("data.document.isDefault"))

			// No id, ids that no document has, and the document of another user.
			for _, intent := range []string{"update-document", "set-default", "delete-document"} {
				client := seeker.fromNewAddress()
				client.post(path, object{"intent": intent}).invalid("documentId")

				for _, absent := range []string{nowhere, "nonsense"} {
					client.post(path, object{"intent": intent, "documentId": absent}).fails(404, "Document not found")
				}

				other.fromNewAddress().post(path, object{"intent": intent, "documentId": cv}).fails(404, "Document not found")
			}

			deleted := client.post(path, object{"intent": "delete-document", "documentId": id}).ok(200)
			require.Equal(t, id, deleted.text("data.document.id"))
			client.get(path+"/"+id).fails(404, "Document not found")
		})

		t.Run("POST /api/jobseekers/documents is limited by address", func(t *testing.T) {
			client := seeker.fromNewAddress()

			const maxRequests = 10 // from one address in 15 minutes, valid or not
			for range maxRequests {
				client.post(path, object{}).fails(400, "Intent is required")
			}

			limited := client.post(path, object{"intent": "delete-document", "documentId": cv}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, limited.header.Get("Retry-After"))
		})

		t.Run("GET /api/jobseekers/documents", func(t *testing.T) {
			seeker.document(object{"type": "certification", "title": "BLS"})

			// The newest document is first. The second page has the CV.
			firstPage := seeker.get(path + "?limit=1").ok(200)
			require.Equal(t, "BLS", firstPage.text("data.documents.0.title"))
			require.Equal(t, "certification", firstPage.text("data.documents.0.type"))

			_, err := time.Parse(time.RFC3339, firstPage.text("data.documents.0.uploadedAt"))
			require.NoError(t, err)
			require.NotContains(t, string(firstPage.raw), "I am a nurse", "a list omits the contents, which may be long")
			require.Equal(t,
				object{"total": 2.0, "page": 1.0, "limit": 1.0, "totalPages": 2.0, "hasNext": true, "hasPrev": false},
				firstPage.at("data.pagination"))

			secondPage := seeker.get(path + "?limit=1&cursor=" + firstPage.text("data.nextCursor")).ok(200)
			require.Equal(t, cv, secondPage.text("data.documents.0.id"))
			require.Empty(t, other.get(path).ok(200).list("data.documents"))
			seeker.get(path + "?limit=0").invalid("limit")
		})

		t.Run("GET /api/jobseekers/documents/:id", func(t *testing.T) {
			document := seeker.get(path + "/" + cv).ok(200)
			require.Equal(t, "data:application/pdf;base64,"+pdfBase64, document.text("data.document.content"),
				"the content is as it was sent")
			require.Equal(t, "Zoë's CV.pdf", document.text("data.document.fileName"))

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.get(path+"/"+absent).fails(404, "Document not found")
			}

			other.get(path+"/"+cv).fails(404, "Document not found")
		})

		t.Run("GET /api/jobseekers/documents/:id/file", func(t *testing.T) {
			file := seeker.get(path + "/" + cv + "/file")
			require.Equal(t, 200, file.status)
			require.Equal(t, somePDF, string(file.raw))
			require.Equal(t, "application/pdf", file.header.Get("Content-Type"))

			// Browsers save the file. The name without "ë" is for old ones (RFC 6266).
			require.Equal(t, `attachment; filename="Zo_'s CV.pdf"; filename*=UTF-8''Zo%C3%AB%27s%20CV.pdf`,
				file.header.Get("Content-Disposition"))
			require.Equal(t, "nosniff", file.header.Get("X-Content-Type-Options"))
			require.Contains(t, file.header.Get("Content-Security-Policy"), "sandbox")
			require.Equal(t, "no-store", file.header.Get("Cache-Control"))

			// A script is served as text, so that no browser executes it.
			script := seeker.document(object{"content": "<script>alert(1)</script>", "fileName": "cv.html"})
			require.Equal(t, "text/plain; charset=utf-8", seeker.get(path+"/"+script+"/file").header.Get("Content-Type"))
			other.get(path+"/"+cv+"/file").fails(404, "Document not found")
			server.guest(t).get(path+"/"+cv+"/file").fails(401, "Unauthorized")
		})

		t.Run("stored files and downloads have the extension of their type", func(t *testing.T) {
			storedFiles := func() []string {
				names, err := filepath.Glob(filepath.Join(server.dir, "data/files/documents/*"))
				require.NoError(t, err)
				return names
			}

			// The extension follows the content: it replaces a wrong one, or is added.
			for _, test := range []struct{ content, fileName, storedExtension, downloadName string }{
				{content: pdfBase64, fileName: "Zoë.docx", storedExtension: ".pdf", downloadName: "Zoë.pdf"},
				{content: pdfBase64, fileName: "CV v1.2", storedExtension: ".pdf", downloadName: "CV v1.2.pdf"},
				{content: pdfBase64, fileName: "CV.PDF", storedExtension: ".pdf", downloadName: "CV.PDF"},
				{content: pdfBase64, fileName: "", storedExtension: ".pdf", downloadName: "Mine.pdf"}, // named after the title
				{content: "I am a nurse.", fileName: "cv.pdf", storedExtension: ".txt", downloadName: "cv.txt"},
				{content: "I am a nurse.", fileName: "cv", storedExtension: ".txt", downloadName: "cv.txt"},
			} {
				before := storedFiles()
				id := seeker.document(object{"title": "Mine", "content": test.content, "fileName": test.fileName})
				written := slices.DeleteFunc(storedFiles(), func(name string) bool { return slices.Contains(before, name) })
				require.Len(t, written, 1, "an upload writes one file")
				require.Equal(t, test.storedExtension, filepath.Ext(written[0]))

				_, params, err := mime.ParseMediaType(seeker.get(path + "/" + id + "/file").header.Get("Content-Disposition"))
				require.NoError(t, err)
				require.Equal(t, test.downloadName, params["filename"])
				require.Equal(t, test.fileName, seeker.get(path+"/"+id).ok(200).text("data.document.fileName"), "the name is as it was sent")

				// The server deletes the file in the background, after the document.
				seeker.delete(path + "/" + id).ok(200)
				require.EventuallyWithT(t, func(t *assert.CollectT) { assert.NoFileExists(t, written[0]) },
					20*time.Second, 50*time.Millisecond)
			}
		})

		t.Run("PUT /api/jobseekers/documents/:id", func(t *testing.T) {
			require.NotEmpty(t, seeker.put(path+"/"+cv, object{"title": "CV 2027", "isDefault": false}).ok(200).text("message"))
			require.Equal(t, "CV 2027", seeker.get(path+"/"+cv).ok(200).text("data.document.title"))
			seeker.put(path+"/"+cv, object{"content": ""}).invalid("content")

			seeker.put(path+"/"+nowhere, object{"title": "x"}).fails(404, "Document not found")
			other.put(path+"/"+cv, object{"title": "x"}).fails(404, "Document not found")
		})

		t.Run("maximum size of a document", func(t *testing.T) {
			// Base64 has four characters for three bytes: 7 MiB are 9⅓ MiB, and fit into the largest body.
			const (
				largeSize = 7 << 20  // bytes
				maxBody   = 10 << 20 // bytes
			)

			large := base64.StdEncoding.EncodeToString([]byte(somePDF + strings.Repeat("x", largeSize)))
			id := seeker.document(object{"content": large})
			require.Equal(t, large, seeker.get(path+"/"+id).ok(200).text("data.document.content"))
			seeker.put(path+"/"+id, object{"content": large[:len(large)-4]}).ok(200)

			// The other members make the body exceed its maximum.
			seeker.fromNewAddress().
				post(path, object{"intent": "upload-document", "type": "cv", "content": strings.Repeat("x", maxBody)}).
				fails(413, "Request body too large")
		})

		t.Run("DELETE /api/jobseekers/documents/:id", func(t *testing.T) {
			other.delete(path+"/"+cv).fails(404, "Document not found")
			require.NotEmpty(t, seeker.delete(path+"/"+cv).ok(200).text("message"))
			seeker.delete(path+"/"+cv).fails(404, "Document not found")
			seeker.delete(path+"/nonsense").fails(404, "Document not found")
		})
	})
}
