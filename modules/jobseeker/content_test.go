package jobseeker

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onlyPDF detects PDF files by their first bytes.
type onlyPDF struct{}

// Detect implements FileTypes.
func (onlyPDF) Detect(content []byte) (string, error) {
	if bytes.HasPrefix(content, []byte("%PDF")) {
		return "application/pdf", nil
	}

	return "", nil
}

// FuzzContent checks that the content of a document, as a request contains it, is either rejected or returned as
// the file that was detected. Content is text, a file in Base64 or a data URI.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		"I am a nurse", "JVBERi0xLjcK", "data:,%25PDF", "data:application/pdf;base64,JVBERi0xLjcK",
		"data:;base64,=", "DATA:;BASE64,JVBERg%3D%3D", "data:", "data:,", "\x00", "====",
	} {
		f.Add(seed)
	}

	service := &DocumentService{FileTypes: onlyPDF{}}
	f.Fuzz(func(t *testing.T, sent string) {
		content, problems := service.readContent(sent)
		if problems != nil {
			require.Equal(t, "content", problems[0].Name)
			return
		}

		require.EqualValues(t, len(sent), content.Size)

		file, err := content.Form.decode(sent)
		require.NoError(t, err)

		if content.MediaType == PlainText {
			require.Equal(t, sent, string(file))
		} else {
			require.True(t, bytes.HasPrefix(file, []byte("%PDF")))
		}

		require.Contains(t, MediaTypes(), content.MediaType)
	})
}

// TestExperience_StringOrNumber checks that a field of type Words accepts a number too, because
// clients send years of experience both as 7 and as "7 years".
func TestExperience_StringOrNumber(t *testing.T) {
	t.Parallel()

	for sent, want := range map[string]Words{`"7 years"`: "7 years", `7`: "7", `7.5`: "7.5", `""`: ""} {
		var decoded Words
		require.NoError(t, json.Unmarshal([]byte(sent), &decoded), sent)
		require.Equal(t, want, decoded, sent)
	}

	for _, sent := range []string{`true`, `[7]`, `{}`} {
		var decoded Words
		require.ErrorContains(t, json.Unmarshal([]byte(sent), &decoded), "must be a string or a number", sent)
	}

	// The API's description lists both types.
	require.Equal(t, "string number", strings.Join(Words("").JSONTypes(), " "))
}
