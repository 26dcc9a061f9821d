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
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, &body)
	require.NoError(t, err)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("X-Forwarded-For", s.guest(t).ip)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
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
			status, out := send(me.token, upload, formFile{"file", "Zoë.pdf", somePDF})
			require.Equal(t, 200, status, out)
			id := out["data"].(map[string]any)["document"].(map[string]any)["id"].(string)
			got := me.get(path + "/" + id).ok(200)
			require.Equal(t, "Zoë.pdf", got.text("data.document.fileName"))
			require.Equal(t, true, got.at("data.document.isDefault"))
			require.Equal(t, somePDF, string(me.get(path+"/"+id+"/file").raw))
			status, _ = send(me.token, map[string]string{"intent": "update-document", "documentId": id},
				formFile{"file", "cv.txt", "I am a nurse."})
			require.Equal(t, 200, status)
			require.Equal(t, "I am a nurse.", me.get(path+"/"+id).ok(200).text("data.document.content"))

			status, out = send("", upload, formFile{"file", "cv.pdf", somePDF})
			require.Equal(t, 401, status, out)
			for name, c := range map[string]struct {
				fields map[string]string
				file   formFile
				field  string // that the error names; empty for none
			}{
				"no intent":     {map[string]string{"type": "cv"}, formFile{"file", "cv.pdf", somePDF}, ""},
				"no file":       {upload, formFile{}, "content"},
				"another field": {upload, formFile{"photo", "cv.pdf", somePDF}, "photo"},
				"another type":  {upload, formFile{"file", "cv.exe", "MZ\x00"}, "file"},
				"too large":     {upload, formFile{"file", "cv.pdf", somePDF + strings.Repeat(" ", 8<<20)}, "file"},
			} {
				status, out := send(me.token, c.fields, c.file)
				require.Equal(t, 400, status, "%s %v", name, out)
				if c.field != "" {
					require.Equal(t, c.field, out["details"].(map[string]any)["field"], name)
				}
			}
			status, _ = send(me.token, upload, formFile{"file", "cv.pdf", somePDF + strings.Repeat(" ", 11<<20)})
			require.Equal(t, 413, status)
		})
	})
}
