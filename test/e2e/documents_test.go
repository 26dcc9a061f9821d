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

// somePDF is the beginning of a PDF file, by which the server recognizes the type.
const somePDF = "%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\n"

// document uploads a text as a CV, with the members of more, and returns the document's id.
func (a *account) document(more object) string {
	a.t.Helper()

	body := object{"intent": "upload-document", "type": "cv", "title": "My CV", "content": "I am a nurse."}
	for k, v := range more {
		body[k] = v
	}

	return a.fromNewAddress().post("/api/jobseekers/documents", body).ok(200).text("data.document.id")
}

// TestDocuments checks the API for a user's documents: upload, change, default and deletion,
// exact and safe downloads, and files on disk that are deleted with their document. Other users
// get 404.
func TestDocuments(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker, other := server.seeker(t), server.seeker(t)
		const path = "/api/jobseekers/documents"
		pdfBase64 := base64.StdEncoding.EncodeToString([]byte(somePDF))
		var cv string

		t.Run("POST /api/jobseekers/documents upload-document", func(t *testing.T) {
			s := seeker.fromNewAddress()
			resp := s.post(path, object{
				"intent":   "upload-document",
				"type":     "cv",
				"title":    "My CV",
				"content":  "data:application/pdf;base64," + pdfBase64,
				"fileName": "Zoë's CV.pdf",
			}).
				ok(200)
			cv = resp.text("data.document.id")
			require.Equal(t, "upload-document", resp.text("data.intent"))
			require.Equal(t, "cv", resp.text("data.document.type"))
			require.Equal(t, "My CV", resp.text("data.document.title"))
			require.Equal(t, "application/pdf", resp.text("data.document.mediaType"))
			require.Equal(t, false, resp.at("data.document.isDefault"))
			require.NotEmpty(t, resp.text("message"))
			s.post(path, object{"type": "cv"}).fails(400, "Intent is required")
			s.post(path, nil).fails(400, "Intent is required")
			s.post(path, object{"intent": "print"}).invalid("intent")
			s.post(path, object{"intent": "upload-document", "content": "x"}).invalid("type")
			s.post(path, object{"intent": "upload-document", "type": "photo", "content": "x"}).invalid("type")
			s.post(path, object{"intent": "upload-document", "type": "cv"}).invalid("content")
			s.post(path, object{"intent": "upload-document", "type": "cv", "content": "data:text/html,<script>"}).invalid("content")
			s.post(path, object{"intent": "upload-document", "type": "cv", "content": "x", "title": strings.Repeat("x", 201)}).
				invalid("title")

			s = seeker.fromNewAddress()
			s.post(path, object{"intent": "upload-document", "type": "cv", "content": "x", "fileName": strings.Repeat("x", 256)}).
				invalid("fileName")
			require.Len(t, s.get(path).ok(200).list("data.documents"), 1)
		})

		t.Run("POST /api/jobseekers/documents update-document, set-default, delete-document", func(t *testing.T) {
			s := seeker.fromNewAddress()
			id := seeker.document(object{"title": "Second"})
			require.Equal(
				t,
				"Third",
				s.post(path, object{"intent": "update-document", "documentId": id, "title": "Third", "content": "Other text"}).
					ok(200).
					text("data.document.title"),
			)
			require.Equal(t, "Other text", s.get(path+"/"+id).ok(200).text("data.document.content"))
			require.Equal(t, true,
				s.post(path, object{"intent": "set-default", "documentId": id, "isDefault": true}).ok(200).at("data.document.isDefault"))
			require.Equal(t, true, s.post(path, object{"intent": "set-default", "documentId": cv}).ok(200).at("data.document.isDefault"))
			require.Equal(t, false, s.get(path+"/"+id).ok(200).at("data.document.isDefault"))

			for _, intent := range []string{"update-document", "set-default", "delete-document"} {
				s := seeker.fromNewAddress()
				s.post(path, object{"intent": intent}).invalid("documentId")

				for _, absent := range []string{nowhere, "nonsense"} {
					s.post(path, object{"intent": intent, "documentId": absent}).fails(404, "Document not found")
				}

				other.fromNewAddress().post(path, object{"intent": intent, "documentId": cv}).fails(404, "Document not found")
			}

			a := s.post(path, object{"intent": "delete-document", "documentId": id}).ok(200)
			require.Equal(t, id, a.text("data.document.id"))
			s.get(path+"/"+id).fails(404, "Document not found")
		})

		t.Run("POST /api/jobseekers/documents is limited by address", func(t *testing.T) {
			s := seeker.fromNewAddress()
			for range 10 {
				s.post(path, object{}).fails(400, "Intent is required")
			}

			require.NotEmpty(
				t,
				s.post(path, object{"intent": "delete-document", "documentId": cv}).
					fails(429, "Rate limit exceeded").
					header.Get("Retry-After"),
			)
		})

		t.Run("GET /api/jobseekers/documents", func(t *testing.T) {
			seeker.document(object{"type": "certification", "title": "BLS"})

			resp := seeker.get(path + "?limit=1").ok(200)
			require.Equal(t, "BLS", resp.text("data.documents.0.title"))
			require.Equal(t, "certification", resp.text("data.documents.0.type"))

			_, err := time.Parse(time.RFC3339, resp.text("data.documents.0.uploadedAt"))
			require.NoError(t, err)
			require.NotContains(t, string(resp.raw), "I am a nurse", "content is long")
			require.Equal(t,
				object{"total": 2.0, "page": 1.0, "limit": 1.0, "totalPages": 2.0, "hasNext": true, "hasPrev": false},
				resp.at("data.pagination"))
			require.Equal(t, cv, seeker.get(path+"?limit=1&cursor="+resp.text("data.nextCursor")).ok(200).text("data.documents.0.id"))
			require.Empty(t, other.get(path).ok(200).list("data.documents"))
			seeker.get(path + "?limit=0").invalid("limit")
		})

		t.Run("GET /api/jobseekers/documents/:id", func(t *testing.T) {
			a := seeker.get(path + "/" + cv).ok(200)
			require.Equal(t, "data:application/pdf;base64,"+pdfBase64, a.text("data.document.content"), "as it was sent")
			require.Equal(t, "Zoë's CV.pdf", a.text("data.document.fileName"))

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.get(path+"/"+absent).fails(404, "Document not found")
			}

			other.get(path+"/"+cv).fails(404, "Document not found")
		})

		t.Run("GET /api/jobseekers/documents/:id/file", func(t *testing.T) {
			resp := seeker.get(path + "/" + cv + "/file")
			require.Equal(t, 200, resp.status)
			require.Equal(t, somePDF, string(resp.raw))
			require.Equal(t, "application/pdf", resp.header.Get("Content-Type"))
			require.Equal(t, `attachment; filename="Zo_'s CV.pdf"; filename*=UTF-8''Zo%C3%AB%27s%20CV.pdf`,
				resp.header.Get("Content-Disposition"))
			require.Equal(t, "nosniff", resp.header.Get("X-Content-Type-Options"))
			require.Contains(t, resp.header.Get("Content-Security-Policy"), "sandbox")
			require.Equal(t, "no-store", resp.header.Get("Cache-Control"))

			// Served as text, so that no browser executes it.
			script := seeker.document(object{"content": "<script>alert(1)</script>", "fileName": "cv.html"})
			require.Equal(t, "text/plain; charset=utf-8", seeker.get(path+"/"+script+"/file").header.Get("Content-Type"))
			other.get(path+"/"+cv+"/file").fails(404, "Document not found")
			server.guest(t).get(path+"/"+cv+"/file").fails(401, "Unauthorized")
		})

		t.Run("stored files and downloads have the extension of their type", func(t *testing.T) {
			stored := func() (names []string) {
				found, err := filepath.Glob(filepath.Join(server.dir, "data/files/documents/*"))
				require.NoError(t, err)
				return found
			}

			// The extension follows the content: it replaces a wrong one, or is added.
			for _, test := range []struct{ content, fileName, storedExtension, downloadName string }{
				{content: pdfBase64, fileName: "Zoë.docx", storedExtension: ".pdf", downloadName: "Zoë.pdf"},
				{content: pdfBase64, fileName: "CV v1.2", storedExtension: ".pdf", downloadName: "CV v1.2.pdf"},
				{content: pdfBase64, fileName: "CV.PDF", storedExtension: ".pdf", downloadName: "CV.PDF"},
				{content: pdfBase64, fileName: "", storedExtension: ".pdf", downloadName: "Mine.pdf"}, // the title
				{content: "I am a nurse.", fileName: "cv.pdf", storedExtension: ".txt", downloadName: "cv.txt"},
				{content: "I am a nurse.", fileName: "cv", storedExtension: ".txt", downloadName: "cv.txt"},
			} {
				before := stored()
				id := seeker.document(object{"title": "Mine", "content": test.content, "fileName": test.fileName})
				written := slices.DeleteFunc(stored(), func(name string) bool { return slices.Contains(before, name) })
				require.Len(t, written, 1)
				require.Equal(t, test.storedExtension, filepath.Ext(written[0]))

				_, params, err := mime.ParseMediaType(seeker.get(path + "/" + id + "/file").header.Get("Content-Disposition"))
				require.NoError(t, err)
				require.Equal(t, test.downloadName, params["filename"])
				require.Equal(t, test.fileName, seeker.get(path+"/"+id).ok(200).text("data.document.fileName"), "as it was sent")
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
			// 7 MiB, which are 9⅓ MiB in base64 and fit into a body of 10 MiB.
			largest := base64.StdEncoding.EncodeToString([]byte(somePDF + strings.Repeat("x", 7<<20)))
			id := seeker.document(object{"content": largest})
			require.Equal(t, largest, seeker.get(path+"/"+id).ok(200).text("data.document.content"))
			seeker.put(path+"/"+id, object{"content": largest[:len(largest)-4]}).ok(200)
			seeker.fromNewAddress().
				post(path, object{"intent": "upload-document", "type": "cv", "content": strings.Repeat("x", 10<<20)}).
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
