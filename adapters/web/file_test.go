package web

import (
	"mime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDisposition_FileName_IsEscaped checks that the name of a download, which another user
// chose, cannot add headers or parameters, lead out of the folder, or hide its extension by
// reversing the direction of the text (U+202E).
func TestDisposition_FileName_IsEscaped(t *testing.T) {
	t.Parallel()

	for name, wantName := range map[string]string{
		"cv.pdf":                    "cv.pdf",
		"Zoë O'Brien (CV) 100%.pdf": "Zoë O'Brien (CV) 100%.pdf",
		"履歴書.docx":                  "履歴書.docx",
		"a\"; x=\"b.pdf":            "a\"; x=\"b.pdf",
		"a\r\nSet-Cookie: b":        "aSet-Cookie: b",
		"../../etc/passwd":          ".._.._etc_passwd",
		"cv\u202efdp.exe":           "cvfdp.exe",
	} {
		header := File{Name: name}.Disposition()
		require.NotContains(t, header, "\n", "%q", name)

		disposition, parameters, err := mime.ParseMediaType(header)
		require.NoError(t, err, header)
		require.Equal(t, "attachment", disposition)
		require.Equal(t, wantName, parameters["filename"], header)
	}
}
