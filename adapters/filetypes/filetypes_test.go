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

// TestDetect_Documents checks that the type of a file is found from its content alone. All other files have no type,
// above all those in formats that browsers execute.
func TestDetect_Documents(t *testing.T) {
	t.Parallel()

	// The signature of PNG and the first chunk, IHDR, of an image of one pixel.
	png, err := hex.DecodeString("89504e470d0a1a0a" + "0000000d49484452000000010000000108060000001f15c489")
	require.NoError(t, err)

	// A Word document is a ZIP archive with these two entries. Programs write the entries in different orders.
	word := entry{name: "word/document.xml", text: "<w/>"}
	contentTypes := entry{name: "[Content_Types].xml", text: "<Types/>"}
	longProperties := entry{name: "docProps/app.xml", text: strings.Repeat("x", 9_000)}

	for name, file := range map[string]struct {
		content  []byte
		wantType string // empty if the file must not be accepted
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
		"another mimetype": {archive(t, entry{"mimetype", strings.Repeat("x", len(filetypes.ODT))}), ""}, // as long as that of ODT
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

// TestDetect_LegacyWord_ByClassID checks that a .doc file is recognized by the class ID in it. Spreadsheets and
// installers are compound files as well, with other class IDs.
func TestDetect_LegacyWord_ByClassID(t *testing.T) {
	t.Parallel()

	// A compound file (MS-CFB) of a header and one sector, the directory. The first entry of the directory is the root.
	const (
		headerSize    = 512
		entrySize     = 128
		versionAt     = 24 // in the header: the minor and major version, the byte order and the size of sectors
		classIDAt     = 80 // in an entry
		signature     = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
		version       = "\x3e\x00\x03\x00\xfe\xff\x09\x00"
		wordDocuments = "\x06\x09\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46" // the class ID
	)

	file := make([]byte, headerSize+entrySize)
	copy(file, signature)
	copy(file[versionAt:], version)
	copy(file[headerSize+classIDAt:], wordDocuments)

	detected, err := filetypes.Documents{}.Detect(file)
	require.NoError(t, err)
	require.Equal(t, filetypes.Doc, detected)
}

// The limits of an archive.
const (
	maxEntries  = 2_000
	maxUnpacked = 100 << 20 // bytes, the sum of all entries
)

// TestDetect_ZipBomb_Refused checks that an archive above one of the limits is refused. Programs that open the document,
// and virus scanners, would run out of memory.
func TestDetect_ZipBomb_Refused(t *testing.T) {
	t.Parallel()

	t.Run("many entries", func(t *testing.T) {
		t.Parallel()

		entries := []entry{{"[Content_Types].xml", "<Types/>"}, {"word/document.xml", "<w/>"}}
		for i := len(entries); i < maxEntries+1; i++ {
			entries = append(entries, entry{fmt.Sprintf("word/%d.xml", i), ""})
		}

		_, err := filetypes.Documents{}.Detect(archive(t, entries[:maxEntries]...))
		require.NoError(t, err)

		_, err = filetypes.Documents{}.Detect(archive(t, entries...))
		require.ErrorIs(t, err, filetypes.ErrBomb)
	})

	t.Run("a large entry that compresses well", func(t *testing.T) {
		t.Parallel()

		var body bytes.Buffer
		w := zip.NewWriter(&body)
		f, err := w.Create("word/document.xml")
		require.NoError(t, err)

		_, err = f.Write(make([]byte, maxUnpacked+1))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Less(t, body.Len(), 1<<20, "the archive itself is small")

		_, err = filetypes.Documents{}.Detect(body.Bytes())
		require.ErrorIs(t, err, filetypes.ErrBomb)
	})

	// Two entries have false sizes, whose sum overflows a 64-bit number and becomes 2.
	t.Run("sizes whose sum overflows", func(t *testing.T) {
		t.Parallel()

		const falseSize = 1<<63 + 1

		var body bytes.Buffer

		w := zip.NewWriter(&body)
		for range 2 {
			header := zip.FileHeader{Name: "word/document.xml", UncompressedSize64: falseSize, CRC32: crc32.ChecksumIEEE(nil)}
			_, err := w.CreateRaw(&header)
			require.NoError(t, err)
		}

		require.NoError(t, w.Close())

		_, err := filetypes.Documents{}.Detect(body.Bytes())
		require.ErrorIs(t, err, filetypes.ErrBomb)
	})
}

// TestDetect_ManyArchiveEntries_RefusedUnread checks that an archive with a directory of 150,000 entries is refused
// before the directory is parsed, which would cost many times its size. The record at the end of an archive has the
// number of entries, but a hostile archive has a false number there.
func TestDetect_ManyArchiveEntries_RefusedUnread(t *testing.T) {
	t.Parallel()

	// The signatures of the parts of an archive: a file, an entry of the directory, and the record at the end.
	const (
		fileSignature  = "PK\x03\x04"
		entrySignature = "PK\x01\x02"
		endSignature   = "PK\x05\x06"
		diskNumbers    = "\x00\x00\x00\x00" // two numbers, for archives of several disks
		noComment      = "\x00\x00"         // the length of the comment of the archive
		entryFields    = 42                 // bytes of an entry after its signature, without a name
		directorySize  = 7 << 20            // bytes
	)

	entry := entrySignature + strings.Repeat("\x00", entryFields)
	directory := strings.Repeat(entry, directorySize/len(entry))
	sizeOfDirectory := string(binary.LittleEndian.AppendUint32(nil, uint32(len(directory))))
	startOfDirectory := string(binary.LittleEndian.AppendUint32(nil, uint32(len(fileSignature))))

	// The numbers of entries on this disk and on all disks, of two bytes each.
	for name, numbersOfEntries := range map[string]string{
		"the number of entries is 2":                 "\x02\x00\x02\x00",
		"the number of entries is in a ZIP64 record": "\xff\xff\xff\xff",
	} {
		end := endSignature + diskNumbers + numbersOfEntries + sizeOfDirectory + startOfDirectory + noComment
		_, err := filetypes.Documents{}.Detect([]byte(fileSignature + directory + end))
		require.ErrorIs(t, err, filetypes.ErrBomb, name)
	}
}

// TestDetect_BrokenArchive_Refused checks that an archive without its end, as after an interrupted upload, is an error
// and not a file of unknown type.
func TestDetect_BrokenArchive_Refused(t *testing.T) {
	t.Parallel()

	const missingBytes = 30 // more than the record at the end, of 22 bytes

	whole := archive(t, entry{"[Content_Types].xml", "<Types/>"}, entry{"word/document.xml", "<w/>"})
	_, err := filetypes.Documents{}.Detect(whole[:len(whole)-missingBytes])
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
