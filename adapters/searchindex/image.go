package searchindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unsafe"
)

// An image is the bytes of one segment, which is an immutable part of the index. It is the same in memory and in
// a file. Each slice of the segment is stored as a section:
//
//	magic [8]byte
//	sections, each aligned to 8 bytes
//	table: sections × {offset, length, checksum uint64}
//	table checksum uint32, byte order uint32, format uint32, sections uint32
//	magic [8]byte
//
// Numbers are in native byte order, so that a segment uses the memory of its image without decoding it.
// Checksums are CRC-32C. The checksum of a section includes the padding that aligns the next one.
const (
	imageMagic  = "locumseg"
	imageFormat = 2          // is increased when the sections change
	byteOrder   = 0x01020304 // reads as another number on a machine with another byte order
	alignment   = 8
	footerSize  = 4*4 + len(imageMagic)
)

// Errors of Open. The index has to be built again, in another folder.
var (
	// ErrDamaged means that a file is incomplete or altered.
	ErrDamaged = errors.New("search index is damaged")
	// ErrOutdated means that the index was written in another format or with
	// another analyzer.
	ErrOutdated = errors.New("search index is outdated")
	// ErrForeign means that a file was not written by this package, or on a
	// machine with another byte order.
	ErrForeign = errors.New("not a search index")
)

// castagnoli is the table of CRC-32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// image is the memory of a segment.
type image struct {
	bytes    []byte
	checksum uint32 // of the table of sections
	release  func() error
	file     string // empty if it is only in memory
}

// sectionEntry is a row of the table of sections. Offset is from the beginning of the image.
type sectionEntry struct{ Offset, Length, Checksum uint64 }

// imageWriter writes the sections of an image one after the other.
type imageWriter struct {
	w        io.Writer
	offset   uint64
	table    [sectionCount]sectionEntry
	current  int    // the number of the section that is being written
	checksum uint32 // of this section so far
	err      error  // of the first write that failed
}

// newImageWriter begins an image.
func newImageWriter(w io.Writer) *imageWriter {
	iw := &imageWriter{w: w}
	iw.write([]byte(imageMagic))
	return iw
}

// begin starts a section.
func (w *imageWriter) begin(section int) {
	w.current, w.checksum = section, 0
	w.table[section].Offset = w.offset
}

// length returns the number of bytes in the current section.
func (w *imageWriter) length() uint64 { return w.offset - w.table[w.current].Offset }

// write appends to the current section. After the first error it only counts the bytes; finish returns that
// error.
func (w *imageWriter) write(b []byte) {
	w.checksum = crc32.Update(w.checksum, castagnoli, b)

	w.offset += uint64(len(b))
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// end completes the current section with its padding and checksum.
func (w *imageWriter) end() {
	entry := &w.table[w.current]
	entry.Length = w.length()
	w.write(make([]byte, padding(int(entry.Length))))

	entry.Checksum = uint64(w.checksum)
}

// finish writes the sections that the builder has collected in the slices of s, the table and the end of the
// image. The builder has already written the large sections, those from postingSection on, piece by piece, so
// that s does not contain them.
func (w *imageWriter) finish(s *segment) error {
	smallSections := s.sections()[:postingSection]
	for i, section := range smallSections {
		w.begin(i)
		w.write(section.bytes())
		w.end()
	}

	table := bytesOf(w.table[:])
	w.write(table)

	footer := make([]byte, 0, footerSize)
	for _, n := range []uint32{crc32.Checksum(table, castagnoli), byteOrder, imageFormat, sectionCount} {
		footer = binary.NativeEndian.AppendUint32(footer, n)
	}

	w.write(append(footer, imageMagic...))

	return w.err
}

// bytesOf returns the memory of a slice of numbers, without copying it.
func bytesOf[T any](s []T) []byte {
	var element T
	size := len(s) * int(unsafe.Sizeof(element))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size) //nolint:gosec // exactly the memory of s
}

// section is a slice of a segment that is stored in its image.
type section interface {
	bytes() []byte
	// set makes the slice a view of b. It returns false if the last element in b is incomplete.
	set(b []byte) bool
}

// sliceSection implements section for slices of T.
type sliceSection[T any] struct{ slice *[]T }

// of returns the section that stores the slice.
func of[T any](slice *[]T) section { return sliceSection[T]{slice} }

func (s sliceSection[T]) bytes() []byte { return bytesOf(*s.slice) }

func (s sliceSection[T]) set(b []byte) bool {
	var element T
	size := int(unsafe.Sizeof(element))
	*s.slice = view[T](b, len(b)/size)

	return len(b)%size == 0
}

// openSegment checks an image and returns its segment.
func openSegment(im *image) (*segment, error) {
	table, err := readTable(im)
	if err != nil {
		return nil, err
	}

	s := &segment{image: im}
	size := uint64(len(im.bytes))

	for i, section := range s.sections() {
		entry := table[i]
		isAligned := entry.Offset%alignment == 0

		// A damaged table can contain so large numbers that their sum overflows. The sum is then less than its parts.
		end := entry.Offset + entry.Length
		paddedEnd := end + uint64(padding(int(entry.Length)))
		hasOverflowed := entry.Length > size || entry.Offset > paddedEnd

		if !isAligned || hasOverflowed || paddedEnd > size {
			return nil, fmt.Errorf("%w: section %d exceeds the file", ErrDamaged, i)
		}

		if crc32.Checksum(im.bytes[entry.Offset:paddedEnd], castagnoli) != uint32(entry.Checksum) {
			return nil, fmt.Errorf("%w: checksum of section %d differs", ErrDamaged, i)
		}

		if !section.set(im.bytes[entry.Offset:end:end]) {
			return nil, fmt.Errorf("%w: section %d has a partial element", ErrDamaged, i)
		}
	}

	return s, nil
}

// readTable checks the beginning and the end of an image, sets its checksum, and returns the table of its
// sections.
func readTable(im *image) ([]sectionEntry, error) {
	tableSize := sectionCount * int(unsafe.Sizeof(sectionEntry{}))

	b := im.bytes
	if len(b) < len(imageMagic) || !bytes.HasPrefix(b, []byte(imageMagic)) {
		return nil, fmt.Errorf("%w: no image of a segment", ErrForeign)
	}

	minSize := len(imageMagic) + tableSize + footerSize
	if len(b)%alignment != 0 || len(b) < minSize || !bytes.HasSuffix(b, []byte(imageMagic)) {
		return nil, fmt.Errorf("%w: image is incomplete", ErrDamaged)
	}

	footerStart := len(b) - footerSize
	footer := view[uint32](b[footerStart:], 4)

	tableChecksum, order, format, sections := footer[0], footer[1], footer[2], footer[3]
	switch {
	case order != byteOrder:
		return nil, fmt.Errorf("%w: byte order of another machine, or altered", ErrForeign)
	case format != imageFormat || sections != sectionCount:
		return nil, fmt.Errorf("%w: image has format %d, expected %d", ErrOutdated, format, imageFormat)
	}

	table := b[footerStart-tableSize : footerStart]

	im.checksum = crc32.Checksum(table, castagnoli)
	if im.checksum != tableChecksum {
		return nil, fmt.Errorf("%w: checksum of the section table differs", ErrDamaged)
	}

	return view[sectionEntry](table, sectionCount), nil
}

// alignedBuffer collects an image in memory that is aligned to 8 bytes, as mapped files are.
type alignedBuffer struct {
	words []uint64 // the memory, of which the end is not used yet
	n     int      // the number of bytes that have been written
}

// Write implements io.Writer. It never fails.
func (a *alignedBuffer) Write(b []byte) (int, error) {
	neededWords := (a.n + len(b) + alignment - 1) / alignment // rounded up
	if missing := neededWords - len(a.words); missing > 0 {
		// Growing at least to the double size spreads the cost of copying over many writes.
		growth := max(missing, len(a.words))
		a.words = append(a.words, make([]uint64, growth)...)
	}

	copy(bytesOf(a.words)[a.n:], b)

	a.n += len(b)

	return len(b), nil
}

func (a *alignedBuffer) bytes() []byte { return bytesOf(a.words)[:a.n] }
