package listings

import (
	"strings"
	"unicode"
)

// Fold brings text to the form in which it is compared: lower case, without
// diacritics, æ as ae and ß as ss.
func Fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		if r < 0x80 {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			b.WriteByte(byte(r))
			continue
		}
		foldRune(&b, r)
	}
	return b.String()
}

const (
	accented = "àáâãäåāăąçćĉċčďđèéêëēĕėęěĝğġģĥħìíîïĩīĭįıĵķĺļľŀłñńņňòóôõöøōŏőŕŗřśŝşšșţťŧțùúûüũūŭůűųŵýÿŷźżžẁẃẅỳ"
	plain    = "aaaaaaaaacccccddeeeeeeeeegggghhiiiiiiiiijklllllnnnnooooooooorrrsssssttttuuuuuuuuuuwyyyzzzwwwy"
)

var unaccented = func() map[rune]byte {
	m := make(map[rune]byte, len(plain))
	i := 0
	for _, r := range accented {
		m[r] = plain[i]
		i++
	}
	return m
}()

func foldRune(b *strings.Builder, r rune) {
	r = unicode.ToLower(r)
	switch {
	case r == 'æ':
		b.WriteString("ae")
	case r == 'œ':
		b.WriteString("oe")
	case r == 'ß':
		b.WriteString("ss")
	case r == '’' || r == '‘' || r == '`':
		b.WriteByte('\'')
	case r == '–' || r == '—' || r == '‑':
		b.WriteByte('-')
	case unicode.Is(unicode.Mn, r): // a combining accent of decomposed text
	default:
		if p, ok := unaccented[r]; ok {
			b.WriteByte(p)
			return
		}
		b.WriteRune(r)
	}
}

// token is a word and what stood between it and the word before.
type token struct {
	word string
	gap  string
	// joined is set on the further bands of "band 5/6": they stand in the place
	// of the first.
	joined bool
}

// Words takes a text apart into the words by which it is found. Every storage
// indexes these, and queries are made of them, so that all agree on what a
// word is: A&E is "ae", R.N. is "rn", a nurse's is "nurse", Band 5/6 is
// "band5" and "band6".
func Words(s string) []string {
	ts := tokens(s)
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.word
	}
	return out
}

func tokens(s string) []token {
	rs := []rune(Fold(s))
	var out []token
	var word []rune
	gapFrom, wordFrom := 0, 0
	flush := func(end int) {
		if len(word) > 0 {
			out = append(out, token{word: string(word), gap: string(rs[gapFrom:wordFrom])})
			word = word[:0]
			gapFrom = end
		}
	}
	at := func(i int) rune {
		if i < 0 || i >= len(rs) {
			return ' '
		}
		return rs[i]
	}
	for i := 0; i < len(rs); i++ {
		r := rs[i]
		switch {
		case wordRune(r):
			if len(word) == 0 {
				wordFrom = i
			}
			word = append(word, r)
		case r == '\'' && len(word) > 0 && wordRune(at(i+1)):
			if at(i+1) == 's' && !wordRune(at(i+2)) {
				flush(i + 2) // nurse's is nurse
				i++
			} // O'Neill is oneill
		case r == '&' && loneLetter(at, i-1, -1) && loneLetter(at, i+1, 1):
			// A&E, T & O
			if n := len(out); len(word) == 0 && n > 0 && len(out[n-1].word) <= maxChain {
				word = append(word, []rune(out[n-1].word)...)
				gapFrom = wordFrom - len([]rune(out[n-1].gap))
				out = out[:n-1]
			}
			for at(i+1) == ' ' {
				i++
			}
		case insideWord(at, i):
		default:
			flush(i)
		}
	}
	flush(len(rs))
	return joinBands(out)
}

// insideWord reports a point or comma that does not end a word: R.N., 45,000.
func insideWord(at func(int) rune, i int) bool {
	switch at(i) {
	case '.':
		return loneLetter(at, i-1, -1) && unicode.IsLetter(at(i+1)) && !wordRune(at(i+2))
	case ',':
		return unicode.IsDigit(at(i-1)) && unicode.IsDigit(at(i+1)) && unicode.IsDigit(at(i+2)) && unicode.IsDigit(at(i+3))
	}
	return false
}

// maxChain is how many bytes of letters one more is joined to.
const maxChain = 16

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// loneLetter reports whether the next word from i in direction d is one letter
// (or, before it, a chain of them: A.H.P).
func loneLetter(at func(int) rune, i, d int) bool {
	if at(i) == ' ' && wordRune(at(i+d)) {
		i += d
	}
	return unicode.IsLetter(at(i)) && !wordRune(at(i+d))
}

// joinBands makes one word of a pay band and its number, and gives every band
// of a range its own.
func joinBands(ts []token) []token {
	out := ts[:0:0]
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		if (t.word != "band" && t.word != "bands") || i+1 == len(ts) || !bandNumber(ts[i+1].word) {
			out = append(out, t)
			continue
		}
		last := ts[i+1].word
		out = append(out, token{word: "band" + last, gap: t.gap})
		i++
		for i+1 < len(ts) {
			next, sep, used := ts[i+1], strings.TrimSpace(ts[i+1].gap), 1
			if sep == "" && (next.word == "to" || next.word == "and" || next.word == "or") && i+2 < len(ts) && strings.TrimSpace(ts[i+2].gap) == "" {
				sep, next, used = next.word, ts[i+2], 2
			}
			if !bandNumber(next.word) || !bandLinks[sep] {
				break
			}
			if (sep == "-" || sep == "to") && len(last) == 1 {
				for b := last[0] + 1; b < next.word[0]; b++ {
					out = append(out, token{word: "band" + string(b), joined: true})
				}
			}
			last = next.word
			out = append(out, token{word: "band" + last, gap: next.gap, joined: true})
			i += used
		}
	}
	return out
}

// bandLinks are what stands between the bands of one post.
var bandLinks = map[string]bool{"/": true, "-": true, "&": true, "to": true, "and": true, "or": true}

func bandNumber(s string) bool {
	return len(s) >= 1 && len(s) <= 2 && s[0] >= '1' && s[0] <= '9' && (len(s) == 1 || s[1] >= 'a' && s[1] <= 'd')
}
