package search

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A vocabulary is a text of lines. For example, the line "role ward-sister <nurse ~midwife:0.5 : ward sister; sister"
// defines a concept of the kind role with the id ward-sister. After the id follow its links to other concepts: "<nurse" to
// the more general concept, and "~midwife:0.5" to a related one with the strength 0.5. After the colon follow its names,
// which are called forms. A line "read sister …" decides between the readings of a form that several concepts have. The
// type Source describes the format in full.

// TestLoad_EmbeddedVocabulary_HasNoProblems checks that the embedded vocabulary has no contradictions, which Lint would
// report. It also checks that the vocabulary does not lose many concepts by accident: each minimum is a round number
// below the present number.
func TestLoad_EmbeddedVocabulary_HasNoProblems(t *testing.T) {
	t.Parallel()

	vocabulary, err := Parse(Source{Name: "vocabulary.txt", Text: embedded})
	require.NoError(t, err)
	assert.Empty(t, vocabulary.Lint())

	const minRoles, minNonClinicalRoles, minSpecialties, minForms = 350, 80, 200, 4000

	counts := vocabulary.Count()
	assert.GreaterOrEqual(t, counts.Concepts[Role], minRoles)
	assert.GreaterOrEqual(t, counts.Concepts[Specialty], minSpecialties)
	assert.GreaterOrEqual(t, counts.Forms, minForms)

	nonClinicalRoles := 0
	for _, concept := range vocabulary.Concepts() {
		if concept.Kind == Role && concept.IsA(vocabulary.Concept("non-clinical")) {
			nonClinicalRoles++
		}
	}

	assert.GreaterOrEqual(t, nonClinicalRoles, minNonClinicalRoles)
}

// TestLoad_EmbeddedVocabulary_FindsEveryForm checks that each form, a name of a concept, is found by its text. Another
// form with the same normalized words would hide it.
func TestLoad_EmbeddedVocabulary_FindsEveryForm(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	for _, form := range vocabulary.Forms() {
		assert.Same(t, form, vocabulary.Form(form.Text), form.Text)
	}
}

// TestParse_MalformedLine_NamesLineAndCause checks the error of a vocabulary that an operator adds. The error has the
// form "FILE:LINE: cause", by which the operator finds the mistake. For example, the first line of the file v cannot begin
// with "rol", since no kind has this name.
func TestParse_MalformedLine_NamesLineAndCause(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name string // the part of the line that is wrong
		text string // the vocabulary, a file named v
		want string // a part of the error
	}{
		{name: "kind", text: "rol nurse : nurse", want: "v:1: a line must begin with"},
		{name: "second line", text: "\nrole nurse", want: `v:2: expected " : " before the forms`},
		{name: "id", text: "role Nurse : nurse", want: "expected an id"},
		{name: "link", text: "role nurse ?x : nurse", want: "unknown link ?x"},
		{name: "link id", text: "role nurse <X : nurse", want: "link <X must name an id"},
		{name: "strength", text: "role nurse ~x:2 : nurse", want: "the strength of ~x:2 must be"},
		{name: "strength of is-a", text: "role nurse <x:.5 : nurse", want: "the strength of <x:.5 must be"},
		{name: "twice", text: "role nurse : nurse\nrole nurse : rn", want: "v:2: nurse is already defined in line 1"},
		{name: "extend", text: "extend nurse : rn", want: "nurse must be defined before it is extended"},
		{name: "reading", text: "read rn two ids", want: "a reading must be an id"},
		{name: "condition", text: "read rn nurse if moon(full)", want: "unknown condition moon"},
		{name: "bracket", text: "read rn nurse if spec(a", want: "must end with a bracket"},
		{name: "capitals", text: "read rn nurse if capitals(x)", want: "must not have arguments"},
		{name: "words", text: "read rn nurse if words", want: "must have arguments"},
		{name: "before", text: "read rn nurse if before(x)", want: "must name kinds, not x"},
		{
			name: "readings twice",
			text: "read rn a\nread rn b",
			want: "v:2: the readings of rn are already defined in line 1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			_, err := Parse(Source{Name: "v", Text: test.text})
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// TestLint_Problems checks that Lint reports contradictions between lines that are each well-formed. For example, the line
// "role a <b : a" is a problem if no concept has the id b.
func TestLint_Problems(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name string
		text string // the vocabulary, a file named v
		want string // a part of the problem
	}{
		{name: "unknown id", text: "role a <b : a", want: "v:1: a: link <b leads to no other concept"},
		{name: "itself", text: "role a <a : a", want: "a: link <a leads to no other concept"},
		{name: "other kind", text: "role a <b : a\nspec b : b", want: "a: b must be a role"},
		{name: "cycle", text: "role a <b : a\nrole b <a : b", want: "is-a links form a cycle"},
		{name: "alias of an alias", text: "role a =b : a\nrole b =c : b\nrole c : c", want: "a: = must not name b"},
		{name: "two forms alike", text: "role a : nurse; nurses", want: `form "nurses" duplicates form "nurse"`},
		{name: "ambiguous form", text: "role a : x\nspec b : x", want: `form "x" of a, b needs a read line`},
		{name: "no letter", text: "role a : a; --", want: `form "--" contains no word`},
		{name: "break", text: "role a : rt (r)", want: `form "rt (r)" must not have punctuation`},
		{name: "no form", text: "role a : ", want: "a has no form"},
		{name: "unknown form", text: "role a : a\nread x a if capitals", want: "read x: no concept has this form"},
		{
			name: "reading without form",
			text: "role a : a\nrole b : b\nread a a if capitals | b",
			want: "read a: b does not have this form",
		},
		{
			name: "form without reading",
			text: "role a : x\nrole b : x\nread x a if capitals",
			want: "read x: the line does not list b, which has this form",
		},
		{name: "useless reading", text: "role a : a\nread a a", want: "read a: the line has no effect"},
		{name: "condition of another kind", text: "role a : a\nread a a if spec(a)", want: "read a: a is not a spec"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			vocabulary, err := Parse(Source{Name: "v", Text: test.text})
			require.NoError(t, err)
			assert.ErrorContains(t, joinProblems(vocabulary.Lint()), test.want)
		})
	}
}

// TestLoad_Additions_OverrideAndExtend checks what the file of an operator can do to the embedded vocabulary: replace a
// concept (ward-clerk, which loses its other names), extend a concept, add a concept, and decide the meaning of an
// ambiguous name. The version of the vocabulary changes, so that indexes are built anew.
func TestLoad_Additions_OverrideAndExtend(t *testing.T) {
	t.Parallel()

	vocabulary, err := Load(Source{Name: "own.txt", Text: `
role ward-clerk <receptionist : ward host desk
extend registered-nurse ~midwife:0.1 : ward angel
role moon-nurse <nurse : moon nurse
read don director-of-nursing if words(nursing)
`})
	require.NoError(t, err)

	// The replaced, the extended and the added concept.
	assert.Nil(t, vocabulary.Form("ward clerk"), "the former name of ward-clerk")
	assert.True(t, vocabulary.Concept("ward-clerk").IsA(vocabulary.Concept("receptionist")))
	assert.Equal(t, "registered-nurse", vocabulary.Form("Ward Angels").Readings[0].Concept.ID)
	assert.True(t, vocabulary.Concept("moon-nurse").IsA(vocabulary.Concept("nurse")))
	assert.NotEqual(t, loadVocabulary(t).Version(), vocabulary.Version())

	// A contradiction in the file is an error with its line.
	_, err = Load(Source{Name: "own.txt", Text: "role x <nobody : x"})
	assert.ErrorContains(t, err, "own.txt:1: x: link <nobody leads to no other concept")
}

// smallVocabulary has a concept for each kind of link. A link "<x" leads to a more general concept, and "<~x:0.5" to a
// more general concept that is only a second choice, with the strength 0.5. "=x" makes a concept another name of x, and
// "+y" adds what it implies.
//   - hand-surgeon is another name, with a parent of its own.
//   - sister reaches leader over one second choice, and deputy would reach it over two.
//   - rt is an ambiguous abbreviation. Its "read" line has the conditions of its meanings.
const smallVocabulary = `
role doctor *broad : doctor
role surgeon <doctor +surgery : surgeon
role hand-surgeon =doctor +hands <surgeon : hand surgeon
role nurse *broad : nurse
role sister <nurse <~manager:0.5 ~matron : sister
role deputy <~sister : deputy
role any-nurse =nurse <~sister : any nurse
role matron <manager : matron
role manager <leader : manager
role leader : leader
role clerk *generic : clerk; rt!
role therapist : rt!; gp
spec surgery *broad : surgery
spec hands <surgery : hands
filler : looking for
read rt clerk if not spec(surgery) & capitals | therapist
`

// parseSmall returns smallVocabulary, which has no problems.
func parseSmall(t *testing.T) *Vocabulary {
	t.Helper()

	vocabulary, err := Parse(Source{Name: "v", Text: smallVocabulary})
	require.NoError(t, err)
	require.NoError(t, joinProblems(vocabulary.Lint()))

	return vocabulary
}

// TestConcept_Ancestors checks the more general concepts above a concept of smallVocabulary, its ancestors. The strength
// of each is the product of the strengths of the links on the path to it. A path has at most one second-choice link, so
// that a deputy, which is two of them away from manager, is not even a second choice for a manager.
func TestConcept_Ancestors(t *testing.T) {
	t.Parallel()

	vocabulary := parseSmall(t)

	// sister is a nurse, and as a second choice a manager, which is a leader.
	strengthsByID := map[string]float64{}
	for _, link := range vocabulary.Concept("sister").ancestors {
		strengthsByID[link.To.ID] = link.Strength
	}

	assert.Equal(t, map[string]float64{"nurse": 1, "manager": .5, "leader": .5}, strengthsByID)
	assert.Len(t, vocabulary.Concept("deputy").ancestors, 2, "one second choice: sister, nurse")
}

// TestConcept_IsA checks which concepts of smallVocabulary are a kind of another one. A second choice is not.
func TestConcept_IsA(t *testing.T) {
	t.Parallel()

	vocabulary := parseSmall(t)
	isA := func(id, general string) bool { return vocabulary.Concept(id).IsA(vocabulary.Concept(general)) }

	assert.True(t, isA("matron", "leader"), "by way of manager")
	assert.False(t, isA("sister", "manager"), "only a second choice")
	assert.True(t, isA("hand-surgeon", "doctor"), "another name of doctor")
	assert.True(t, isA("any-nurse", "nurse"), "another name, and a second choice")
}

// TestConcept_Means checks that a concept which is another name (=doctor +hands) means the concept that it names and
// those that it adds. Every other concept means itself.
func TestConcept_Means(t *testing.T) {
	t.Parallel()

	vocabulary := parseSmall(t)
	doctor, hands, nurse := vocabulary.Concept("doctor"), vocabulary.Concept("hands"), vocabulary.Concept("nurse")

	assert.Equal(t, []*Concept{doctor, hands}, vocabulary.Concept("hand-surgeon").Means())
	assert.Equal(t, []*Concept{nurse}, nurse.Means())
}

// TestConcept_SiblingsAndKin checks that the children of a concept are siblings, which are related to each other (kin),
// unless the concept is broad. Clinician is broad: a nurse and a doctor are not similar only because both are clinicians.
func TestConcept_SiblingsAndKin(t *testing.T) {
	t.Parallel()

	vocabulary, err := Parse(Source{Name: "v", Text: `
role clerk : clerk
role ward-clerk <clerk : ward clerk
role records-clerk <clerk : records clerk
role clinician *broad : clinician
role nurse <clinician : nurse
role doctor <clinician : doctor
`})
	require.NoError(t, err)

	wardClerk, recordsClerk := vocabulary.Concept("ward-clerk"), vocabulary.Concept("records-clerk")
	assert.Equal(t, []*Concept{recordsClerk}, wardClerk.Siblings())
	assert.True(t, wardClerk.IsKin(recordsClerk))

	clinician, nurse, doctor := vocabulary.Concept("clinician"), vocabulary.Concept("nurse"), vocabulary.Concept("doctor")
	assert.Empty(t, nurse.Siblings())
	assert.False(t, nurse.IsKin(doctor))
	assert.True(t, clinician.IsKin(nurse), "a parent is kin, even if it is broad")
}

// TestVocabulary_Matches checks which names begin at the first word of a text, the shortest name first. Names match in
// the singular and plural. A name does not match across a comma or if the text has only its beginning.
func TestVocabulary_Matches(t *testing.T) {
	t.Parallel()

	vocabulary := parseSmall(t)
	for text, want := range map[string][]string{
		"hand surgeons": {"hands", "hand surgeon"},
		"hand, surgeon": {"hands"},
		"Hand-Surgeon":  {"hands", "hand surgeon"},
		"unknown":       nil,
		"GPs":           {"gp"},
		"looking":       nil,
	} {
		const firstWord = 0

		var names []string
		for _, match := range vocabulary.Matches(nil, vocabulary.Words(Tokens(text)), firstWord) {
			names = append(names, match.Form.Text)
		}

		assert.Equal(t, want, names, text)
	}
}

// TestForm_Resolve checks that an ambiguous name, here rt in smallVocabulary, has the first meaning whose conditions
// hold: clerk in capitals and without a specialty in surgery, and otherwise therapist. Surgery is above hands, and
// hand-surgeon implies hands, so that both are in surgery.
func TestForm_Resolve(t *testing.T) {
	t.Parallel()

	vocabulary := parseSmall(t)
	rt := vocabulary.Form("rt")
	require.True(t, rt.IsAmbiguous())
	assert.True(t, rt.Capitals, "the mark ! after the name")

	// Without any concept beside it, rt is not in surgery. The capitals decide.
	assert.Equal(t, "clerk", rt.Resolve(&Context{Capitals: true}).ID)
	assert.Equal(t, "therapist", rt.Resolve(&Context{}).ID)

	// Beside a concept in surgery, rt is a therapist even in capitals.
	for _, id := range []string{"hands", "hand-surgeon"} {
		inSurgery := Context{Capitals: true, Concepts: []*Concept{vocabulary.Concept(id)}}
		assert.Equal(t, "therapist", rt.Resolve(&inSurgery).ID, id)
	}
}

// TestVocabulary_Label checks the label of a concept. An id that is no longer in the vocabulary, such as an id in a
// saved search, is its own label.
func TestVocabulary_Label(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	assert.Equal(t, "Registered nurse", vocabulary.Label("registered-nurse"))
	assert.Equal(t, "unknown-id", vocabulary.Label("unknown-id"))
}

// BenchmarkLoad measures Load of the embedded vocabulary.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()

	for b.Loop() {
		_, err := Load()
		require.NoError(b, err)
	}
}

// BenchmarkMatches measures Matches at each word of an advert.
func BenchmarkMatches(b *testing.B) {
	vocabulary := loadVocabulary(b)
	words := vocabulary.Words(Tokens(text300))
	var matches []Match

	b.ReportAllocs()

	for b.Loop() {
		for i := range words {
			matches = vocabulary.Matches(matches[:0], words, i)
		}
	}
}
