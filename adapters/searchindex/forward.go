package searchindex

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// The forward index of a segment stores the texts of its documents, in which phrases are looked for. It has one
// record for each document: the length in bytes of the title as a varint, the words of the title, a separator,
// and the words of the body. A word is stored as its code, a number that is smaller the more frequent the word
// is, in a varint. The separator is the code 0, which the words of a document contain between title and body.
//
// A varint is a number in one or several bytes, of which only the last one is below varintEnd.
//
// Phrases are searched with bytes.Index, which may also find bytes that begin inside of a word. A match
// begins at the beginning of a word only if the byte before it ends a varint, and so is below varintEnd.
const varintEnd = 0x80

// appendRecord appends the record of a document. words are the codes of its text, with the separator. The first
// titleWords of them belong to the title.
func appendRecord(dst []byte, words []uint32, titleWords int) []byte {
	var text []byte

	titleSize := 0
	for i, code := range words {
		text = binary.AppendUvarint(text, uint64(code))
		if i+1 == titleWords {
			titleSize = len(text)
		}
	}

	dst = binary.AppendUvarint(dst, uint64(titleSize))

	return append(dst, text...)
}

// record returns the title and the entire text of a document.
func (s *segment) record(doc uint32) (title, text []byte) {
	record := s.forward[s.forwardStarts[doc]:s.forwardStarts[doc+1]]
	titleSize, sizeLength := binary.Uvarint(record)
	text = record[sizeLength:]

	return text[:titleSize], text
}

// touchRecords makes the processor load the records of some documents into its cache, all at the same time.
// Searching them one after the other is then faster. Bit i of set stands for the document first+i. It reads a
// byte of every second cache line and returns the sum of these bytes. The sum has no meaning: without it, the
// compiler would remove the reads (see evaluation.touched).
func (s *segment) touchRecords(first uint32, set uint64) (sum byte) {
	const stride = 128 // the bytes of two cache lines
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

// phrase is a sequence of words, with several possible codes at each position.
type phrase struct {
	first [][]byte   // the possible beginnings of the phrase, as encoded words
	rest  [][]uint32 // the possible codes at each position after the beginning
}

// maxFirst limits the number of beginnings, each of which is searched separately.
const maxFirst = 8

// newPhrase returns a phrase with the codes that are allowed at each position. It encodes all combinations of the
// codes at the first positions as byte sequences. Longer sequences are found faster. So it takes as many positions
// as possible with at most maxFirst combinations, and at least one position.
func newPhrase(positions [][]uint32) phrase {
	p := phrase{first: [][]byte{nil}, rest: positions}
	for len(p.rest) > 0 {
		hasPosition := p.first[0] != nil // not in the first round
		combinations := len(p.first) * len(p.rest[0])

		if hasPosition && combinations > maxFirst {
			break
		}

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
			from = at + 1 // where to look for the next match

			beginsWord := at == 0 || text[at-1] < varintEnd
			if beginsWord && p.continues(text[at+len(first):]) {
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
