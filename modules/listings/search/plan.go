package search

import "slices"

// The prefixes of the keys by which adverts are found. A prefix has the kind of a concept and where the advert names
// it: the key "role.head:nurse" is that of an advert whose main role is nurse. An advert has the keys of the
// concepts above those that it names, too.
const (
	keyRoleHead     = "role.head:"       // the main role
	keyRoleSecond   = "role.second:"     // close to the main role, for example what a trainee becomes
	keyRoleTitle    = "role.title:"      // elsewhere in the title
	keyRoleShared   = "role.shared:"     // of a title that names several main roles
	keyRoleText     = "role.text:"       // in the description
	keySpecNamed    = "specialty.named:" // itself, and not only a part of it, in the title or a field
	keySpecTitle    = "specialty.title:"
	keySpecField    = "specialty.field:"
	keySpecText     = "specialty.text:"
	keySettingField = "setting.field:" // named in the title or a field
	keyStated       = "stated:"        // a slot that the advert states
	keyRemote       = "remote:"        // a country, or nothing for all remote work
	keyCountry      = "country:"
	keyNation       = "nation:"
	keyRegion       = "region:"
	keyEmployer     = "employer:" // a company, or the beginning of its name

	keyRemoteAnywhere = keyRemote + "*" // the entire key of remote work that is not bound to a country
)

// How tells how a hit satisfies a slot.
type How string

// The values of How.
const (
	HowTitle   How = "title"
	HowField   How = "field"
	HowText    How = "text"
	HowRelated How = "related"
	HowNearby  How = "nearby"
	HowMissing How = "missing"
)

// Plan contains the conditions by which an index evaluates a query. A slot is a part of the query, such as the role,
// with its levels: the ways in which an advert can satisfy it, each with a cost.
type Plan struct {
	Must  []Expr // conditions that every hit meets
	Slots []Slot
	First *Expr // puts the hits that match before the others, in every order but relevance; nil for none
	// Terms are the indexes of the terms to which the slots belong, -1 for slots
	// that only order the hits.
	Terms []int
	// How contains, for each slot, how its levels are satisfied.
	How [][]How
}

// The costs of levels, in twentieths. A hit with the sum 0 fits perfectly.
const (
	costRoleText    = 4 // the role is in the description; the title has none
	costSettingText = 3 // the setting is in the description
	// costShared is for a title with another main role, as in "Nurse or Midwife".
	costShared    = 3
	costRoleTitle = 12 // the role is in the title, but not as the main role
	costComposed  = 5  // a more general role, with the specialty that the role implies
	costOtherRole = 18 // another profession in the requested specialty
	costSecond    = 7  // the role is close to the main role
	// costSpecBelow is for an advert that names a part of the specialty.
	costSpecBelow   = 2
	costSpecField   = 1  // the specialty is in a field
	costSpecText    = 11 // the specialty is in the description
	costSpecMissing = 13
	// costSpecBroad is for the specialty of a role such as nurse or doctor, which is
	// unspecific without it.
	costSpecBroad       = 22
	costSilent          = 9  // the advert states nothing about a detail such as the grade
	costContradicts     = 11 // the advert states another one
	costRemote          = 9  // work from home, for a query with a place
	costNearby          = 6  // at most nearbyFactor times the radius from the place
	costFar             = 10 // at most farFactor times the radius from the place
	costNamed           = 11 // the text names the place
	costSameRegion      = 13
	costSameCountry     = 22
	costWordInText      = 6 // a free word is not in the title
	costOtherWords      = 4 // the title has other names for role and specialty than the query
	costOtherProfession = 1 // for a query without a role, see addProfession
	costNonClinical     = 5
	// costModifierMissing is for the first role of "nurse recruiter".
	costModifierMissing = 12
	costPayUnstated     = 7
	// maxDetails is the most that grade, experience, contract, hours, shift and
	// setting cost together.
	maxDetails = 8
	// MaxCost is the highest cost of a relaxed hit.
	MaxCost = 40
	// costStep is the cost of an unrelated concept. The cost of a linked one is costStep times one minus the strength
	// of the link.
	costStep = 20
)

const (
	// nearbyFactor and farFactor are how many times as far as the requested radius relaxed hits may be.
	nearbyFactor = 2.5
	farFactor    = 5
	// regionRadius is how far the middle of a region is from its border, in miles.
	regionRadius = 20
	// kinStrength is the strength of the relation between two children of a parent, and towards the parent.
	kinStrength = .35
)

// Plan translates the parsed query into conditions on documents. Each term, a condition of the query such as its role,
// becomes a slot or an entry of Must. radius is how far adverts may be from a requested town, in miles, unless the query
// states it.
func (u *Understanding) Plan(radius float64) Plan {
	if u.Radius > 0 {
		radius = u.Radius
	}

	b := planner{understanding: u, radius: radius}
	for i := range u.Terms {
		t := &u.Terms[i]
		switch {
		case t.Excluded:
			b.Must = append(b.Must, Not(t.exclusion()))
		case t.Slot == SlotPhrase: // nothing is similar to a quoted phrase, so that it needs no levels
			literals := each(t.alternatives(), func(words []string) Expr { return HasLiteral(words...) })
			b.Must = append(b.Must, Or(literals...))
		default:
			b.add(i, b.levels(t))
		}
	}

	// The next two slots only order the hits: every advert satisfies them at some level.
	if !b.has(SlotRole) {
		b.addProfession()
	}

	b.addWording()

	return b.Plan
}

// planner builds a Plan.
type planner struct {
	Plan
	understanding *Understanding
	radius        float64
}

// noTerm takes the place of the index of a term for a slot that belongs to none.
const noTerm = -1

// add adds a slot. term is the index of the term to which it belongs, or noTerm.
func (b *planner) add(term int, levels []level) {
	var s Slot

	how := make([]How, len(levels))
	for i, l := range levels {
		s.Levels = append(s.Levels, l.SlotLevel)
		how[i] = l.how
	}

	b.Slots = append(b.Slots, s)
	b.How = append(b.How, how)
	b.Terms = append(b.Terms, term)
}

// terms returns the terms of the slots that are not excluded.
func (b *planner) terms(slots ...string) (out []*Term) {
	for i := range b.understanding.Terms {
		if t := &b.understanding.Terms[i]; !t.Excluded && slices.Contains(slots, t.Slot) {
			out = append(out, t)
		}
	}

	return out
}

// has reports whether the query has a term for one of the slots that is not excluded.
func (b *planner) has(slots ...string) bool { return len(b.terms(slots...)) > 0 }

// addWording adds a slot that only orders the hits. It puts titles with the words of the query before titles that use
// other names of the same role or specialty. The slot has three levels: all of the words, one of them, none.
func (b *planner) addWording() {
	var words []Expr
	for _, t := range b.terms(SlotRole, SlotSpecialty) {
		if !t.Unfinished {
			words = append(words, each(t.Words, HasTitleWord)...)
		}
	}

	if len(words) > 0 {
		b.add(noTerm, []level{
			exact(0, HowTitle, And(words...)),
			exact(costOtherWords/2, HowTitle, Or(words...)),
			exact(costOtherWords, HowMissing, All()),
		})
	}
}

// addProfession adds a slot that only orders the hits of a query without a role. First come jobs of the profession that
// staffs the specialty of the query: "physiotherapy" finds physiotherapists before their receptionists. Last come jobs
// outside of care.
func (b *planner) addProfession() {
	var isProfession []Expr
	for i := range b.understanding.Terms {
		for _, c := range b.understanding.Terms[i].Concepts {
			for _, related := range c.Related {
				if related.To.Kind == Role {
					isProfession = append(isProfession, HasKey(keyRoleHead+related.To.ID))
				}
			}
		}
	}

	if b.has(SlotSpecialty, SlotSetting, SlotPhrase, SlotWord) {
		b.add(noTerm, []level{
			exact(0, HowTitle, Or(isProfession...)),
			exact(costOtherProfession, HowTitle, Not(HasKey(keyRoleHead+nonClinical))),
			exact(costNonClinical, HowMissing, All()),
		})
	}
}

// exclusion matches the adverts that an excluded term excludes. These are adverts that contain its words, and adverts
// whose title names its concepts.
func (t *Term) exclusion() Expr {
	hasWords := HasPhrase(t.Words...)
	if t.Slot == SlotPhrase {
		hasWords = HasLiteral(t.Words...)
	}

	if len(t.Concepts) == 0 {
		return Or(hasWords)
	}

	// A concept may stand for several, such as a doctor in urology: only adverts for all of them are excluded.
	isConcept := And(each(t.Concepts, func(c *Concept) Expr { return about(c, keyRoleHead, keyRoleTitle) })...)

	return Or(hasWords, isConcept)
}

// alternatives returns Words and the words of Or, one of which an advert must contain.
func (t *Term) alternatives() [][]string { return append([][]string{t.Words}, t.Or...) }

// each returns the expressions that f returns for the items.
func each[T any](items []T, f func(T) Expr) []Expr {
	exprs := make([]Expr, len(items))
	for i, item := range items {
		exprs[i] = f(item)
	}

	return exprs
}
