package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
)

// The limits of a JSON body.
const (
	// maxDepth is the maximum number of objects and arrays that contain each other.
	maxDepth = 32
	// maxTokens is the maximum number of tokens. A token is a name, a scalar value, or the beginning
	// or end of an object or array.
	maxTokens = 50_000
)

// document is a parsed JSON value. It has a node for each value in the text: for the whole value,
// for its members or items, for their members or items, and so on. The nodes have the order in
// which the values begin, so the descendants of a node directly follow the node.
type document []node

// node is one value of a document.
type node struct {
	kind  byte   // the first byte of the value, such as { or a digit
	raw   []byte // the value as it was sent
	name  string // name of the member, if the value is a member of an object
	index int    // index of the item, if the value is an item of an array
	end   int    // index in the document after the last descendant of this node
}

// rootNode is the index of the node that is the whole value.
const rootNode = 0

// children calls fn with the index of each member or item of node n, but not of their descendants.
func (d document) children(n int, fn func(child int)) {
	for child := n + 1; child < d[n].end; child = d[child].end {
		fn(child)
	}
}

// parseJSON parses a body in one pass. It rejects what parsers interpret differently and
// what databases cannot store: invalid UTF-8, lone surrogates, NUL, duplicate names in
// an object, numbers beyond 64 bits, and text after the value. For a body that is empty or consists
// of white space, it returns nil.
func parseJSON(body []byte) (document, error) {
	p := parser{body: body}
	p.skipSpace()

	if p.pos == len(body) {
		return nil, nil
	}

	if !utf8.Valid(body) {
		return nil, fault.InvalidField("body", "must be valid UTF-8")
	}

	if err := p.value(noName, noIndex); err != nil {
		return nil, err
	}

	p.skipSpace()

	if p.pos < len(body) {
		return nil, fault.InvalidField("body", "must be one JSON value")
	}

	return p.nodes, nil
}

// parser parses JSON (RFC 8259). Each of its methods that read something begins at pos, and ends at the
// byte after what it has read.
type parser struct {
	body    []byte
	pos     int // index in body of the next byte to read
	nodes   document
	tokens  int   // number of tokens so far
	parents []int // indexes in nodes of the objects and arrays that contain the current value
}

// The name of a value that is not a member of an object, and the index of one that is not an item.
const (
	noName  = ""
	noIndex = 0
)

// errMalformed is the error of a text that is not JSON.
var errMalformed = fault.InvalidField("body", "must be well-formed JSON")

// skipSpace skips white space.
func (p *parser) skipSpace() {
	for p.pos < len(p.body) {
		switch p.body[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// peek skips white space, and returns the next byte without reading it. It returns 0 at the end.
func (p *parser) peek() byte {
	p.skipSpace()

	if p.pos < len(p.body) {
		return p.body[p.pos]
	}

	return 0
}

// countToken counts a token, and returns an error if there are more than maxTokens.
func (p *parser) countToken() error {
	p.tokens++
	if p.tokens > maxTokens {
		return fault.InvalidField("body", fmt.Sprintf("must have at most %d JSON tokens", maxTokens))
	}

	return nil
}

// value reads a value and adds its node to nodes. For a member of an object, name is its name. For an
// item of an array, index is its index.
func (p *parser) value(name string, index int) (err error) {
	if err := p.countToken(); err != nil {
		return err
	}

	kind := p.peek()
	start := p.pos
	n := len(p.nodes)

	// The node is added before its descendants. Its raw text and its end are set after them.
	p.nodes = append(p.nodes, node{kind: kind, name: name, index: index})

	switch kind {
	case '{', '[':
		if len(p.parents) == maxDepth {
			return fault.InvalidField("body", fmt.Sprintf("must not be nested deeper than %d levels", maxDepth))
		}

		p.pos++
		p.parents = append(p.parents, n)

		if kind == '{' {
			err = p.object()
		} else {
			err = p.array()
		}

		p.parents = p.parents[:len(p.parents)-1]
	case '"':
		_, err = p.text()
	case 't':
		err = p.literal("true")
	case 'f':
		err = p.literal("false")
	case 'n':
		err = p.literal("null")
	default:
		err = p.number(n)
	}

	p.nodes[n].raw = p.body[start:p.pos:p.pos] // without capacity, so that append cannot write to body
	p.nodes[n].end = len(p.nodes)

	return err
}

// object reads the members of an object after its opening brace, and the closing brace. Names must
// be unique: programs differ in which of two values they use.
func (p *parser) object() error {
	if p.peek() == '}' {
		p.pos++
		return p.countToken()
	}

	names := map[string]struct{}{} // of the members so far
	for {
		name, err := p.memberName()
		if err != nil {
			return err
		}

		if _, isRepeated := names[name]; isRepeated {
			return fault.InvalidField(clip(name), "must be unique in its object")
		}

		names[name] = struct{}{}

		if p.peek() != ':' {
			return errMalformed
		}

		p.pos++
		if err := p.value(name, noIndex); err != nil {
			return err
		}

		switch p.peek() {
		case '}':
			p.pos++
			return p.countToken()
		case ',':
			p.pos++
		default:
			return errMalformed
		}
	}
}

// memberName reads the name of a member of an object.
func (p *parser) memberName() (string, error) {
	if p.peek() != '"' {
		return "", errMalformed
	}

	if err := p.countToken(); err != nil {
		return "", err
	}

	raw, err := p.text()
	if err != nil {
		return "", err
	}

	name, err := unquote(raw)
	if err != nil {
		return "", errMalformed
	}

	return name, nil
}

// array reads the items of an array after its opening bracket, and the closing bracket.
func (p *parser) array() error {
	if p.peek() == ']' {
		p.pos++
		return p.countToken()
	}

	for i := 0; ; i++ {
		if err := p.value(noName, i); err != nil {
			return err
		}

		switch p.peek() {
		case ']':
			p.pos++
			return p.countToken()
		case ',':
			p.pos++
		default:
			return errMalformed
		}
	}
}

// literal reads the text, which is true, false or null.
func (p *parser) literal(text string) error {
	if !bytes.HasPrefix(p.body[p.pos:], []byte(text)) {
		return errMalformed
	}

	p.pos += len(text)

	return nil
}

// text reads a string and returns it as it was sent, with its quotes and escapes.
func (p *parser) text() ([]byte, error) {
	start := p.pos
	for p.pos++; p.pos < len(p.body); p.pos++ { // from the byte after the opening quote
		switch c := p.body[p.pos]; {
		case c == '"':
			p.pos++
			return p.body[start:p.pos], nil
		case c < ' ':
			return nil, errMalformed
		case c == '\\':
			if err := p.escape(); err != nil {
				return nil, err
			}
		}
	}

	return nil, errMalformed
}

// escape reads an escape sequence from its backslash. Unlike other methods, it leaves pos at the last
// byte of the sequence, because the loop in text skips that byte. A surrogate pair, two sequences such
// as \ud83d\ude00 for one character beyond U+FFFF, is read as one sequence.
func (p *parser) escape() error {
	p.pos++
	if p.pos == len(p.body) {
		return errMalformed
	}

	if p.body[p.pos] != 'u' {
		if !strings.ContainsRune(`"\/bfnrt`, rune(p.body[p.pos])) {
			return errMalformed
		}

		return nil
	}

	unit, isHex := p.hex(p.pos + 1)
	if !isHex {
		return errMalformed
	}

	p.pos += hexDigits

	switch {
	case unit == 0:
		return fault.InvalidField("body", "must not contain NUL characters")
	case isHighSurrogate(unit) && p.lowSurrogateFollows():
		p.pos += len(`\uDC00`)
	case isHighSurrogate(unit), isLowSurrogate(unit):
		return fault.InvalidField("body", "must not contain lone surrogates")
	}

	return nil
}

// isHighSurrogate reports whether a code unit of UTF-16 is the first half of a surrogate pair (Unicode
// §3.8).
func isHighSurrogate(unit int) bool { return unit >= 0xd800 && unit < 0xdc00 }

// isLowSurrogate reports whether a code unit of UTF-16 is the second half of a surrogate pair.
func isLowSurrogate(unit int) bool { return unit >= 0xdc00 && unit < 0xe000 }

// lowSurrogateFollows reports whether the bytes after pos are the escape sequence of a low surrogate.
func (p *parser) lowSurrogateFollows() bool {
	if !bytes.HasPrefix(p.body[p.pos+1:], []byte(`\u`)) {
		return false
	}

	unit, isHex := p.hex(p.pos + 1 + len(`\u`))

	return isHex && isLowSurrogate(unit)
}

// hexDigits is the number of hexadecimal digits in an escape sequence such as \u00e9.
const hexDigits = 4

// hex parses the hexadecimal digits of an escape sequence, which begin at the given index of the body.
func (p *parser) hex(start int) (unit int, isHex bool) {
	if start+hexDigits > len(p.body) {
		return 0, false
	}

	const lowerCase = 0x20 // the bit that turns an upper-case letter of ASCII into lower case

	for _, c := range p.body[start : start+hexDigits] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|lowerCase >= 'a' && c|lowerCase <= 'f':
			c = (c | lowerCase) - 'a' + 10
		default:
			return 0, false
		}

		unit = unit<<4 | int(c)
	}

	return unit, true
}

// skipDigits skips decimal digits, and reports whether there was one.
func (p *parser) skipDigits() bool {
	start := p.pos
	for p.pos < len(p.body) && p.body[p.pos] >= '0' && p.body[p.pos] <= '9' {
		p.pos++
	}

	return p.pos > start
}

// skipOneOf skips the next byte if it is one of chars, and reports whether it is.
func (p *parser) skipOneOf(chars string) bool {
	if p.pos < len(p.body) && strings.IndexByte(chars, p.body[p.pos]) >= 0 {
		p.pos++
		return true
	}

	return false
}

// maxSafeLength is a length up to which a number without an exponent is always below the maximum of a
// float64, which has 309 digits.
const maxSafeLength = 300

// number reads a number, which is the value of node n.
func (p *parser) number(n int) error {
	start := p.pos
	p.skipOneOf("-")

	if !p.skipOneOf("0") && !p.skipDigits() {
		return errMalformed
	}

	if p.skipOneOf(".") && !p.skipDigits() {
		return errMalformed
	}

	hasExponent := p.skipOneOf("eE")
	if hasExponent {
		p.skipOneOf("+-")

		if !p.skipDigits() {
			return errMalformed
		}
	}

	mayOverflow := hasExponent || p.pos-start > maxSafeLength
	if mayOverflow {
		if _, err := strconv.ParseFloat(string(p.body[start:p.pos]), 64); err != nil {
			return fault.InvalidField(p.path(n), "must be a number of at most 64 bits")
		}
	}

	return nil
}

// path returns the path of node n, which is being read, for an error message. It consists of the names
// and indexes that lead to the node, such as questions.0.text. The path of the root is "body".
func (p *parser) path(n int) string {
	if len(p.parents) == 0 {
		return "body"
	}

	var steps []string

	belowRoot := slices.Concat(p.parents[1:], []int{n}) // the root has neither a name nor an index
	for _, ancestor := range belowRoot {
		if p.nodes[ancestor].name != "" {
			steps = append(steps, p.nodes[ancestor].name)
		} else {
			steps = append(steps, strconv.Itoa(p.nodes[ancestor].index))
		}
	}

	return cmp.Or(clip(strings.Join(steps, ".")), "body")
}

// unquote returns the text that a JSON string, with its quotes, stands for.
func unquote(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}

	var text string
	err := json.Unmarshal(raw, &text)

	return text, err
}

// clip shortens a text of the client to 64 characters, so that an error message can contain it.
func clip(text string) string {
	const maxLength = 64
	if runes := []rune(text); len(runes) > maxLength {
		return string(runes[:maxLength])
	}

	return text
}
