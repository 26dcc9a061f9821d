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

// node is one value of a parsed document. The nodes after it, up to the index end, are its
// members or items.
type node struct {
	kind  byte   // the first byte of the value
	raw   []byte // the value as it was sent
	name  string // name of the member, in an object
	index int    // index of the item, in an array
	end   int    // index after the last node inside this one
}

// document is a parsed JSON value, in the order of the text. The first node is the root.
type document []node

// children calls fn with the numbers of the members or items of node n.
func (d document) children(n int, fn func(n int)) {
	for c := n + 1; c < d[n].end; c = d[c].end {
		fn(c)
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

	if p.skipSpace(); p.pos < len(body) {
		return nil, fault.InvalidField("body", "must be one JSON value")
	}

	return p.nodes, nil
}

// parser is a parser of JSON (RFC 8259) with limits. parents are the nodes around the current
// one.
type parser struct {
	body    []byte
	pos     int
	nodes   document
	tokens  int
	parents []int
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
	if p.skipSpace(); p.pos < len(p.body) {
		return p.body[p.pos]
	}

	return 0
}

// count counts a token.
func (p *parser) count() error {
	if p.tokens++; p.tokens > maxTokens {
		return fault.InvalidField("body", fmt.Sprintf("must have at most %d JSON tokens", maxTokens))
	}

	return nil
}

// value reads a value with its name in an object or its index in an array.
func (p *parser) value(name string, index int) (err error) {
	if err := p.count(); err != nil {
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

		p.parents = append(p.parents, n)
		if p.pos++; kind == '{' {
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

// object reads the members of an object after its brace. Names must be unique: programs differ
// in which of two values they use.
func (p *parser) object() error {
	var seen map[string]struct{}
	for first := true; ; first = false {
		c := p.peek()
		if first && c == '}' {
			break
		}

		if c != '"' {
			return errMalformed
		}

		if err := p.count(); err != nil {
			return err
		}

		raw, err := p.text()
		if err != nil {
			return err
		}

		name, err := unquote(raw)
		if err != nil {
			return errMalformed
		}

		if seen == nil {
			seen = map[string]struct{}{}
		}

		if _, repeated := seen[name]; repeated {
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

		c = p.peek()
		if c == '}' {
			break
		}

		if c != ',' {
			return errMalformed
		}

		if p.pos++; p.peek() != '"' {
			return errMalformed
		}
	}

	p.pos++

	return p.count()
}

// array reads the items of an array after its bracket.
func (p *parser) array() error {
	for i := 0; ; i++ {
		if p.peek() == ']' && i == 0 {
			break
		}

		if err := p.value("", i); err != nil {
			return err
		}

		c := p.peek()
		if c == ']' {
			break
		}

		if c != ',' {
			return errMalformed
		}

		p.pos++
	}

	p.pos++

	return p.count()
}

// literal reads true, false or null.
func (p *parser) literal(text string) error {
	if !bytes.HasPrefix(p.body[p.pos:], []byte(text)) {
		return errMalformed
	}

	p.pos += len(text)

	return nil
}

// text reads a string and returns it in quotes.
func (p *parser) text() ([]byte, error) {
	start := p.pos
	for p.pos++; p.pos < len(p.body); p.pos++ {
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

// escape reads an escape sequence up to its last byte. A surrogate pair is one sequence.
func (p *parser) escape() error {
	if p.pos++; p.pos == len(p.body) {
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
	case unit >= 0xd800 && unit < 0xdc00:
		if low, ok := p.hex(p.pos + 3); ok && p.body[p.pos+1] == '\\' && p.body[p.pos+2] == 'u' && low >= 0xdc00 && low < 0xe000 {
			p.pos += 6
			return nil
		}

		fallthrough
	case unit >= 0xdc00 && unit < 0xe000:
		return fault.InvalidField("body", "must not contain lone surrogates")
	}

	return nil
}

// hex parses the four hexadecimal digits at i.
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

// number reads the number of node n.
func (p *parser) number(n int) error {
	start := p.pos
	digits := func() bool {
		from := p.pos
		for p.pos < len(p.body) && p.body[p.pos] >= '0' && p.body[p.pos] <= '9' {
			p.pos++
		}

		return p.pos > from
	}

	next := func(of string) bool {
		if p.pos < len(p.body) && strings.IndexByte(of, p.body[p.pos]) >= 0 {
			p.pos++
			return true
		}

		return false
	}

	next("-")

	if !next("0") && !digits() {
		return errMalformed
	}

	if next(".") && !digits() {
		return errMalformed
	}

	exponent := next("eE")
	if exponent {
		next("+-")

		if !digits() {
			return errMalformed
		}
	}

	if exponent || p.pos-start > 300 { // shorter numbers without an exponent cannot overflow
		if _, err := strconv.ParseFloat(string(p.body[start:p.pos]), 64); err != nil {
			return fault.InvalidField(p.path(n), "must be a number of at most 64 bits")
		}
	}

	return nil
}

// path returns the path of the current node, such as questions.0.text.
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

	var out string
	err := json.Unmarshal(raw, &out)

	return out, err
}

// clip shortens input that an error message contains.
func clip(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64])
	}

	return s
}
