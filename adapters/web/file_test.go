package web

import (
	"errors"
	"mime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDisposition_FileName_IsEscaped(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"cv.pdf":                    "cv.pdf",
		"Zoë O'Brien (CV) 100%.pdf": "Zoë O'Brien (CV) 100%.pdf",
		"履歴書.docx":                  "履歴書.docx",
		"a\"; x=\"b.pdf":            "a\"; x=\"b.pdf",
		"a\r\nSet-Cookie: b":        "aSet-Cookie: b",
		"../../etc/passwd":          ".._.._etc_passwd",
		"cv\u202efdp.exe":           "cvfdp.exe",
	} {
		header := File{Name: name}.Disposition()
		require.NotContains(t, header, "\n")
		kind, params, err := mime.ParseMediaType(header)
		require.NoError(t, err, header)
		require.Equal(t, "attachment", kind)
		require.Equal(t, want, params["filename"], header)
	}
}

type refusing struct {
	Kind string `json:"kind" validate:"required"`
	Size int    `json:"size" validate:"max=5"`
}

// Refuse refuses what is of no kind.
func (r refusing) Refuse(wrong func(string) bool) error {
	if r.Kind == "" && !wrong("kind") {
		return errors.New("no kind")
	}
	return nil
}

func TestBind_Refuse_RunsBeforeValidation(t *testing.T) {
	t.Parallel()
	_, err := bindTo[refusing](`{"kind":"a","size":3}`, nil)
	require.NoError(t, err)
	_, err = bindTo[refusing](`{"size":99}`, nil)
	require.EqualError(t, err, "no kind")
	_, err = bindTo[refusing](`{"kind":5,"size":99}`, nil)
	require.Equal(t, []string{"kind must be a string", "size must be at most 5"}, fieldsOf(t, err))
}
