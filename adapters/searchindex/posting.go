package searchindex

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
	"unsafe"
)

// A posting is the set of the documents of one term, such as a word, in the layout of
// Roaring bitmaps. A block is a range of 65,536 documents of a segment. A posting has a
// container for each block in which there are documents of the term: either a sorted
// array of 16-bit numbers or, above 4,096 documents, a bitmap. Its bytes are
//
//	documents uint32, containers uint32
//	containers × {block uint16, documents-1 uint16, offset uint32}
//	the arrays and bitmaps, each aligned to 8 bytes
//
// in native byte order, so that they are used where they are mapped. Offsets
// count from the beginning of the posting in units of 8 bytes.
//
// A reference to a posting is 0 for the empty set, the document itself and
// singleReference for a set of one, and else its offset in the image plus one.
type posting struct {
	count      int         // the number of documents
	single     uint32      // the document, if count is 1 and there are no containers
	containers []container // in the order of their blocks
	data       []byte      // the bytes of the posting
}

// container describes the documents of a posting in one block. The fields have the layout of the image.
type container struct {
	block  uint16
	last   uint16 // the number of the documents minus one, so that 65,536 fit into 16 bits
	offset uint32 // the position of the array or bitmap in the posting, in units of offsetUnit
}

const (
	singleReference = 1 << 63 // marks a reference that is the document itself
	maxArray        = 4096    // documents in the largest array; a bitmap is smaller than a larger one
	headerSize      = 8       // bytes before the containers
	containerSize   = 8       // bytes of a container
	offsetUnit      = 8       // bytes
)

// postings is a list of references with the bytes that they refer to. The number of a posting is its position in
// the list.
type postings struct {
	references []uint64
	data       []byte
}

// get returns the posting with this number.
func (p postings) get(i int) posting {
	reference := p.references[i]
	switch {
	case reference == 0:
		return posting{}
	case reference&singleReference != 0:
		return posting{count: 1, single: uint32(reference)}
	}

	return readPosting(p.data[reference-1:]) // references count from 1
}

// count returns the number of documents without reading the containers.
func (p postings) count(i int) int {
	switch reference := p.references[i]; {
	case reference == 0:
		return 0
	case reference&singleReference != 0:
		return 1
	default:
		return int(binary.NativeEndian.Uint32(p.data[reference-1:]))
	}
}

// readPosting returns the posting at the beginning of data, without copying it.
func readPosting(data []byte) posting {
	documents := binary.NativeEndian.Uint32(data)
	containers := binary.NativeEndian.Uint32(data[4:])

	return posting{
		count:      int(documents),
		containers: view[container](data[headerSize:], int(containers)),
		data:       data,
	}
}

// view interprets the beginning of data, which is aligned for T, as n values.
func view[T any](data []byte, n int) []T {
	if n == 0 {
		return nil
	}

	var t T
	_ = data[n*int(unsafe.Sizeof(t))-1] // panics if data is too short

	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n) //nolint:gosec // the bounds are checked above
}

// array returns the documents of a small container, as their lower 16 bits.
func (p *posting) array(c container) []uint16 {
	return view[uint16](p.data[int(c.offset)*offsetUnit:], int(c.last)+1)
}

// bitmap returns the documents of a large container, one bit for each document of the block.
func (p *posting) bitmap(c container) vector {
	return view[uint64](p.data[int(c.offset)*offsetUnit:], blockWords)
}

// isSingle reports whether the posting has one document, which its reference contains.
func (p *posting) isSingle() bool { return p.count == 1 && p.containers == nil }

// isArray reports whether the documents of the container are stored as an array, and not as a bitmap.
func (c container) isArray() bool { return c.last < maxArray }

// find returns the container of the block.
func (p *posting) find(block int) (container, bool) {
	// Common terms have a container for every block, which is then at the position of its number.
	if block < len(p.containers) && int(p.containers[block].block) == block {
		return p.containers[block], true
	}

	i := sort.Search(len(p.containers), func(i int) bool { return int(p.containers[i].block) >= block })
	if i < len(p.containers) && int(p.containers[i].block) == block {
		return p.containers[i], true
	}

	return container{}, false
}

// addTo adds the documents of the block that are in mask to out.
func (p *posting) addTo(block int, mask, out vector) {
	if p.isSingle() {
		isInBlock := int(p.single/blockDocs) == block
		doc := p.single % blockDocs // counted from the first one of its block

		if isInBlock && mask.has(doc) {
			out.set(doc)
		}

		return
	}

	c, found := p.find(block)
	if !found {
		return
	}

	if c.isArray() {
		for _, doc := range p.array(c) {
			word, bit := doc>>6, doc&63 // doc/64 and doc%64
			out[word] |= mask[word] & (1 << bit)
		}

		return
	}

	bitmap := p.bitmap(c)[:len(out)]

	mask = mask[:len(out)]
	for i, w := range bitmap {
		out[i] |= w & mask[i]
	}
}

// countIn returns the number of documents that are in v, a vector of all documents of
// the segment.
func (p *posting) countIn(v vector) int {
	if p.isSingle() {
		return int(v.bit(p.single))
	}

	n := 0
	for _, c := range p.containers {
		block := v[int(c.block)*blockWords:]
		if c.isArray() {
			for _, doc := range p.array(c) {
				n += int(block.bit(uint32(doc)))
			}

			continue
		}

		bitmap := p.bitmap(c)
		for i, w := range block[:min(blockWords, len(block))] {
			n += bits.OnesCount64(w & bitmap[i])
		}
	}

	return n
}

// has reports whether the document is in the set.
func (p *posting) has(doc uint32) bool {
	if p.isSingle() {
		return doc == p.single
	}

	c, found := p.find(int(doc / blockDocs))
	if !found {
		return false
	}

	if !c.isArray() {
		return p.bitmap(c).has(doc % blockDocs)
	}

	_, found = slices.BinarySearch(p.array(c), uint16(doc))

	return found
}

// appendTo appends the documents in ascending order.
func (p *posting) appendTo(docs []uint32) []uint32 {
	if p.isSingle() {
		return append(docs, p.single)
	}

	for _, c := range p.containers {
		first := uint32(c.block) * blockDocs
		if c.isArray() {
			for _, doc := range p.array(c) {
				docs = append(docs, first+uint32(doc))
			}

			continue
		}

		for doc := range p.bitmap(c).each {
			docs = append(docs, first+doc)
		}
	}

	return docs
}

// appendPosting appends the bytes of a posting. The documents are in ascending
// order; dst is aligned to 8 bytes before and after.
func appendPosting(dst []byte, docs []uint32) []byte {
	start := len(dst)
	dst = binary.NativeEndian.AppendUint32(dst, uint32(len(docs)))
	dst = append(dst, 0, 0, 0, 0) // the number of containers, which is set below

	containers := 0
	for rest := docs; len(rest) > 0; containers++ {
		n := blockLength(rest)
		dst = binary.NativeEndian.AppendUint16(dst, uint16(rest[0]/blockDocs))
		dst = binary.NativeEndian.AppendUint16(dst, uint16(n-1))
		dst = append(dst, 0, 0, 0, 0) // the offset, which is set below
		rest = rest[n:]
	}

	binary.NativeEndian.PutUint32(dst[start+4:], uint32(containers))

	for i := range containers {
		n := blockLength(docs)

		const offsetField = 4 // the position of container.offset
		offset := dst[start+headerSize+containerSize*i+offsetField:]
		binary.NativeEndian.PutUint32(offset, uint32(len(dst)-start)/offsetUnit)

		dst = appendContainer(dst, docs[:n])
		docs = docs[n:]
	}

	return dst
}

// appendContainer appends the array or bitmap of documents that are all in one block.
func appendContainer(dst []byte, docs []uint32) []byte {
	if len(docs) > maxArray {
		var bitmap [blockWords]uint64
		for _, doc := range docs {
			vector(bitmap[:]).set(doc % blockDocs)
		}

		for _, w := range bitmap {
			dst = binary.NativeEndian.AppendUint64(dst, w)
		}

		return dst
	}

	for _, doc := range docs {
		dst = binary.NativeEndian.AppendUint16(dst, uint16(doc))
	}

	return append(dst, make([]byte, padding(2*len(docs)))...)
}

// padding returns the number of bytes that have to follow n bytes so that their sum is a multiple of 8.
func padding(n int) int { return -n & 7 }

// blockLength returns how many of the documents, which are sorted, are in the block of the first one.
func blockLength(docs []uint32) int {
	end := (docs[0]/blockDocs + 1) * blockDocs

	// In the last possible block, the 32 bits of end overflow to 0.
	if end == 0 || docs[len(docs)-1] < end {
		return len(docs)
	}

	n, _ := slices.BinarySearch(docs, end)

	return n
}
