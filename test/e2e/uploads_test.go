package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// postForm sends a form with fields and, if its field is not empty, a file. It returns the status
// and the body of the response.
func (s *testServer) postForm(
	t *testing.T,
	path, token string,
	fields map[string]string,
	file formFile,
) (status int, response object) {
	t.Helper()
	var body bytes.Buffer

	form := multipart.NewWriter(&body)
	for name, value := range fields {
		require.NoError(t, form.WriteField(name, value))
	}

	if file.field != "" {
		part, err := form.CreateFormFile(file.field, file.name)
		require.NoError(t, err)

		_, err = io.WriteString(part, file.content)
		require.NoError(t, err)
	}

	require.NoError(t, form.Close())

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, &body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("X-Forwarded-For", s.guest(t).ip)

	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}

	resp, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = resp.Body.Close() }()

	require.NoError(t, json.NewDecoder(resp.Body).Decode(&response))

	return resp.StatusCode, response
}

// TestUploads_Multipart checks that documents can be uploaded as a form with a file instead of
// JSON. A file of 8 MiB exceeds the maximum size of a document (400), and one of 11 MiB the
// maximum size of the body (413).
func TestUploads_Multipart(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const path = "/api/jobseekers/documents"

		seeker := server.seeker(t)
		send := func(token string, fields map[string]string, file formFile) (status int, body object) {
			return server.postForm(t, path, token, fields, file)
		}
		upload := map[string]string{"intent": "upload-document", "type": "cv", "isDefault": "true"}
		pdfOfSize := func(bytes int) formFile {
			return formFile{field: "file", name: "cv.pdf", content: somePDF + strings.Repeat(" ", bytes)}
		}

		t.Run("POST /api/jobseekers/documents as a form", func(t *testing.T) {
			// The fields of the form arrive as those of JSON do, and the file is served unchanged.
			status, uploaded := send(seeker.token, upload, pdfFile("Zoë.pdf"))
			require.Equal(t, 200, status, uploaded)

			id := uploaded["data"].(object)["document"].(object)["id"].(string)
			stored := seeker.get(path + "/" + id).ok(200)
			require.Equal(t, "Zoë.pdf", stored.text("data.document.fileName"))
			require.Equal(t, true, stored.at("data.document.isDefault"))
			require.Equal(t, somePDF, string(seeker.get(path+"/"+id+"/file").raw))

			// Another file, here a text, replaces the content of the document.
			update := map[string]string{"intent": "update-document", "documentId": id}
			status, _ = send(seeker.token, update, formFile{field: "file", name: "cv.txt", content: "I am a nurse."})
			require.Equal(t, 200, status)
			require.Equal(t, "I am a nurse.", seeker.get(path+"/"+id).ok(200).text("data.document.content"))

			const noToken = ""

			status, refused := send(noToken, upload, pdfFile("cv.pdf"))
			require.Equal(t, 401, status, refused)
		})

		t.Run("POST /api/jobseekers/documents as an invalid form", func(t *testing.T) {
			for name, test := range map[string]struct {
				fields       map[string]string
				file         formFile
				invalidField string // in the error; empty for none
			}{
				"no intent": {fields: map[string]string{"type": "cv"}, file: pdfFile("cv.pdf")},
				"no file":   {fields: upload, invalidField: "content"},
				"another field": {
					fields:       upload,
					file:         formFile{field: "photo", name: "cv.pdf", content: somePDF},
					invalidField: "photo",
				},
				"another type": {
					fields:       upload,
					file:         formFile{field: "file", name: "cv.exe", content: "MZ\x00"},
					invalidField: "file",
				},
				"too large": {
					fields:       upload,
					file:         pdfOfSize(8 << 20),
					invalidField: "file",
				},
			} {
				status, refused := send(seeker.token, test.fields, test.file)
				require.Equal(t, 400, status, "%s %v", name, refused)

				if test.invalidField != "" {
					require.Equal(t, test.invalidField, refused["details"].(object)["field"], name)
				}
			}

			status, _ := send(seeker.token, upload, pdfOfSize(11<<20))
			require.Equal(t, 413, status)
		})
	})
}
