package filetypes_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/filetypes"
)

// entry is a file of an archive.
type entry struct{ name, text string }

// archive returns a ZIP archive with the entries.
func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var body bytes.Buffer

	w := zip.NewWriter(&body)
	for _, e := range entries {
		f, err := w.Create(e.name)
		require.NoError(t, err)

		_, err = f.Write([]byte(e.text))
		require.NoError(t, err)
	}

	require.NoError(t, w.Close())

	return body.Bytes()
}

// TestDetect_Documents checks that the type of a file is found from its content alone, and that
// everything but the accepted documents has no type, above all formats that browsers execute.
func TestDetect_Documents(t *testing.T) {
	t.Parallel()

	png, err := hex.DecodeString("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
	require.NoError(t, err)

	word := entry{name: "word/document.xml", text: "<w/>"}
	contentTypes := entry{name: "[Content_Types].xml", text: "<Types/>"}
	longProperties := entry{name: "docProps/app.xml", text: strings.Repeat("x", 9_000)}

	for name, file := range map[string]struct {
		content  []byte
		wantType string
	}{
		"a PDF":  {[]byte("%PDF-1.7\n1 0 obj\n"), filetypes.PDF},
		"RTF":    {[]byte(`{\rtf1\ansi Hello}`), filetypes.RTF},
		"a PNG":  {png, filetypes.PNG},
		"a JPEG": {[]byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01"), filetypes.JPEG},
		"Word": {
			archive(t, contentTypes, entry{"_rels/.rels", ""}, word),
			filetypes.Docx,
		},
		"Word, other order": {
			archive(t, longProperties, word, contentTypes),
			filetypes.Docx,
		},
		"OpenDocument":     {archive(t, entry{"mimetype", filetypes.ODT}, entry{"content.xml", "<x/>"}), filetypes.ODT},
		"a spreadsheet":    {archive(t, contentTypes, entry{"xl/workbook.xml", "<w/>"}), ""},
		"any archive":      {archive(t, entry{"readme.txt", "hello"}), ""},
		"another mimetype": {archive(t, entry{"mimetype", strings.Repeat("x", len(filetypes.ODT))}), ""},
		"text":             {[]byte("I am a nurse."), ""},
		"HTML":             {[]byte("<!DOCTYPE html><script>alert(1)</script>"), ""},
		"SVG":              {[]byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), ""},
		"a program":        {[]byte("\x7fELF\x02\x01\x01\x00"), ""},
		"GIF":              {[]byte("GIF89a\x01\x00\x01\x00"), ""},
		"nothing":          {nil, ""},
	} {
		detected, err := filetypes.Documents{}.Detect(file.content)
		require.NoError(t, err, name)
		require.Equal(t, file.wantType, detected, name)
	}
}

// TestDetect_LegacyWord_ByClassID checks that a .doc file is recognized by its class:
// spreadsheets and installers have the same file format.
func TestDetect_LegacyWord_ByClassID(t *testing.T) {
	t.Parallel()

	// The header of a compound file, whose root entry, in the first sector after
	// it, has the class of a Word document.
	file := make([]byte, 512+128)
	copy(file, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	copy(file[24:], "\x3e\x00\x03\x00\xfe\xff\x09\x00")
	copy(file[512+80:], "\x06\x09\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46")

	got, err := filetypes.Documents{}.Detect(file)
	require.NoError(t, err)
	require.Equal(t, filetypes.Doc, got)
}

// TestDetect_ZipBomb_Refused checks the limits of archives: 2,000 entries, and 100 MiB when they
// are decompressed. Programs that open the document, and virus scanners, would run out of
// memory.
func TestDetect_ZipBomb_Refused(t *testing.T) {
	t.Parallel()

	entries := []entry{{"[Content_Types].xml", "<Types/>"}, {"word/document.xml", "<w/>"}}
	for i := range 1_999 {
		entries = append(entries, entry{fmt.Sprintf("word/%d.xml", i), ""})
	}

	_, err := filetypes.Documents{}.Detect(archive(t, entries[:2_000]...))
	require.NoError(t, err)

	_, err = filetypes.Documents{}.Detect(archive(t, entries...))
	require.ErrorIs(t, err, filetypes.ErrBomb)

	var body bytes.Buffer
	w := zip.NewWriter(&body)
	f, err := w.Create("word/document.xml")
	require.NoError(t, err)

	_, err = f.Write(make([]byte, 100<<20+1))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, body.Len(), 1<<20)

	_, err = filetypes.Documents{}.Detect(body.Bytes())
	require.ErrorIs(t, err, filetypes.ErrBomb)

	// The sum of the sizes overflows to a small number.
	body.Reset()

	w = zip.NewWriter(&body)
	for range 2 {
		_, err := w.CreateRaw(&zip.FileHeader{Name: "word/document.xml", UncompressedSize64: 1<<63 + 1, CRC32: crc32.ChecksumIEEE(nil)})
		require.NoError(t, err)
	}

	require.NoError(t, w.Close())

	_, err = filetypes.Documents{}.Detect(body.Bytes())
	require.ErrorIs(t, err, filetypes.ErrBomb)
}

// TestDetect_ManyArchiveEntries_RefusedUnread checks that an archive with a table of 150,000
// entries is refused before the table is parsed, which would cost many times its size. The
// number of entries at the end of the archive cannot be relied on: here it says 2, or that the
// number is in another record (ZIP64).
func TestDetect_ManyArchiveEntries_RefusedUnread(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]string{
		"that tells of few entries":  "PK\x05\x06\x00\x00\x00\x00\x02\x00\x02\x00",
		"whose number stands beside": "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff",
	} {
		entry := "PK\x01\x02" + strings.Repeat("\x00", 42)
		table := strings.Repeat(entry, 7<<20/len(entry))
		hostile := "PK\x03\x04" + table + end + string(
			binary.LittleEndian.AppendUint32(nil, uint32(len(table))),
		) + "\x04\x00\x00\x00\x00\x00"
		_, err := filetypes.Documents{}.Detect([]byte(hostile))
		require.ErrorIs(t, err, filetypes.ErrBomb, name)
	}
}

// TestDetect_BrokenArchive_Refused checks that an archive without its end, as after an
// interrupted upload, is an error and not a file of unknown type.
func TestDetect_BrokenArchive_Refused(t *testing.T) {
	t.Parallel()

	whole := archive(t, entry{"[Content_Types].xml", "<Types/>"}, entry{"word/document.xml", "<w/>"})
	_, err := filetypes.Documents{}.Detect(whole[:len(whole)-30])
	require.ErrorIs(t, err, filetypes.ErrDamaged)
}

// FuzzDetect checks that no content makes Detect panic, and that a refused file has no type.
func FuzzDetect(f *testing.F) {
	f.Add([]byte("%PDF-1.7"))
	f.Add(archive(f, entry{"word/document.xml", "<w/>"}))

	f.Fuzz(func(t *testing.T, content []byte) {
		if kind, err := (filetypes.Documents{}).Detect(content); err != nil && kind != "" {
			t.Fatal("a refused file has a type")
		}
	})
}
