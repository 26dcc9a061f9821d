package search

import (
	_ "embed" // for vocabulary.txt
	"slices"
	"strings"
	"sync"
)

//go:embed vocabulary.txt
var embedded string

// The vocabulary consists of concepts: roles, specialties, grades and so on. Each has names, which are called forms,
// and links to other concepts, such as the more general role. A form that several concepts have is ambiguous; its
// readings are the meanings that it can have.

// Kind is the subject of a concept.
type Kind uint8

// The kinds of concepts.
const (
	Role Kind = iota + 1
	Specialty
	Grade
	Setting
	Contract
	Hours
	Shift
	Experience
	Filler // words of a question that describe no job
)

// kinds maps the words that begin lines of the vocabulary to kinds.
var kinds = map[string]Kind{
	"role": Role, "spec": Specialty, "grade": Grade, "setting": Setting, "contract": Contract,
	"hours": Hours, "shift": Shift, "experience": Experience, "filler": Filler,
}

// String returns the word that begins the lines of the kind.
func (k Kind) String() string {
	for word, kind := range kinds {
		if kind == k {
			return word
		}
	}

	return "unknown"
}

// Concept is a role, a specialty or another subject with all its names. Concepts must not
// be changed.
type Concept struct {
	// ID is stable: it is stored with adverts and in saved searches.
	ID   string
	Kind Kind
	// Label is the name for display, the first form.
	Label string
	// Forms are the names, as the vocabulary writes them.
	Forms []string
	// Broad concepts do not relate their children to each other.
	Broad bool
	// Generic roles (assistant, officer) weigh less than a full name, and the words
	// before them in a title are only modifiers.
	Generic bool
	// Leads marks roles such as team leader: the words before them in a title are a
	// second choice.
	Leads bool
	// Same is the role that this one is, together with Implied: a urologist is
	// a doctor in urology. It is nil for most concepts.
	Same *Concept
	// Implied are concepts that come with this one, such as the specialty of a
	// role.
	Implied []*Concept
	// Parents are the concepts under which this one is found too.
	Parents []Link
	// Related are the concepts that a search for this one may also return.
	Related []Link

	line      source
	links     []linkLine
	ancestors []Link // every concept above this one, with strength 1 if second choices are not on the way
	children  []*Concept
}

// Link leads to another concept.
type Link struct {
	To *Concept
	// Strength is 1 if a search for one concept should find the other as well and near 0
	// if they have little in common.
	Strength float64
}

// IsA reports whether the concept is other or one below it: a staff nurse is a nurse. Parents
// that are only a second choice do not count.
func (c *Concept) IsA(other *Concept) bool {
	if c == other {
		return true
	}

	for _, a := range c.ancestors {
		if a.To == other && a.Strength == 1 {
			return true
		}
	}

	return c.Same != nil && c.Same.IsA(other)
}

// isUnspecified reports whether the concept is the plain name of another:
// "unspecified-nurse" is a nurse without further qualification.
func (c *Concept) isUnspecified() bool {
	return c.Same != nil && strings.HasPrefix(c.ID, "unspecified-")
}

// Means returns the conditions of a query for this concept. A listing must satisfy all of them. For most
// concepts, this is the concept itself. For a concept with Same, such as urologist, these are the role in
// Same and the implied concepts: doctor and urology.
func (c *Concept) Means() []*Concept {
	if c.Same == nil {
		return []*Concept{c}
	}

	return append(c.Same.Means(), c.Implied...)
}

// Siblings returns the concepts that have a parent in common with this one,
// unless the parent is broad.
func (c *Concept) Siblings() []*Concept {
	var siblings []*Concept
	for _, parent := range c.Parents {
		isSecondChoice := parent.Strength < 1
		if parent.To.Broad || isSecondChoice {
			continue
		}

		for _, child := range parent.To.children {
			if child != c {
				siblings = append(siblings, child)
			}
		}
	}

	return siblings
}

// IsKin reports whether one of two concepts is above the other or both have a
// parent in common that is not broad.
func (c *Concept) IsKin(other *Concept) bool {
	c, other = c.base(), other.base()
	if c.IsA(other) || other.IsA(c) {
		return true
	}

	for _, p := range c.Parents {
		for _, q := range other.Parents {
			areCertain := p.Strength == 1 && q.Strength == 1 // no second choices
			if p.To == q.To && !p.To.Broad && areCertain {
				return true
			}
		}
	}

	return false
}

// base returns the concept that this one stands for, which is the concept itself in most cases. A urologist is a doctor
// in urology (see Same), so that its base is doctor.
func (c *Concept) base() *Concept {
	for c.Same != nil {
		c = c.Same
	}

	return c
}

// Form is a name of one concept or, with readings, of several.
type Form struct {
	// Text is the form as the vocabulary writes it.
	Text string
	// Words is how many words it has.
	Words int
	// Capitals is set for abbreviations that mean something else in lower
	// case: in adverts they count only in capitals.
	Capitals bool
	// Readings are the meanings of the form, the likeliest first. A form with one meaning
	// has one reading without conditions.
	Readings []Reading

	hasReadLine bool // a read line defines the readings
}

// Match is a form found at tokens Start to End, exclusive.
type Match struct {
	Start, End int
	Form       *Form
}

// Vocabulary contains the concepts and finds their forms. It is immutable and safe for
// concurrent use.
type Vocabulary struct {
	version  string
	concepts []*Concept
	byID     map[string]*Concept
	forms    []*Form
	trie     trie
	problems []Problem
	sorted   []sortedForm

	annotators sync.Pool // of *annotator, for their buffers
}

// Load parses the embedded vocabulary and the additions of an operator, later
// ones over earlier ones. It fails if a line cannot be parsed or Lint finds a
// problem; the error names the lines.
func Load(additions ...Source) (*Vocabulary, error) {
	v, err := Parse(append([]Source{{Name: "vocabulary.txt", Text: embedded}}, additions...)...)
	if err != nil {
		return nil, err
	}

	return v, joinProblems(v.Lint())
}

// Version identifies the content of the vocabulary.
func (v *Vocabulary) Version() string { return v.version }

// Concepts returns all concepts in the order of the vocabulary.
func (v *Vocabulary) Concepts() []*Concept { return v.concepts }

// Concept returns the concept with an id, or nil.
func (v *Vocabulary) Concept(id string) *Concept { return v.byID[id] }

// Forms returns all forms in the order of the vocabulary.
func (v *Vocabulary) Forms() []*Form { return v.forms }

// Form returns the form whose words are those of the text, or nil.
func (v *Vocabulary) Form(text string) *Form {
	words := v.Words(Tokens(text))
	for _, m := range v.Matches(nil, words, 0) {
		if m.End == len(words) {
			return m.Form
		}
	}

	return nil
}

// Label returns the display name of a concept, or the id if it is unknown.
func (v *Vocabulary) Label(id string) string {
	if c := v.byID[id]; c != nil {
		return c.Label
	}

	return id
}

// Words are the tokens of a text with their numbers in the vocabulary.
type Words []word

// word is one token of Words.
type word struct {
	id  int32 // 0 if no form contains the word
	gap gap   // before the word
}

// gap is how strongly two words are separated.
type gap uint8

const (
	gapNone  gap = iota // a space or a hyphen inside a compound
	gapSlash            // between alternatives
	gapBreak            // a comma, a bracket, a dash: the end of a phrase
)

// Words looks up tokens, once for all calls of Matches.
func (v *Vocabulary) Words(tokens []Token) Words {
	return v.appendWords(make(Words, 0, len(tokens)), tokens)
}

// appendWords is Words that appends to dst, to reuse its memory.
func (v *Vocabulary) appendWords(dst Words, tokens []Token) Words {
	for i := range tokens {
		id := v.trie.words[Normalize(tokens[i].Word)]
		// A number with a plus, such as ST3+, is also a use of the word without the plus.
		if id == 0 {
			if withoutPlus, hasPlus := strings.CutSuffix(tokens[i].Word, "+"); hasPlus {
				id = v.trie.words[withoutPlus]
			}
		}

		dst = append(dst, word{id: id, gap: gapOf(tokens[i].Gap)})
	}

	return dst
}

// gapOf classifies the text between two words. Any other character than the listed ones is a break.
func gapOf(between string) gap {
	if between == " " || between == "" { // most gaps
		return gapNone
	}

	hasSlash := false
	for _, r := range between {
		switch r {
		case ' ', '\t', '\u00a0', '\'', '’', '&', '+', '*', '"', '“', '”': // separate no phrases
		case '-', '‑':
			if len(between) > 1 { // with spaces around it, it is a dash
				return gapBreak
			}
		case '/':
			hasSlash = true
		default:
			return gapBreak
		}
	}

	if hasSlash {
		return gapSlash
	}

	return gapNone
}

// Matches appends the forms that begin at word i, the shortest first. No form
// reaches over a break between phrases.
func (v *Vocabulary) Matches(dst []Match, words Words, i int) []Match {
	node := int32(0) // the root
	for j := i; j < len(words); j++ {
		w := words[j]

		followsBreak := j > i && w.gap == gapBreak
		if w.id == 0 || followsBreak {
			break
		}

		next, ok := v.trie.step(node, w.id)
		if !ok {
			break
		}

		node = next
		if f := v.trie.forms[node]; f != nil {
			dst = append(dst, Match{Start: i, End: j + 1, Form: f})
		}
	}

	return dst
}

// trie finds forms word by word. Words and nodes have numbers. The node of a form is reached from the root, node 0, by
// following its words.
type trie struct {
	words map[string]int32 // the numbers of normalized words, from 1; 0 is no word
	first []int32          // by the number of a word: the node to which it leads from the root, 0 for none
	edges map[uint64]int32 // by the key of a node and a word (see edge): the node to which it leads from there
	forms []*Form          // by node: the form that ends there, nil for none
}

// newTrie returns an empty trie, with the root and with the number 0 for no word.
func newTrie() trie {
	return trie{words: map[string]int32{}, first: []int32{0}, edges: map[uint64]int32{}, forms: []*Form{nil}}
}

// step returns the node after a node by a word, and false if there is none. Most steps begin at the root, whose
// edges are in a slice because it is faster than a map.
func (t *trie) step(node, word int32) (int32, bool) {
	if node == 0 {
		n := t.first[word]
		return n, n != 0
	}

	n, ok := t.edges[edge(node, word)]

	return n, ok
}

// edge returns the key of a node and a word in trie.edges.
func edge(node, word int32) uint64 { return uint64(uint32(node))<<32 | uint64(uint32(word)) }

// insert adds a form under normalized words. It returns the form that already has
// these words, or else the given one.
func (t *trie) insert(words []string, f *Form) *Form {
	node := int32(0)
	for _, w := range words {
		id, ok := t.words[w]
		if !ok {
			id = int32(len(t.first))
			t.words[w] = id
			t.first = append(t.first, 0)
		}

		next, ok := t.step(node, id)
		if !ok {
			next = int32(len(t.forms))

			t.forms = append(t.forms, nil)
			if node == 0 {
				t.first[id] = next
			} else {
				t.edges[edge(node, id)] = next
			}
		}

		node = next
	}

	if t.forms[node] == nil {
		t.forms[node] = f
	}

	return t.forms[node]
}

// normalized returns the normalized words of a form.
func normalized(form string) []string {
	var out []string
	for _, t := range Tokens(form) {
		out = append(out, Normalize(t.Word))
	}

	return out
}

// compounds are words that are written as one or as two.
var compounds = map[string][2]string{
	"healthcare": {"health", "care"}, "homecare": {"home", "care"}, "daycare": {"day", "care"},
	"childcare": {"child", "care"}, "aftercare": {"after", "care"}, "postnatal": {"post", "natal"},
	"antenatal": {"ante", "natal"}, "prenatal": {"pre", "natal"}, "perinatal": {"peri", "natal"},
	"telehealth": {"tele", "health"}, "audiovisual": {"audio", "visual"}, "freelance": {"free", "lance"},
	"weekend": {"week", "end"}, "multidisciplinary": {"multi", "disciplinary"}, "daytime": {"day", "time"},
}

// variants returns other ways to write the normalized words of a form: with a compound as two words, and the plural of an
// abbreviation.
func variants(words []string) [][]string {
	var all [][]string
	for i, w := range words {
		if parts, ok := compounds[w]; ok {
			all = append(all, slices.Concat(words[:i], parts[:], words[i+1:]))
		}
	}

	isAbbreviation := len(words) == 1 && len(words[0]) == 2
	if isAbbreviation && !wordsWithS[words[0]] { // Normalize leaves the s of words of three letters: gps
		all = append(all, []string{words[0] + "s"})
	}

	return all
}

// wordsWithS are the words of two letters that become another word with an s: ha becomes has.
var wordsWithS = wordSet("ha wa hi it ga bu ye pa mr")
