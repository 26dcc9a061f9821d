package searchindex

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// A folder stores an index. It has one file for each segment, an immutable part of the index, and a manifest, which
// names these files.
//
// A crash at any time leaves a complete index. Each file is written under a temporary name, synced to the disk and
// then renamed. A checkpoint stores the present state of the index: it writes new segments first and the manifest
// last. The manifest then makes the new state the valid one. Files that the manifest does not name are removed.
type folder struct {
	root *os.Root
	next int // the number in the name of the last segment file
}

const (
	manifestFile  = "manifest"
	lockFile      = "lock"
	segmentSuffix = ".segment"
	partialSuffix = ".partial"
	// manifestFormat is changed together with imageFormat.
	manifestFormat = 2
	// minFileDocs is the number of documents from which a merged segment is written to a file at once, not at the
	// next checkpoint.
	minFileDocs = 10_000
)

// ErrLocked means that the folder is used by another index.
var ErrLocked = errors.New("search index is used by another process")

// manifest is the content of the index at a checkpoint.
type manifest struct {
	Analyzer string            `json:"analyzer"` // see Options.Analyzer
	Position string            `json:"position"` // in the feed of changes, up to which the index contains them
	NextFile int               `json:"nextFile"` // folder.next
	Segments []manifestSegment `json:"segments"`
	Deleted  []tombstone       `json:"deleted"` // the documents that were deleted last
}

// manifestSegment describes the file of a segment. Size and Checksum reveal a file of another state.
type manifestSegment struct {
	File     string `json:"file"`
	Size     int    `json:"size"`
	Checksum uint32 `json:"checksum"`
	Dead     []byte `json:"dead,omitempty"` // the set of the deleted documents, as a posting
}

// openFolder locks the folder and returns the parts that it stores: the segments with their deleted documents.
func (x *Index) openFolder() (parts []*part, err error) {
	if err := os.MkdirAll(x.options.Folder, 0o700); err != nil {
		return nil, err
	}

	lock := flock.New(filepath.Join(x.options.Folder, lockFile))
	isLocked, err := lock.TryLock()
	if err != nil {
		return nil, err
	}

	if !isLocked {
		return nil, fmt.Errorf("%w: %s", ErrLocked, x.options.Folder)
	}

	root, err := os.OpenRoot(x.options.Folder)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}

	x.lock, x.folder = lock, &folder{root: root}

	parts, err = x.readFolder()
	if err != nil {
		return nil, errors.Join(err, root.Close(), lock.Unlock())
	}

	return parts, nil
}

// readFolder opens the segments of the latest manifest and deletes all other files.
func (x *Index) readFolder() (parts []*part, err error) {
	if err := x.folder.requireWritable(); err != nil {
		return nil, fmt.Errorf("search index cannot be written to %s: %w", x.options.Folder, err)
	}

	m, err := x.folder.readManifest()
	if err != nil {
		return nil, err
	}

	if m != nil { // nil for a new folder
		parts, err = x.load(m)
		if err != nil {
			return nil, err
		}
	}

	return parts, x.folder.removeExcept(m)
}

// requireWritable returns an error if no file can be created in the folder.
func (f *folder) requireWritable() error {
	const name = "writable" + partialSuffix

	file, err := f.root.Create(name)
	if err != nil {
		return err
	}

	return errors.Join(file.Close(), f.root.Remove(name))
}

// load opens the segments of a manifest.
func (x *Index) load(m *manifest) ([]*part, error) {
	if m.Analyzer != x.options.Analyzer {
		return nil, fmt.Errorf("%w: analyzer is %q, expected %q", ErrOutdated, m.Analyzer, x.options.Analyzer)
	}

	x.position, x.folder.next = m.Position, m.NextFile
	for _, t := range m.Deleted {
		x.tombstones.add(t.ID, t.Version)
	}

	var parts []*part
	for _, ms := range m.Segments {
		p, err := x.folder.openPart(ms)
		if err != nil {
			newState(parts).release() // unmaps the segments that were opened
			return nil, fmt.Errorf("%s: %w", filepath.Join(x.options.Folder, ms.File), err)
		}

		parts = append(parts, p)
	}

	return parts, nil
}

// openPart opens a segment of the manifest and marks its deleted documents.
func (f *folder) openPart(ms manifestSegment) (*part, error) {
	s, err := f.openSegment(ms.File)
	if err != nil {
		return nil, err
	}

	isOther := len(s.image.bytes) != ms.Size || s.image.checksum != ms.Checksum
	if isOther {
		_ = s.image.release() // the file cannot be used anyway
		return nil, fmt.Errorf("%w: not the file of the manifest", ErrDamaged)
	}

	p := &part{segment: s}
	if len(ms.Dead) > 0 {
		list := readPosting(ms.Dead)

		p.dead, p.deadCount = newVector(s.docs()), list.count
		for _, doc := range list.appendTo(nil) {
			p.dead.set(doc)
		}
	}

	return p, nil
}

// openSegment maps a file and checks it.
func (f *folder) openSegment(name string) (*segment, error) {
	file, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: file is missing", ErrDamaged)
	}

	if err != nil {
		return nil, err
	}

	defer func() { _ = file.Close() }() // a mapping does not need it

	info, err := file.Stat()
	if err != nil {
		return nil, err
	}

	im := &image{file: name}
	if info.Size() > 0 { // an empty file cannot be mapped; openSegment reports it
		if im.bytes, im.release, err = mapFile(file, int(info.Size())); err != nil {
			return nil, err
		}
	}

	s, err := openSegment(im)
	if err != nil && im.release != nil {
		_ = im.release() // the first error is returned
	}

	return s, err
}

// writeSegment writes a segment to a new file and maps it. normalize returns the form by which words are compared.
func (f *folder) writeSegment(c content, normalize func(string) string) (*segment, error) {
	name := f.newName()
	if err := f.write(name, func(w io.Writer) error { return writeImage(w, c, normalize) }); err != nil {
		return nil, err
	}

	return f.openSegment(name)
}

// newName returns the next unused name for the file of a segment.
func (f *folder) newName() string {
	f.next++
	return fmt.Sprintf("%08d%s", f.next, segmentSuffix)
}

// write creates or replaces a file in one step.
func (f *folder) write(name string, content func(io.Writer) error) (err error) {
	partial := name + partialSuffix
	defer func() {
		if err != nil {
			_ = f.root.Remove(partial) // else removeExcept does it later
		}
	}()

	if err := f.writePartial(partial, content); err != nil {
		return err
	}

	if err := f.root.Rename(partial, name); err != nil {
		return err
	}

	return syncDir(f.root)
}

// writePartial writes a file and syncs it to the disk.
func (f *folder) writePartial(name string, content func(io.Writer) error) (err error) {
	file, err := f.root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}

	defer func() { err = cmp.Or(err, file.Close()) }()

	const bufferSize = 64 * 1024

	buffer := bufio.NewWriterSize(file, bufferSize)
	if err := content(buffer); err != nil {
		return err
	}

	if err := buffer.Flush(); err != nil {
		return err
	}

	return file.Sync()
}

// The manifest begins with this line, which has its format and the CRC-32C of
// the JSON that follows.
const manifestHeader = "locum search index, format %d, checksum %08x\n"

// writeManifest replaces the manifest, which makes the new state the one that is opened next.
func (f *folder) writeManifest(m *manifest) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}

	return f.write(manifestFile, func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, manifestHeader, manifestFormat, crc32.Checksum(text, castagnoli)); err != nil {
			return err
		}

		_, err := w.Write(text)

		return err
	})
}

// readManifest reads and checks the manifest. It returns nil for a folder without an index.
func (f *folder) readManifest() (*manifest, error) {
	b, err := f.root.ReadFile(manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	header, text, hasText := bytes.Cut(b, []byte("\n"))
	var format int
	var checksum uint32

	// The error is ignored. If the header has the number of another format, the rest of the line may have any form. If
	// the checksum is missing, it is 0 here, and the comparison below fails.
	parsed, _ := fmt.Sscanf(string(header)+"\n", manifestHeader, &format, &checksum)
	if parsed == 0 { // the header has no format
		return nil, fmt.Errorf("%w: manifest of something else in %s", ErrForeign, f.root.Name())
	}

	if format != manifestFormat {
		return nil, fmt.Errorf("%w: manifest has format %d, expected %d", ErrOutdated, format, manifestFormat)
	}

	m := new(manifest)

	isIntact := hasText && crc32.Checksum(text, castagnoli) == checksum
	if !isIntact || json.Unmarshal(text, m) != nil {
		return nil, fmt.Errorf("%w: checksum of the manifest differs", ErrDamaged)
	}

	return m, nil
}

// removeExcept removes the segment files that the manifest does not name, and incomplete files. A nil manifest
// names none.
func (f *folder) removeExcept(m *manifest) error {
	named := map[string]bool{}
	if m != nil {
		for _, s := range m.Segments {
			named[s.File] = true
		}
	}

	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}

	for _, e := range entries {
		name := e.Name()
		isPartial := strings.HasSuffix(name, partialSuffix)

		isUnnamed := strings.HasSuffix(name, segmentSuffix) && !named[name]
		if isPartial || isUnnamed {
			_ = f.root.Remove(name) // tried again at the next checkpoint
		}
	}

	return nil
}

// checkpoint stores the present state in the folder, if it has changed since the last checkpoint. The caller
// holds the mutex maintaining.
func (x *Index) checkpoint() error {
	if x.folder == nil {
		return nil // the index is in memory only
	}

	// Take the state and its position together. Changes may follow while the files are written.
	x.writing.Lock()
	if !x.changed {
		x.writing.Unlock()
		return nil
	}

	st, err := x.acquire()
	m := &manifest{Analyzer: x.options.Analyzer, Position: x.position, Deleted: x.tombstones.list()}
	x.changed = false
	x.writing.Unlock()

	if err != nil {
		return err
	}

	defer st.release()

	if err := x.writeState(st, m); err != nil {
		x.writing.Lock()
		x.changed = true // the next checkpoint tries again
		x.writing.Unlock()

		return err
	}

	return nil
}

// writeState writes the segments that are in memory only, then the manifest m, and removes files that
// are not in it.
func (x *Index) writeState(st *state, m *manifest) error {
	f := x.folder
	for _, p := range st.parts {
		im := p.image

		isInMemory := im.file == ""
		if isInMemory {
			name := f.newName()

			err := f.write(name, func(w io.Writer) error {
				_, err := w.Write(im.bytes)
				return err
			})
			if err != nil {
				return err
			}

			im.file = name
		}

		ms := manifestSegment{File: im.file, Size: len(im.bytes), Checksum: im.checksum}
		if p.deadCount > 0 {
			ms.Dead = appendPosting(nil, slices.Collect(p.dead.each))
		}

		m.Segments = append(m.Segments, ms)
	}

	m.NextFile = f.next
	if err := f.writeManifest(m); err != nil {
		return err
	}

	return f.removeExcept(m)
}
