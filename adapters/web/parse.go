package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
)

// The limits of a JSON body. A token is a name, a scalar value, or the beginning
// or end of an object or array.
const (
	maxDepth  = 32
	maxTokens = 50_000
)

// node is one value of a parsed document. The nodes after it, up to the index end, are inside of
// it: its members or items, and theirs.
type node struct {
	kind  byte   // the first byte of the value
	raw   []byte // the value as it was sent
	name  string // name of the member, in an object
	index int    // index of the item, in an array
	end   int    // index after the last node inside this one
}

// document is a parsed JSON value, in the order of the text.
type document []node

// rootNode is the index of the node that is the whole value.
const rootNode = 0

// children calls fn with the indexes of the members or items of node n.
func (d document) children(n int, fn func(child int)) {
	for child := n + 1; child < d[n].end; child = d[child].end {
		fn(child)
	}
}

// parseJSON parses a body in one pass. It rejects what parsers interpret differently or
// what databases cannot store: invalid UTF-8, lone surrogates, NUL, duplicate names in
// an object, numbers beyond 64 bits, and text after the value. For a body of white space
// it returns nil.
func parseJSON(body []byte) (document, error) {
	p := parser{body: body}
	p.skipSpace()

	if p.pos == len(body) {
		return nil, nil
	}

	if !utf8.Valid(body) {
		return nil, fault.InvalidField("body", "must be valid UTF-8")
	}

	if err := p.value("", 0); err != nil {
		return nil, err
	}

	p.skipSpace()

	if p.pos < len(body) {
		return nil, fault.InvalidField("body", "must be one JSON value")
	}

	return p.nodes, nil
}

// parser is a parser of JSON (RFC 8259) that bounds the depth and the number of tokens.
type parser struct {
	body    []byte
	pos     int // of the next byte to read
	nodes   document
	tokens  int   // number of tokens so far
	parents []int // indexes of the objects and arrays that contain the current value
}

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

// peek skips white space and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	p.skipSpace()

	if p.pos < len(p.body) {
		return p.body[p.pos]
	}

	return 0
}

// countToken returns an error for a token above maxTokens.
func (p *parser) countToken() error {
	p.tokens++
	if p.tokens > maxTokens {
		return fault.InvalidField("body", fmt.Sprintf("must have at most %d JSON tokens", maxTokens))
	}

	return nil
}

// value reads a value and adds its node, which has the name for a member of an object and the
// index for an item of an array.
func (p *parser) value(name string, index int) (err error) {
	if err := p.countToken(); err != nil {
		return err
	}

	kind := p.peek()
	start := p.pos
	n := len(p.nodes)

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

	p.nodes[n].raw, p.nodes[n].end = p.body[start:p.pos:p.pos], len(p.nodes)

	return err
}

// object reads the members of an object after its opening brace, and the closing brace. Names must
// be unique: programs differ in which of two values they use.
func (p *parser) object() error {
	if p.peek() == '}' {
		p.pos++
		return p.countToken()
	}

	seen := map[string]struct{}{}
	for {
		name, err := p.memberName()
		if err != nil {
			return err
		}

		if _, isRepeated := seen[name]; isRepeated {
			return fault.InvalidField(clip(name), "must be unique in its object")
		}

		seen[name] = struct{}{}

		if p.peek() != ':' {
			return errMalformed
		}

		p.pos++
		if err := p.value(name, 0); err != nil {
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
		if err := p.value("", i); err != nil {
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

// escape reads an escape sequence, from its backslash up to its last byte, which stays the current
// one. A surrogate pair is one sequence.
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

	unit, ok := p.hex(p.pos + 1)
	if !ok {
		return errMalformed
	}

	p.pos += 4
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

// The code units of UTF-16 that are a half of a character (Unicode §3.8).
func isHighSurrogate(unit int) bool { return unit >= 0xd800 && unit < 0xdc00 }
func isLowSurrogate(unit int) bool  { return unit >= 0xdc00 && unit < 0xe000 }

// lowSurrogateFollows reports whether the next bytes are the escape sequence of a low surrogate.
func (p *parser) lowSurrogateFollows() bool {
	if !bytes.HasPrefix(p.body[p.pos+1:], []byte(`\u`)) {
		return false
	}

	unit, ok := p.hex(p.pos + 1 + len(`\u`))

	return ok && isLowSurrogate(unit)
}

// hex parses the four hexadecimal digits from the index i of the body.
func (p *parser) hex(i int) (n int, ok bool) {
	if i+4 > len(p.body) {
		return 0, false
	}

	for _, c := range p.body[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}

		n = n<<4 | int(c)
	}

	return n, true
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

// maxSafeDigits is a length at which a number without an exponent cannot exceed the maximum of a
// float64, which has 309 digits.
const maxSafeDigits = 300

// number reads the number of node n.
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

	if hasExponent || p.pos-start > maxSafeDigits {
		if _, err := strconv.ParseFloat(string(p.body[start:p.pos]), 64); err != nil {
			return fault.InvalidField(p.path(n), "must be a number of at most 64 bits")
		}
	}

	return nil
}

// path returns the path of node n, which is being read, such as questions.0.text. The path of the
// root is "body".
func (p *parser) path(n int) string {
	var steps []string
	for _, start := range append(p.parents, n)[min(1, len(p.parents)):] {
		if p.nodes[start].name != "" {
			steps = append(steps, p.nodes[start].name)
		} else {
			steps = append(steps, strconv.Itoa(p.nodes[start].index))
		}
	}

	if len(p.parents) == 0 {
		return "body"
	}

	return cmp.Or(clip(strings.Join(steps, ".")), "body")
}

// unquote returns the value of a JSON string.
func unquote(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}

	var text string
	err := json.Unmarshal(raw, &text)

	return text, err
}

// clip shortens input that an error message contains to 64 characters.
func clip(s string) string {
	const maxLength = 64
	if runes := []rune(s); len(runes) > maxLength {
		return string(runes[:maxLength])
	}

	return s
}
