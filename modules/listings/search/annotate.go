package search

import (
	"slices"
	"strings"
)

// A concept is an entry of the vocabulary, such as a role, and a form is one of its names. The annotation of an advert
// consists of tags: the concepts that the advert names, each with the level, which says where it is named. The concepts
// above a concept, its ancestors, are tagged as well, so that a search for them finds the advert.

// Advert contains the fields of a listing that Annotate reads.
type Advert struct {
	Title       string
	Company     string
	Department  string
	Specialty   string
	Description string
	// Requirements are read like sentences of the description.
	Requirements []string
	// ContractType and EmploymentType are ids of concepts, or empty.
	ContractType   string
	EmploymentType string
	Remote         bool
	// Country is the ISO code of the place's country, in lower case, or empty.
	Country string
}

// Level is the place at which an advert names a concept. The strongest level is the first and has the lowest number.
type Level uint8

// The levels.
const (
	Head         Level = iota + 1 // of roles: the main role of the title
	SecondChoice                  // of roles: above the main role over a second-choice link
	InTitle                       // elsewhere in the title
	InField                       // a field of the advert
	InText                        // the description or a requirement
)

// Tag is one concept of an advert.
type Tag struct {
	Concept string
	Kind    Kind
	Level   Level
	// Strength is below 1 if the concept is reached over second-choice links.
	Strength float64
	// Named is true if the advert names the concept itself, and not only a concept below it.
	Named bool
}

// Annotation contains the concepts of an advert, and the ancestors of each of these concepts.
type Annotation struct {
	// Version is the version of the vocabulary.
	Version string
	// Tags are ordered by kind, level and the position in the advert.
	Tags []Tag
	// Years is the required experience, 0 if the advert has none.
	Years int
}

// Find returns the tag of a concept, at its strongest level.
func (a *Annotation) Find(concept string) (Tag, bool) {
	i := slices.IndexFunc(a.Tags, func(t Tag) bool { return t.Concept == concept })
	if i < 0 {
		return Tag{}, false
	}

	return a.Tags[i], true
}

// Annotate returns the concepts of an advert.
//
// The last job name of a part of the title is its head: an "Optometry Receptionist" is a
// receptionist. The heads of the first part that has one are the main roles. Heads of later parts
// are main roles, too, if they are kin to them, which means of the same family of roles. The
// profession that a trainee learns and roles listed in brackets are second choices. A role in the
// description counts only if the title names none.
func (v *Vocabulary) Annotate(advert *Advert) Annotation {
	a, ok := v.annotators.Get().(*annotator)
	if !ok {
		a = &annotator{v: v}
		a.ctx.HasWord = a.hasWord
	}

	defer v.annotators.Put(a)

	// Divide all texts into forms before any of them is tagged: the unambiguous forms of one text decide what the
	// ambiguous forms of another mean.
	a.reset(advert)
	a.parse(&a.title, advert.Title)
	a.parse(&a.fields[0], advert.Specialty)
	a.parse(&a.fields[1], advert.Department)
	a.parse(&a.company, advert.Company)
	a.parseText()
	a.addContext(&a.title)
	a.addContext(&a.fields[0])
	a.addContext(&a.fields[1])

	// Tag the strongest text first. What a text names may depend on what stronger ones have named.
	a.tagTitle()
	a.tagFields()
	a.tagText()
	a.tagSpecialist()
	a.sort()

	return Annotation{Version: v.version, Tags: slices.Clone(a.tags), Years: a.years}
}

// annotator annotates one advert at a time. It reuses its buffers for the next advert.
type annotator struct {
	v      *Vocabulary
	advert *Advert

	// The texts of the advert, divided into forms.
	title   phrases
	fields  [2]phrases // specialty and department
	company phrases
	text    phrases // description and requirements

	ctx   Context // by which ambiguous forms are resolved
	tags  []Tag
	years int // of required experience

	// Buffers of cover, roleAt and other methods.
	matches []Match
	inner   []Match
	steps   []step
}

// reset prepares the annotator for another advert.
func (a *annotator) reset(advert *Advert) {
	a.advert = advert
	a.ctx.Concepts = a.ctx.Concepts[:0]
	a.ctx.Country = advert.Country
	a.tags = a.tags[:0]
	a.years = 0
}

// addContext collects the concepts of forms that are not ambiguous. They help to decide what
// ambiguous forms mean.
func (a *annotator) addContext(p *phrases) {
	for i := range p.found {
		f := p.found[i].Form
		if !f.IsAmbiguous() {
			p.found[i].concept = f.likeliest()
			a.ctx.Concepts = append(a.ctx.Concepts, p.found[i].concept)
		}
	}
}

// resolve decides what ambiguous forms mean.
func (a *annotator) resolve(p *phrases) {
	for i := range p.found {
		f := &p.found[i]
		if !f.Form.IsAmbiguous() {
			continue
		}

		const next, previous = +1, -1

		ctx := a.ctx
		ctx.Capitals = p.caps || p.tokens[f.Start].Capitals
		ctx.Following = p.kindsBeside(i, next)
		ctx.Preceding = p.kindsBeside(i, previous)
		f.concept = f.Form.Resolve(&ctx)
	}
}

// hasWord reports whether the advert contains a normalized word.
func (a *annotator) hasWord(word string) bool {
	for _, p := range []*phrases{&a.title, &a.fields[0], &a.fields[1], &a.text} {
		for _, t := range p.tokens {
			if Normalize(t.Word) == word {
				return true
			}
		}
	}

	return false
}

// tagTitle tags everything that the title names.
func (a *annotator) tagTitle() {
	p := &a.title
	a.resolve(p)
	a.readGrades(p)

	hasHead := a.tagHeads(p)
	for _, f := range p.found {
		if f.concept == nil {
			continue
		}

		a.add(f.concept, InTitle)

		// The names of students and doctors in training say their grade already.
		hasOwnGrade := a.isA(f.concept, "student-role") || a.isA(f.concept, doctor)
		if f.isRole() && p.namesTrainee(f) && !hasOwnGrade {
			a.tagGrade("trainee", InTitle)
		}
	}

	a.tagSeries(p, InTitle)
	a.hours(p, InTitle)
	a.clock(p)

	if !hasHead {
		a.tagImpliedRole()
	}
}

// tagImpliedRole tags the role that a grade implies: an ST4 is a doctor.
func (a *annotator) tagImpliedRole() {
	for _, f := range a.title.found {
		if f.concept == nil || f.concept.Kind != Grade {
			continue
		}

		for _, implied := range f.concept.Implied {
			if implied.Kind != Role {
				continue
			}

			// Grades of doctors are used for other professions too, if the title names their specialty.
			if profession := a.professionOf(&a.title); profession != nil && a.isA(implied, doctor) {
				implied = profession
			}

			a.add(implied, Head)

			return
		}
	}
}

// tagSpecialist tags a role in an advert that names none but whose title names a specialty. It is the profession of the
// specialty: "Physiotherapy, Senior" is for a physiotherapist. In the United States, the name of a discipline of medicine
// probably means a doctor, which is tagged as a second choice: "Neurology – Partnership".
func (a *annotator) tagSpecialist() {
	if a.has(Role) {
		return
	}

	for _, f := range a.title.found {
		if f.concept == nil || f.concept.Kind != Specialty {
			continue
		}

		for _, r := range f.concept.Related {
			isProfession := r.To.Kind == Role && r.Strength == 1
			if isProfession {
				a.add(r.To, Head)
				return
			}
		}

		lastWord := a.title.tokens[f.End-1].Word
		mayMeanDoctor := a.advert.Country == "us" && isDiscipline(lastWord)

		if role := a.v.byID[doctor]; mayMeanDoctor && role != nil && a.v.hasComposite(role, f.concept) {
			a.add(role, SecondChoice)
			return
		}
	}
}

// isDiscipline reports whether a word ends the name of a discipline of medicine.
func isDiscipline(word string) bool {
	return strings.HasSuffix(word, "logy") || strings.HasSuffix(word, "iatry") || word == "medicine" || word == "surgery"
}

// hasComposite reports whether the vocabulary has a name for the role in the specialty: a doctor
// in neurology is a neurologist.
func (v *Vocabulary) hasComposite(role, specialty *Concept) bool {
	return slices.ContainsFunc(v.concepts, func(c *Concept) bool {
		impliesOnlySpecialty := len(c.Implied) == 1 && c.Implied[0] == specialty
		return c.Same == role && impliesOnlySpecialty
	})
}

// tagFields tags specialty and department, contract and hours.
func (a *annotator) tagFields() {
	titleHasRole := a.has(Role)
	for i := range a.fields {
		p := &a.fields[i]
		a.resolve(p)

		for _, f := range p.found {
			switch {
			case f.concept == nil: // ambiguous, and nothing decides

			// A role in a field counts only if the title names none, and otherwise only what it implies.
			case f.concept.Kind != Role || !titleHasRole:
				a.add(f.concept, InField)
			default:
				a.addImplied(f.concept, InField)
			}
		}

		a.tagSeries(p, InField)
	}

	a.tagEmployer()
	a.addID(a.advert.ContractType, InField)
	a.addID(a.advert.EmploymentType, InField)

	if a.advert.Remote {
		a.addID(remoteConcept, InField)
	}
}

// has reports whether a concept of a kind has a tag already.
func (a *annotator) has(kind Kind) bool {
	return slices.ContainsFunc(a.tags, func(t Tag) bool { return t.Kind == kind })
}

// add tags a concept, its ancestors and the concepts that it implies. A role that is only another
// name of a role (Same) is tagged as that role.
func (a *annotator) add(c *Concept, level Level) {
	const strength, isNamed = 1, true
	a.put(c.base(), level, strength, isNamed)

	for up := c; up != nil; up = up.Same {
		a.addAncestors(up, level)
	}

	a.addImplied(c, level)
}

// addID adds the concept with the id. It ignores an id that the vocabulary does not contain.
func (a *annotator) addID(id string, level Level) {
	if c := a.v.byID[id]; c != nil {
		a.add(c, level)
	}
}

// addAncestors tags the ancestors of a concept. An ancestor of a strength below 1 is only a second choice. For a role, it
// is tagged only if the role is a main one, at the level SecondChoice. For all other concepts, it is tagged at their level.
func (a *annotator) addAncestors(c *Concept, level Level) {
	const isNamed = false // the advert names the concept itself

	for _, up := range c.ancestors {
		isSecondChoice := up.Strength < 1
		switch {
		case isSecondChoice && level == Head:
			a.put(up.To, SecondChoice, up.Strength, isNamed)
		case !isSecondChoice, c.Kind != Role:
			a.put(up.To, level, up.Strength, isNamed)
		}
	}
}

// addImplied tags the concepts that a concept and its ancestors imply, except roles. An implied
// role is only tagged if the title has no role (tagImpliedRole).
func (a *annotator) addImplied(c *Concept, level Level) {
	level = max(level, InTitle) // the stronger levels are those of roles

	for ; c != nil; c = c.Same {
		a.addImpliedBy(c, level)

		for _, up := range c.ancestors {
			if up.Strength == 1 {
				a.addImpliedBy(up.To, level)
			}
		}
	}
}

// addImpliedBy tags the concepts that one concept implies, and their ancestors.
func (a *annotator) addImpliedBy(c *Concept, level Level) {
	for _, implied := range c.Implied {
		if implied.Kind == Role {
			continue
		}

		const strength, isNamed = 1, true // the name of the concept says what it implies
		a.put(implied, level, strength, isNamed)

		for _, up := range implied.ancestors {
			a.put(up.To, level, up.Strength, !isNamed)
		}
	}
}

// put stores a tag. If the concept has a tag already, the stronger one remains.
func (a *annotator) put(concept *Concept, level Level, strength float64, named bool) {
	for i := range a.tags {
		t := &a.tags[i]
		if t.Concept != concept.ID {
			continue
		}

		isStronger := level < t.Level || level == t.Level && strength > t.Strength // the lowest level is the strongest
		if isStronger {
			t.Level, t.Strength = level, strength
		}

		t.Named = t.Named || named

		return
	}

	a.tags = append(a.tags, Tag{Concept: concept.ID, Kind: concept.Kind, Level: level, Strength: strength, Named: named})
}

// sort orders the tags by kind and level. Those that are equal remain in the order of the advert.
func (a *annotator) sort() {
	slices.SortStableFunc(a.tags, func(s, t Tag) int {
		if s.Kind != t.Kind {
			return int(s.Kind) - int(t.Kind)
		}

		return int(s.Level) - int(t.Level)
	})
}
