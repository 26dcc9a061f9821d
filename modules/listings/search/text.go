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

// Tokens divides a text into words. The characters & + / and . are part of a short word that contains
// them, such as T&O, ST3+, 5/6, R.D. and 37.5. In all other places, they separate words. A single
// ampersand between spaces is the word "and".
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

// scanner iterates over the tokens of a text. Most words are a run of letters and digits, for which its methods allocate
// nothing. The rarer words that contain other characters, such as T&O and R.D., are joined from several runs.
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
			s.read(i)

			if s.word != "" {
				return true
			}

			i = s.end // it was a combining accent without a letter
		case c == '&':
			s.start = i
			s.end = i + 1
			s.word = "and"
			s.capitals = false

			return true
		case c < utf8.RuneSelf:
			i++
		default: // another character, of several bytes
			_, n := utf8.DecodeRuneInString(s.text[i:])
			i += n
		}
	}

	return false
}

// read reads the token that starts at i. Its word stays empty if it has only combining accents.
func (s *scanner) read(i int) {
	s.start = i
	end, isASCII := s.run(i)

	s.end = end
	if isASCII && !s.mayJoin(end) {
		s.word = s.lower[i:end]
	} else {
		s.readJoined(i, isASCII)
	}

	s.capitals = false
	if mayBeCapitals(s.text[i:s.end]) {
		s.setCapitals()
	}
}

// mayBeCapitals is a quick check that excludes most words from setCapitals. A word that begins with a small letter is no
// abbreviation in capitals, and neither is one whose second letter is small. In ASCII, small letters come after all
// capitals and digits, so that one comparison is enough.
func mayBeCapitals(surface string) bool {
	beginsSmall := surface[0] >= 'a'
	isOther := surface[0] >= utf8.RuneSelf // not ASCII

	return isOther || !beginsSmall && len(surface) > 1 && surface[1] < 'a'
}

// mayJoin reports whether the word of which a run of letters ends at end may go on after another character. It is a quick
// check that excludes most words from readJoined.
func (s *scanner) mayJoin(end int) bool {
	if end+1 >= len(s.text) {
		return end < len(s.text) && (s.text[end] == '+' || s.text[end] == '.')
	}

	switch next := s.text[end+1]; s.text[end] {
	case '\'', '.', ',', '/', '-', '&':
		return next >= utf8.RuneSelf || wordBytes[next] || s.text[end] == '.'
	case ' ':
		return next == '&' && end == s.start+1
	case '+', firstByteOfQuote:
		return true
	}

	return false
}

// firstByteOfQuote is the first byte of the apostrophe ’.
const firstByteOfQuote = '\xe2'

// run returns the end of the run of letters and digits that starts at i, and whether all of them are ASCII.
func (s *scanner) run(i int) (end int, isASCII bool) {
	isASCII = true
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

		isASCII = false
		i += n
	}

	return i, isASCII
}

// readJoined reads the rest of a word that may contain other characters than letters and digits. The word begins at start.
// Its first run of letters has been read already, and isASCII is true if that run is ASCII.
func (s *scanner) readJoined(start int, isASCII bool) {
	firstEnd := s.end

	// The word is copied when a part is joined to it, since it then differs from the text.
	var joined []byte
	isJoined := false
	add := func(between, part string) {
		if !isJoined {
			joined = append(joined, s.lower[start:firstEnd]...)
			isJoined = true
		}

		joined = append(joined, between...)
		joined = append(joined, part...)
	}

	for partStart := start; ; {
		j := s.join(start, partStart, s.end)
		if j.next == 0 {
			break
		}

		if !j.hasPart { // the word ends with the character
			add(j.between, "")

			s.end = j.next
			break
		}

		partEnd, isPartASCII := s.run(j.next)
		isASCII = isASCII && isPartASCII

		add(j.between, s.lower[j.next:partEnd])

		partStart, s.end = j.next, partEnd
	}

	s.word = s.lower[start:s.end]
	if isJoined {
		s.word = string(joined)
	}

	if !isASCII {
		s.word = Fold(s.word)
	}
}

// join is how a word continues after a run of letters and digits, the last part of the word.
type join struct {
	next    int    // where the text continues after the character that joins, 0 if the word ends
	between string // what Token.Word has for that character, often nothing
	hasPart bool   // another part of the word follows at next
}

// join decides whether the word that starts at wordStart, and whose last part is text[partStart:end], continues.
func (s *scanner) join(wordStart, partStart, end int) join {
	if end >= len(s.text) {
		return join{}
	}

	part := s.lower[partStart:end]
	switch s.text[end] {
	case '\'', firstByteOfQuote:
		return s.joinApostrophe(end)
	case '.':
		return s.joinPoint(wordStart, part, end)
	case ',':
		nextEnd, _ := s.run(end + 1)

		areThousands := nextEnd == end+1+len("000") && digits(part) && digits(s.lower[end+1:nextEnd])
		if areThousands {
			return join{next: end + 1, hasPart: true} // 45,000
		}
	case '&':
		nextEnd, _ := s.run(end + 1)
		nextLength := nextEnd - (end + 1)

		areShort := len(part) <= 2 && nextLength >= 1 && nextLength <= 2
		if areShort && !digits(part) {
			return join{next: end + 1, between: "&", hasPart: true} // T&O
		}
	case ' ':
		if len(part) == 1 && s.loneAmpersand(end) && !digits(part) {
			return join{next: end + len(" & "), between: "&", hasPart: true} // T & O
		}
	case '/':
		if s.joinsSlash(part, end) {
			return join{next: end + 1, between: "/", hasPart: true} // 5/6, F/T
		}
	case '+':
		if digit(part[len(part)-1]) {
			return join{next: end + 1, between: "+"} // ST3+
		}
	case '-':
		if part == "co" && strings.HasPrefix(s.lower[end+1:], "o") {
			return join{next: end + 1, hasPart: true} // co-ordinator
		}
	}

	return join{}
}

// joinApostrophe handles the apostrophe at end. It drops the apostrophe of O'Neill, and with a possessive s the s as well.
func (s *scanner) joinApostrophe(end int) join {
	var width int
	switch {
	case s.text[end] == '\'':
		width = 1
	case strings.HasPrefix(s.text[end:], "’"):
		width = len("’")
	default: // another character with the same first byte
		return join{}
	}

	next := end + width

	nextEnd, _ := s.run(next)
	switch {
	case nextEnd == next: // no letter follows
		return join{}
	case s.lower[next:nextEnd] == "s":
		return join{next: nextEnd}
	}

	return join{next: next, hasPart: true}
}

// joinPoint handles the point at end. It joins decimals (37.5) and the letters of abbreviations (R.D., B.Sc.), whose
// points Token.Word lacks.
func (s *scanner) joinPoint(wordStart int, part string, end int) join {
	nextEnd, _ := s.run(end + 1)
	follows := s.lower[end+1 : nextEnd]

	hasPoint := strings.IndexByte(s.text[wordStart:end], '.') >= 0 // already, before this one
	switch {
	case digits(part):
		isDecimal := follows != "" && digits(follows) && !hasPoint
		if isDecimal {
			return join{next: end + 1, between: ".", hasPart: true}
		}
	case follows == "":
		if hasPoint { // the last point of an abbreviation
			return join{next: end + 1}
		}
	case len(part) == 1 && len(follows) <= 3 && !digits(follows), part == "ph" && follows == "d":
		return join{next: end + 1, hasPart: true}
	}

	return join{}
}

// joinsSlash reports whether the slash at end joins two short parts: numbers
// (5/6, 8a/8b) or letters (F/T).
func (s *scanner) joinsSlash(part string, end int) bool {
	nextEnd, _ := s.run(end + 1)

	follows := s.lower[end+1 : nextEnd]
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

	letter := i + len(" & ")
	end, _ := s.run(letter)

	return end == letter+1 && !digits(s.lower[letter:end])
}

// setCapitals sets capitals if the current token is an abbreviation in capitals. It drops the s of a plural such as GPs
// from the word.
func (s *scanner) setCapitals() {
	letters, upper := 0, 0 // the number of letters, and of capitals among them

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

	endsInSmallS := upper >= 2 && upper == letters-1 && surface[len(surface)-1] == 's' // GPs, or GP's

	isPossessive := endsInSmallS && len(surface) > len(s.word) // the word has no s any more
	if endsInSmallS && !isPossessive {
		s.word = s.word[:len(s.word)-1]
	}

	hasOnlyCapitals := upper > 0 && upper == letters
	s.capitals = endsInSmallS || hasOnlyCapitals && len(s.word) >= 2
}

// letterOrDigit returns how many bytes the letter, digit or combining accent at i has. It returns 0 if another character
// is there.
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

// wordBytes contains, for each ASCII character, whether it is a letter or digit.
var wordBytes = func() (isWord [utf8.RuneSelf]bool) {
	for c := range isWord {
		isWord[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}

	return isWord
}()

// digit reports whether c is an ASCII digit.
func digit(c byte) bool { return '0' <= c && c <= '9' }

// digits reports whether s consists of ASCII digits and is not empty.
func digits(s string) bool {
	for i := range len(s) {
		if !digit(s[i]) {
			return false
		}
	}

	return s != ""
}

// LowerASCII converts the ASCII letters to lower case and leaves every other
// byte as it is and where it is.
func LowerASCII(s string) string {
	firstUpper := 0
	for firstUpper < len(s) && (s[firstUpper] < 'A' || s[firstUpper] > 'Z') {
		firstUpper++
	}

	if firstUpper == len(s) { // nothing to convert, and nothing to allocate
		return s
	}

	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:firstUpper])

	for i := firstUpper; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}

		b.WriteByte(c)
	}

	return b.String()
}

// The accented letters that Fold replaces, and under each its letter without the accent.
const (
	accented = "àáâãäåāăąçćĉċčďđèéêëēĕėęěĝğġģĥħìíîïĩīĭįıĵķĺļľŀłñńņňòóôõöøōŏőŕŗřśŝşšșţťŧțùúûüũūŭůűųŵýÿŷźżžẁẃẅỳ"
	unmarked = "aaaaaaaaacccccddeeeeeeeeegggghhiiiiiiiiijklllllnnnnooooooooorrrsssssttttuuuuuuuuuuwyyyzzzwwwy"
)

// unaccented maps each letter of accented to the one at the same place in unmarked.
var unaccented = func() map[rune]byte {
	m := make(map[rune]byte, len(unmarked))

	i := 0
	for _, r := range accented {
		m[r] = unmarked[i]
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
		case unicode.Is(unicode.Mn, r): // a combining accent, which is dropped
		default:
			b.WriteRune(r)
		}
	}

	return b.String()
}
