package search

import (
	"hash/fnv"
	"strings"
)

// without removes the sentences whose hashes are in a set.
func without(tokens []Token, hashes map[uint64]bool) []Token {
	out := tokens[:0]
	for sentence := range sentences(tokens) {
		if !hashes[hashOf(sentence)] {
			out = append(out, sentence...)
		}
	}
	return out
}

// sentences iterates over the sentences of a text.
func sentences(tokens []Token) func(func([]Token) bool) {
	return func(yield func([]Token) bool) {
		from := 0
		for i := 1; i <= len(tokens); i++ {
			if i < len(tokens) && !endsSentence(tokens[i].Gap) {
				continue
			}
			if !yield(tokens[from:i]) {
				return
			}
			from = i
		}
	}
}

func endsSentence(gap string) bool {
	return len(gap) > 1 && strings.ContainsAny(gap, ".!?\n•") || gap == "\n"
}

func hashOf(sentence []Token) uint64 {
	h := fnv.New64a()
	for _, t := range sentence {
		_, _ = h.Write([]byte(t.Word))
		_, _ = h.Write([]byte{' '})
	}
	return h.Sum64()
}

// minSentence is how many words a sentence must have to count as boilerplate.
const minSentence = 4

// SentenceHashes returns a hash of each sentence of a description, for finding
// the ones that many adverts of an organization share.
func SentenceHashes(description string) []uint64 {
	var out []uint64
	for s := range sentences(Tokens(description)) {
		if len(s) >= minSentence {
			out = append(out, hashOf(s))
		}
	}
	return out
}
