package searchindex

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// The forward index has one record for each document: the length in bytes of the
// title as a varint, the words of the title, a separator, the words of the body.
// A word is its code as a varint, the separator between fields is 0. Since only
// the last byte of a varint is below 0x80, the bytes of a code are found with
// bytes.Index, and a hit is at the beginning of a word if the byte before is the
// last one of another word.

// appendRecord appends the record of a document. words are its codes, of which the first ones are the title.
func appendRecord(dst []byte, words []uint32, title int) []byte {
	var text []byte

	size := 0
	for i, code := range words {
		text = binary.AppendUvarint(text, uint64(code))
		if i+1 == title {
			size = len(text)
		}
	}

	return append(binary.AppendUvarint(dst, uint64(size)), text...)
}

// record returns the title and the entire text of a document.
func (s *segment) record(doc uint32) (title, text []byte) {
	r := s.forward[s.forwardStarts[doc]:s.forwardStarts[doc+1]]
	size, n := binary.Uvarint(r)
	return r[n : n+int(size)], r[n:]
}

// touchRecords reads a byte of every second cache line of the records of documents,
// of which set has the bits from first on. The processor waits for all of them at
// once, and then has them when they are searched one after the other.
func (s *segment) touchRecords(first uint32, set uint64) (sum byte) {
	const stride = 128
	for ; set != 0; set &= set - 1 {
		doc := first + uint32(bits.TrailingZeros64(set))
		for at := s.forwardStarts[doc]; at < s.forwardStarts[doc+1]; at += stride {
			sum += s.forward[at]
		}
	}

	return sum
}

// appendCodes appends the codes of a text.
func appendCodes(codes []uint32, text []byte) []uint32 {
	for len(text) > 0 {
		code, n := binary.Uvarint(text)
		codes = append(codes, uint32(code))
		text = text[n:]
	}

	return codes
}

// phrase has what the first words may be, encoded, and the codes that are
// allowed at each position after them.
type phrase struct {
	first [][]byte
	rest  [][]uint32
}

// maxFirst limits the number of texts to look for.
const maxFirst = 8

// newPhrase encodes the codes that are allowed at each position. It combines as many positions as maxFirst
// permits, at least one: longer byte sequences are found faster.
func newPhrase(positions [][]uint32) phrase {
	p := phrase{first: [][]byte{nil}, rest: positions}
	for len(p.rest) > 0 && (p.first[0] == nil || len(p.first)*len(p.rest[0]) <= maxFirst) {
		var longer [][]byte
		for _, first := range p.first {
			for _, code := range p.rest[0] {
				longer = append(longer, binary.AppendUvarint(bytes.Clone(first), uint64(code)))
			}
		}

		p.first, p.rest = longer, p.rest[1:]
	}

	return p
}

// matches reports whether the text contains the phrase.
func (p *phrase) matches(text []byte) bool {
	for _, first := range p.first {
		for from := 0; ; {
			at := bytes.Index(text[from:], first)
			if at < 0 {
				break
			}

			at += from

			from = at + 1
			if (at == 0 || text[at-1] < 0x80) && p.continues(text[at+len(first):]) {
				return true
			}
		}
	}

	return false
}

// continues reports whether the text begins with the rest of the phrase.
func (p *phrase) continues(text []byte) bool {
	for _, codes := range p.rest {
		code, n := binary.Uvarint(text)
		if n <= 0 || !slices.Contains(codes, uint32(code)) {
			return false
		}

		text = text[n:]
	}

	return true
}
