package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is one word of a text.
type Token struct {
	// Word is in lower case and without diacritics, possessive s and the
	// points of abbreviations: "r.d." is "rd", "nurse's" is "nurse".
	Word string
	// Surface is the word as it is written.
	Surface string
	// Gap is the text between the previous token and this one.
	Gap string
	// Start and End are byte offsets into the text.
	Start, End int
	// Capitals is set for abbreviations: all letters of the surface are
	// capitals, but for the s of a plural (GPs).
	Capitals bool
}

// Tokens divides a text into words. The characters & + / and . belong to a
// short word that contains them (T&O, ST3+, 5/6, R.D., 37.5); elsewhere they
// separate words. An ampersand that stands alone is the word "and".
func Tokens(text string) []Token {
	return AppendTokens(make([]Token, 0, len(text)/5+1), text)
}

// AppendTokens appends the tokens of a text, so that many texts are analyzed without
// allocations.
func AppendTokens(tokens []Token, text string) []Token {
	s := scanner{text: text, lower: LowerASCII(text)}

	last := 0
	for s.next() {
		tokens = append(tokens, Token{
			Word: s.word, Surface: text[s.start:s.end], Gap: text[last:s.start],
			Start: s.start, End: s.end, Capitals: s.capitals,
		})
		last = s.end
	}

	return tokens
}

// scanner iterates over the tokens of a text.
type scanner struct {
	text  string
	lower string // as long as text, with ASCII letters in lower case

	// The current token.
	start, end int
	word       string
	capitals   bool
}

// next moves to the next token; it reports false at the end of the text.
func (s *scanner) next() bool {
	for i := s.end; i < len(s.text); {
		switch c := s.text[i]; {
		case c < utf8.RuneSelf && wordBytes[c], c >= utf8.RuneSelf && s.letterOrDigit(i) > 0:
			if s.read(i); s.word != "" {
				return true
			}

			i = s.end // a combining accent without a letter
		case c == '&':
			s.start = i
			s.end = i + 1
			s.word = "and"
			s.capitals = false

			return true
		case c < utf8.RuneSelf:
			i++
		default:
			_, n := utf8.DecodeRuneInString(s.text[i:])
			i += n
		}
	}

	return false
}

// read reads the token that starts at i.
func (s *scanner) read(i int) {
	s.start = i
	end, plain := s.run(i)

	s.end = end
	if plain && !s.mayJoin(end) {
		s.word = s.lower[i:end]
	} else {
		s.readJoined(i, plain)
	}

	s.capitals = false
	if mayBeCapitals(s.text[i:s.end]) {
		s.setCapitals()
	}
}

// mayBeCapitals is a quick check for setCapitals: most words begin with a
// small letter, or have one after a capital.
func mayBeCapitals(surface string) bool {
	return surface[0] < 'a' && len(surface) > 1 && surface[1] < 'a' || surface[0] >= utf8.RuneSelf
}

// mayJoin reports whether the word that ends at end may go on. It is a quick
// check for readJoined.
func (s *scanner) mayJoin(end int) bool {
	if end+1 >= len(s.text) {
		return end < len(s.text) && (s.text[end] == '+' || s.text[end] == '.')
	}

	switch next := s.text[end+1]; s.text[end] {
	case '\'', '.', ',', '/', '-', '&':
		return next >= utf8.RuneSelf || wordBytes[next] || s.text[end] == '.'
	case ' ':
		return next == '&' && end == s.start+1
	case '+', '\xe2':
		return true
	}

	return false
}

// run returns the end of the letters and digits that start at i and whether
// all of them are ASCII.
func (s *scanner) run(i int) (end int, plain bool) {
	plain = true
	for i < len(s.text) {
		c := s.text[i]
		if c < utf8.RuneSelf {
			if !wordBytes[c] {
				break
			}

			i++
			continue
		}

		n := s.letterOrDigit(i)
		if n == 0 {
			break
		}

		plain = false
		i += n
	}

	return i, plain
}

// readJoined reads a word that more than letters may belong to.
func (s *scanner) readJoined(i int, plain bool) {
	first := s.end
	joined := false // the word differs from lower[i:end]
	var b []byte
	add := func(from, to int, between string) {
		if !joined {
			b = append(b, s.lower[i:first]...)
			joined = true
		}

		b = append(b, between...)
		b = append(b, s.lower[from:to]...)
	}

	for from := i; ; {
		j := s.join(i, from, s.end)
		if j.next == 0 {
			break
		}

		end := j.next
		if j.more {
			var p bool
			end, p = s.run(j.next)
			plain = plain && p

			add(j.next, end, j.between)
		} else {
			add(0, 0, j.between)
		}

		from, s.end = j.next, end
		if !j.more {
			break
		}
	}

	s.word = s.lower[i:s.end]
	if joined {
		s.word = string(b)
	}

	if !plain {
		s.word = Fold(s.word)
	}
}

// join is how a word continues.
type join struct {
	next    int    // where the word continues, 0 if it ends
	between string // what the folded word has between the parts
	more    bool   // letters or digits follow at next
}

// join decides whether the word that starts at word, and whose last part is
// text[from:end], continues.
func (s *scanner) join(word, from, end int) join {
	if end >= len(s.text) {
		return join{}
	}

	part := s.lower[from:end]
	switch c := s.text[end]; c {
	case '\'', '\xe2':
		return s.joinApostrophe(end)
	case '.':
		return s.joinPoint(word, part, end)
	case ',':
		if next, _ := s.run(end + 1); next == end+4 && digits(part) && digits(s.lower[end+1:next]) {
			return join{next: end + 1, more: true} // 45,000
		}
	case '&':
		if next, _ := s.run(end + 1); len(part) <= 2 && next > end+1 && next <= end+3 && !digits(part) {
			return join{next: end + 1, between: "&", more: true} // T&O
		}
	case ' ':
		if len(part) == 1 && s.loneAmpersand(end) && !digits(part) {
			return join{next: end + 3, between: "&", more: true} // T & O
		}
	case '/':
		if s.joinsSlash(part, end) {
			return join{next: end + 1, between: "/", more: true} // 5/6, F/T
		}
	case '+':
		if c := part[len(part)-1]; '0' <= c && c <= '9' {
			return join{next: end + 1, between: "+"} // ST3+
		}
	case '-':
		if part == "co" && strings.HasPrefix(s.lower[end+1:], "o") {
			return join{next: end + 1, more: true} // co-ordinator
		}
	}

	return join{}
}

// joinApostrophe drops a possessive s and the apostrophe of O'Neill.
func (s *scanner) joinApostrophe(end int) join {
	n := 1
	if s.text[end] != '\'' {
		if !strings.HasPrefix(s.text[end:], "’") {
			return join{}
		}

		n = len("’")
	}

	next, _ := s.run(end + n)
	switch {
	case next == end+n:
		return join{}
	case s.lower[end+n:next] == "s":
		return join{next: next}
	}

	return join{next: end + n, more: true}
}

// joinPoint joins decimals (37.5) and the letters of abbreviations (R.D.,
// B.Sc.), whose points the folded word lacks.
func (s *scanner) joinPoint(word int, part string, end int) join {
	next, _ := s.run(end + 1)
	follows := s.lower[end+1 : next]

	abbreviated := strings.IndexByte(s.text[word:end], '.') >= 0
	switch {
	case digits(part):
		if follows != "" && digits(follows) && !abbreviated {
			return join{next: end + 1, between: ".", more: true}
		}
	case follows == "":
		if abbreviated {
			return join{next: end + 1}
		}
	case len(part) == 1 && len(follows) <= 3 && !digits(follows), part == "ph" && follows == "d":
		return join{next: end + 1, more: true}
	}

	return join{}
}

// joinsSlash reports whether the slash at end joins two short parts: numbers
// (5/6, 8a/8b) or letters (F/T).
func (s *scanner) joinsSlash(part string, end int) bool {
	next, _ := s.run(end + 1)

	follows := s.lower[end+1 : next]
	if follows == "" || len(part) > 2 || len(follows) > 2 {
		return false
	}

	if digit(part[0]) || digit(follows[0]) {
		return digit(part[0]) && digit(follows[0])
	}

	return len(part) == 1 && len(follows) == 1
}

// loneAmpersand reports whether " & " and a single letter follow at i.
func (s *scanner) loneAmpersand(i int) bool {
	if !strings.HasPrefix(s.text[i:], " & ") {
		return false
	}

	end, _ := s.run(i + 3)

	return end == i+4 && !digits(s.lower[i+3:end])
}

// setCapitals sets capitals, and drops the s of a plural such as GPs.
func (s *scanner) setCapitals() {
	letters, upper := 0, 0

	surface := s.text[s.start:s.end]
	for _, r := range surface {
		switch {
		case unicode.IsUpper(r):
			letters++
			upper++
		case unicode.IsLetter(r):
			letters++
		}
	}

	plural := upper >= 2 && upper == letters-1 && surface[len(surface)-1] == 's'

	possessive := plural && len(surface) > len(s.word)
	if plural && !possessive {
		s.word = s.word[:len(s.word)-1]
	}

	s.capitals = plural || upper == letters && len(s.word) >= 2 && upper > 0
}

// letterOrDigit returns the width of the letter, digit or combining accent at
// i, or 0.
func (s *scanner) letterOrDigit(i int) int {
	c := s.text[i]
	if c < utf8.RuneSelf {
		if wordBytes[c] {
			return 1
		}

		return 0
	}

	r, n := utf8.DecodeRuneInString(s.text[i:])
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) {
		return n
	}

	return 0
}

// wordBytes has the ASCII letters and digits.
var wordBytes = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}

	return t
}()

func digit(c byte) bool { return '0' <= c && c <= '9' }

// digits reports whether s consists of digits.
func digits(s string) bool {
	for i := range len(s) {
		if !digit(s[i]) {
			return false
		}
	}

	return s != ""
}

// LowerASCII converts the ASCII letters to lower case and leaves every other
// byte where it is.
func LowerASCII(s string) string {
	i := 0
	for i < len(s) && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}

	if i == len(s) {
		return s
	}

	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])

	for ; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}

		b.WriteByte(c)
	}

	return b.String()
}

const (
	accented = "àáâãäåāăąçćĉċčďđèéêëēĕėęěĝğġģĥħìíîïĩīĭįıĵķĺļľŀłñńņňòóôõöøōŏőŕŗřśŝşšșţťŧțùúûüũūŭůűųŵýÿŷźżžẁẃẅỳ"
	plain    = "aaaaaaaaacccccddeeeeeeeeegggghhiiiiiiiiijklllllnnnnooooooooorrrsssssttttuuuuuuuuuuwyyyzzzwwwy"
)

// unaccented maps each letter of accented to the one at the same place in plain.
var unaccented = func() map[rune]byte {
	m := make(map[rune]byte, len(plain))

	i := 0
	for _, r := range accented {
		m[r] = plain[i]
		i++
	}

	return m
}()

// Fold converts a text to the form in which it is compared: lower case without
// diacritics, æ as ae and ß as ss.
func Fold(s string) string {
	var b strings.Builder
	for _, r := range s {
		r = unicode.ToLower(r)
		switch p, ok := unaccented[r]; {
		case ok:
			b.WriteByte(p)
		case r == 'æ':
			b.WriteString("ae")
		case r == 'œ':
			b.WriteString("oe")
		case r == 'ß':
			b.WriteString("ss")
		case unicode.Is(unicode.Mn, r):
		default:
			b.WriteRune(r)
		}
	}

	return b.String()
}
