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
		me := server.seeker(t)
		const path = "/api/jobseekers/documents"
		send := func(token string, fields map[string]string, file formFile) (int, object) {
			return server.postForm(t, path, token, fields, file)
		}
		upload := map[string]string{"intent": "upload-document", "type": "cv", "isDefault": "true"}
		t.Run("POST /api/jobseekers/documents as a form", func(t *testing.T) {
			status, out := send(me.token, upload, formFile{field: "file", name: "Zoë.pdf", content: somePDF})
			require.Equal(t, 200, status, out)

			// The fields of the form arrive as those of JSON do, and the file is served unchanged.
			id := out["data"].(object)["document"].(object)["id"].(string)
			got := me.get(path + "/" + id).ok(200)
			require.Equal(t, "Zoë.pdf", got.text("data.document.fileName"))
			require.Equal(t, true, got.at("data.document.isDefault"))
			require.Equal(t, somePDF, string(me.get(path+"/"+id+"/file").raw))

			// Another file, here a text, replaces the content of the document.
			status, _ = send(me.token, map[string]string{"intent": "update-document", "documentId": id},
				formFile{field: "file", name: "cv.txt", content: "I am a nurse."})
			require.Equal(t, 200, status)
			require.Equal(t, "I am a nurse.", me.get(path+"/"+id).ok(200).text("data.document.content"))

			status, out = send("", upload, formFile{field: "file", name: "cv.pdf", content: somePDF})
			require.Equal(t, 401, status, out)

			pdf := formFile{field: "file", name: "cv.pdf", content: somePDF}
			for name, test := range map[string]struct {
				fields       map[string]string
				file         formFile
				invalidField string // in the error; empty for none
			}{
				"no intent": {fields: map[string]string{"type": "cv"}, file: pdf},
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
					file:         formFile{field: "file", name: "cv.pdf", content: somePDF + strings.Repeat(" ", 8<<20)},
					invalidField: "file",
				},
			} {
				status, out := send(me.token, test.fields, test.file)
				require.Equal(t, 400, status, "%s %v", name, out)

				if test.invalidField != "" {
					require.Equal(t, test.invalidField, out["details"].(object)["field"], name)
				}
			}

			status, _ = send(me.token, upload, formFile{field: "file", name: "cv.pdf", content: somePDF + strings.Repeat(" ", 11<<20)})
			require.Equal(t, 413, status)
		})
	})
}
