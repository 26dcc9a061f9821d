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

// FuzzContent requires that content is either rejected or returned as the detected file.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		"I am a nurse", "JVBERi0xLjcK", "data:,%25PDF", "data:application/pdf;base64,JVBERi0xLjcK",
		"data:;base64,=", "DATA:;BASE64,JVBERg%3D%3D", "data:", "data:,", "\x00", "====",
	} {
		f.Add(seed)
	}

	s := &DocumentService{FileTypes: onlyPDF{}}
	f.Fuzz(func(t *testing.T, sent string) {
		c, problem := s.readContent(sent)
		if problem != nil {
			require.Equal(t, "content", problem[0].Name)
			return
		}

		require.EqualValues(t, len(sent), c.Size)

		file, err := c.Form.decode(sent)
		require.NoError(t, err)

		if c.MediaType == PlainText {
			require.Equal(t, sent, string(file))
		} else {
			require.True(t, bytes.HasPrefix(file, []byte("%PDF")))
		}

		require.Contains(t, MediaTypes(), c.MediaType)
	})
}

// TestExperience_StringOrNumber checks that a field of type Words accepts a number too, because
// clients send years of experience both as 7 and as "7 years".
func TestExperience_StringOrNumber(t *testing.T) {
	t.Parallel()

	for sent, want := range map[string]Words{`"7 years"`: "7 years", `7`: "7", `7.5`: "7.5", `""`: ""} {
		var got Words
		require.NoError(t, json.Unmarshal([]byte(sent), &got), sent)
		require.Equal(t, want, got)
	}

	for _, sent := range []string{`true`, `[7]`, `{}`} {
		var got Words
		require.ErrorContains(t, json.Unmarshal([]byte(sent), &got), "must be a string or a number")
	}

	require.Equal(t, "string number", strings.Join(Words("").JSONTypes(), " "))
}
