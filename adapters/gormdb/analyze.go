package gormdb

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/locumhq/locum/modules/listings"
)

// Text is analyzed here and not in the databases, so that both have the same
// words: what listings.Words finds, without stop words, by their stems.

// maxLexeme bounds what is one word to the index, in bytes.
const maxLexeme = 64

var stems = struct {
	sync.RWMutex
	of map[string]string
}{of: map[string]string{}}

// maxStems bounds the cache of stems. The vocabulary of a job board is far
// smaller; what lies beyond is noise that is cheaper to stem than to keep.
const maxStems = 50_000

// stem brings a word to the form in which it is indexed.
func stem(word string) string {
	stems.RLock()
	s, ok := stems.of[word]
	stems.RUnlock()
	if ok {
		return s
	}
	word = strings.Clone(word)
	s = word
	if len(s) > maxLexeme {
		s = s[:maxLexeme]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	s = english.Stem(s, true)
	stems.Lock()
	if len(stems.of) < maxStems {
		stems.of[word] = s
	}
	stems.Unlock()
	return s
}

// stemmed is the text as it is indexed and, into seen, the words that it has.
func stemmed(text string, seen map[string]struct{}) []string {
	words := listings.Words(text)
	out := words[:0]
	for _, w := range words {
		if listings.StopWord(w) {
			continue
		}
		if seen != nil && len(w) <= maxLexeme {
			seen[w] = struct{}{}
		}
		out = append(out, stem(w))
	}
	return out
}

// fieldBreak keeps phrases from reaching over the end of a field.
const fieldBreak = "zzbreak"

// document is a listing as the indexes take it.
type document struct {
	title, body []string
	words       map[string]struct{}
}

func documentOf(l *listings.Listing) document {
	d := document{words: map[string]struct{}{}}
	d.title = stemmed(l.Title, d.words)
	d.body = slices.Clone(d.title)
	add := func(texts ...string) {
		for _, t := range texts {
			if s := stemmed(t, d.words); len(s) > 0 {
				d.body = append(append(d.body, fieldBreak), s...)
			}
		}
	}
	add(l.Specialty, l.Department, l.Company, l.Location)
	if p := l.Place; p != nil {
		add(p.Name, p.Region, listings.CountryName(p.Country))
	}
	add(l.Requirements...)
	add(l.Benefits...)
	add(l.Description)
	return d
}

// lexemes writes words in the form of the dialect's index column: a tsvector's
// text, or simply the words.
func (d dialect) lexemes(words []string) string {
	if d == sqlite {
		return strings.Join(words, " ")
	}
	// Postgres keeps up to 256 positions of a word and none beyond 16383.
	at := make(map[string][]byte, len(words))
	order := make([]string, 0, len(words))
	for i, w := range words {
		p, known := at[w]
		if !known {
			order = append(order, w)
		} else {
			p = append(p, ',')
		}
		at[w] = strconv.AppendInt(p, int64(min(i+1, 16383)), 10)
	}
	var b strings.Builder
	for i, w := range order {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('\'')
		b.WriteString(w) // letters and digits only
		b.WriteString("':")
		b.Write(at[w])
	}
	return b.String()
}
