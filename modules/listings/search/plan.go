package search

import (
	"cmp"
	"slices"
	"strings"
)

// The prefixes of the keys by which adverts are found. A level is part of the
// prefix: "role.head:nurse".
const (
	keyRoleHead     = "role.head:"
	keyRoleSecond   = "role.second:"
	keyRoleTitle    = "role.title:"
	keyRoleShared   = "role.shared:" // of a title that names several main roles
	keyRoleText     = "role.text:"
	keySpecNamed    = "specialty.named:" // named itself, in the title or a field
	keySpecTitle    = "specialty.title:"
	keySpecField    = "specialty.field:"
	keySpecText     = "specialty.text:"
	keySettingField = "setting.field:" // named in the title or a field
	keyStated       = "stated:"        // a slot that the advert states
	keyRemote       = "remote:"        // a country, or nothing for any
	keyCountry      = "country:"
	keyNation       = "nation:"
	keyRegion       = "region:"
	keyEmployer     = "employer:" // a company, or the beginning of its name
)

// How describes how a hit satisfies a slot.
type How string

// The ways.
const (
	HowTitle   How = "title"
	HowField   How = "field"
	HowText    How = "text"
	HowRelated How = "related"
	HowNearby  How = "nearby"
	HowMissing How = "missing"
)

// Plan is how a query is evaluated. Its slots correspond to those of the
// understanding by Terms.
type Plan struct {
	Must  []Expr
	Slots []Slot
	First *Expr
	// Terms are the indexes of the terms to which the slots belong, -1 for slots
	// that only order the hits.
	Terms []int
	// How has, for each slot, the way of each level.
	How [][]How
}

// The costs of levels, in twentieths.
const (
	costRoleText    = 4
	costSettingText = 3
	// costShared is for a title with another main role, as in "Nurse or Midwife".
	costShared    = 3
	costRoleTitle = 12
	costComposed  = 5
	costOtherRole = 18
	costSecond    = 7
	// costSpecBelow is for an advert that names a part of the specialty.
	costSpecBelow   = 2
	costSpecField   = 1
	costSpecText    = 11
	costSpecMissing = 13
	// costSpecBroad is for the specialty of a role such as nurse or doctor, which is
	// unspecific without it.
	costSpecBroad       = 22
	costSilent          = 9
	costContradicts     = 11
	costRemote          = 9
	costNearby          = 6
	costFar             = 10
	costNamed           = 11
	costSameRegion      = 13
	costSameCountry     = 22
	costWordInText      = 6
	costOtherWords      = 4
	costOtherProfession = 1
	costNonClinical     = 5
	// costModifierMissing is for the first role of "nurse recruiter".
	costModifierMissing = 12
	costPayUnstated     = 7
	// maxDetails is the most that grade, experience, contract, hours, shift and
	// setting cost together.
	maxDetails = 8
	// MaxCost is the highest cost of a relaxed hit.
	MaxCost = 40
	// costStep times one minus the strength of a link is its cost.
	costStep = 20
	// regionRadius is how far the middle of a region is from its border, in miles.
	regionRadius = 20
	// kin is the strength between siblings, and towards a parent.
	kinStrength = .35
)

// Plan translates an understanding into conditions on documents. Radius is the distance
// to towns, in miles, unless the query has one.
func (u *Understanding) Plan(radius float64) Plan {
	if u.Radius > 0 {
		radius = u.Radius
	}
	b := planner{understanding: u, radius: radius}
	for i := range u.Terms {
		t := &u.Terms[i]
		switch {
		case t.Excluded:
			b.Must = append(b.Must, Not(t.core()))
		case t.Slot == SlotPhrase:
			b.Must = append(b.Must, Or(each(t.alternatives(), func(words []string) Expr { return HasLiteral(words...) })...))
		default:
			b.add(i, b.levels(t))
		}
	}
	if !b.has(SlotRole) {
		b.addProfession()
	}
	b.addWording()
	return b.Plan
}

type planner struct {
	Plan
	understanding *Understanding
	radius        float64
}

// level is a SlotLevel and its way.
type level struct {
	SlotLevel
	how How
}

func exact(cost int, how How, e Expr) level { return level{SlotLevel{e, cost, true}, how} }

func relaxed(cost int, how How, e Expr) level { return level{SlotLevel{e, cost, false}, how} }

func (b *planner) add(term int, levels []level) {
	var s Slot
	how := make([]How, len(levels))
	for i, l := range levels {
		s.Levels = append(s.Levels, l.SlotLevel)
		how[i] = l.how
	}
	b.Slots, b.How, b.Terms = append(b.Slots, s), append(b.How, how), append(b.Terms, term)
}

// levels are the levels of a term, the cheapest first.
func (b *planner) levels(t *Term) []level {
	var out []level
	switch t.Slot {
	case SlotRole:
		out = b.role(t)
	case SlotSpecialty:
		out = b.specialty(t)
	case SlotPlace:
		out = b.place(t)
	case SlotPay:
		out = []level{exact(0, HowField, PaysBetween(*t.Pay)), relaxed(costPayUnstated, HowMissing, Not(PaysBetween(PayRange{}))), relaxed(costContradicts, HowMissing, All())}
	case SlotEmployer:
		out = []level{exact(0, HowField, HasKey(keyEmployer+strings.Join(t.Words, " ")))}
	case SlotWord:
		out = b.word(t)
	default:
		out = b.detail(t)
	}
	slices.SortStableFunc(out, func(x, y level) int { return cmp.Compare(x.Cost, y.Cost) })
	return out
}

// anyKey matches the documents with one of the concepts under the prefix.
func anyKey(prefix string, concepts []*Concept) Expr {
	return Or(each(concepts, func(c *Concept) Expr { return HasKey(prefix + c.ID) })...)
}

func (b *planner) role(t *Term) []level {
	head := anyKey(keyRoleHead, t.Concepts)
	if t.either != nil {
		head = Or(each(t.either, func(all []*Concept) Expr { return And(each(all, isMain)...) })...)
	}
	if b.First == nil {
		b.First = &head
	}
	if t.either != nil {
		return []level{exact(0, HowTitle, head)}
	}
	alone := head
	if len(t.Concepts) == 1 {
		alone = And(head, Not(HasKey(keyRoleShared)))
	}
	out := []level{
		exact(0, HowTitle, alone),
		exact(costShared, HowTitle, head),
		exact(costRoleText, HowText, anyKey(keyRoleText, t.Concepts)),
		exact(costSecond, HowTitle, anyKey(keyRoleSecond, t.Concepts)),
	}
	if !hasBroad(t.Concepts) {
		out = append(out, relaxed(costRoleTitle, HowTitle, And(anyKey(keyRoleTitle, t.Concepts), Not(HasKey(keyRoleHead+nonClinical)))))
	}
	out = append(out, composed(t.Concepts)...)
	if t.Concepts[0].ID != doctor && b.specMissing() == costSpecBroad && b.has(SlotSpecialty) {
		out = append(out, relaxed(costOtherRole, HowRelated, b.othersInSpecialty()))
	}
	return append(out, relatedLevels(t.Concepts, t.related, keyRoleHead, costStep)...)
}

// isMain matches the adverts that name a concept in the title or a field.
func isMain(c *Concept) Expr { return about(c, keyRoleHead) }

// composed are levels for the posts of a wider role in the specialty that the
// role implies: a physiologist in neurophysiology is a neurophysiologist.
func composed(roles []*Concept) (out []level) {
	for _, c := range roles {
		for _, p := range c.Parents {
			for _, s := range c.Implied {
				if s.Kind == Specialty && p.Strength == 1 && !p.To.Broad {
					out = append(out, exact(costComposed, HowTitle, And(HasKey(keyRoleHead+p.To.ID), HasKey(keySpecTitle+s.ID))))
				}
			}
		}
	}
	return out
}

// othersInSpecialty matches the posts of other professions in the requested specialty,
// except for doctors and the profession that the specialty is named after: a nurse in
// radiology is no radiographer.
func (b *planner) othersInSpecialty() Expr {
	out := []Expr{Not(HasKey(keyRoleHead + nonClinical)), Not(HasKey(keyRoleHead + doctor))}
	for _, t := range b.terms(SlotSpecialty) {
		out = append(out, anyKey(keySpecTitle, t.Concepts))
		for _, role := range professions(t.Concepts) {
			out = append(out, Not(HasKey(keyRoleHead+role.ID)))
		}
	}
	return And(out...)
}

// doctor is the concept above all doctors.
const doctor = "doctor"

// professions are the roles that staff the specialties or those above them.
func professions(specialties []*Concept) (out []*Concept) {
	for _, c := range specialties {
		for _, l := range c.Related {
			if l.To.Kind == Role {
				out = append(out, l.To)
			}
		}
		for _, p := range c.Parents {
			out = append(out, professions([]*Concept{p.To})...)
		}
	}
	return out
}

// relatedLevels returns levels for the concepts related to these, and for others.
func relatedLevels(concepts []*Concept, others []Link, prefix string, step float64) []level {
	strengths := map[*Concept]float64{}
	note := func(c *Concept, strength float64) {
		if !slices.Contains(concepts, c) {
			strengths[c] = max(strengths[c], strength)
		}
	}
	for _, c := range concepts {
		for _, s := range c.Siblings() {
			note(s, kinStrength)
		}
		for _, p := range c.Parents {
			if !p.To.Broad || c.Kind == Specialty {
				note(p.To, kinStrength*p.Strength)
			}
		}
		for _, r := range c.Related {
			note(r.To, r.Strength)
		}
	}
	for _, r := range others {
		note(r.To, r.Strength)
	}
	byCost := map[int][]*Concept{}
	for c, strength := range strengths {
		cost := int(step * (1 - strength))
		byCost[cost] = append(byCost[cost], c)
	}
	var out []level
	for cost, cs := range byCost {
		slices.SortFunc(cs, func(x, y *Concept) int { return cmp.Compare(x.ID, y.ID) })
		out = append(out, relaxed(cost, HowRelated, anyKey(prefix, cs)))
	}
	slices.SortFunc(out, func(x, y level) int { return cmp.Compare(x.Cost, y.Cost) })
	return out
}

func (b *planner) specialty(t *Term) []level {
	out := []level{
		exact(0, HowTitle, And(anyKey(keySpecTitle, t.Concepts), anyKey(keySpecNamed, t.Concepts))),
		exact(costSpecBelow, HowTitle, anyKey(keySpecTitle, t.Concepts)),
		exact(costSpecField, HowField, anyKey(keySpecField, t.Concepts)),
		// An advert that states another specialty mentions this one only.
		exact(costSpecText, HowText, And(anyKey(keySpecText, t.Concepts), Not(HasKey(keyStated+SlotSpecialty)))),
		relaxed(costSpecText, HowText, anyKey(keySpecText, t.Concepts)),
	}
	out = append(out, relatedLevels(t.Concepts, nil, keySpecTitle, .8*costStep)...)
	if b.has(SlotRole) { // without a role the specialty is the main term
		out = append(out, relaxed(b.specMissing(), HowMissing, All()))
	}
	return out
}

// specMissing is the cost of an advert in another specialty.
func (b *planner) specMissing() int {
	if slices.ContainsFunc(b.terms(SlotRole), func(t *Term) bool { return hasBroad(t.Concepts) }) {
		return costSpecBroad
	}
	return costSpecMissing
}

func hasBroad(concepts []*Concept) bool {
	return slices.ContainsFunc(concepts, func(c *Concept) bool { return c.Broad })
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

func (b *planner) has(slots ...string) bool { return len(b.terms(slots...)) > 0 }

// remoteConcept is the concept of working from home.
const remoteConcept = "work-from-home"

// detail are the levels of grade, experience, contract, hours, shift and setting.
func (b *planner) detail(t *Term) []level {
	stated := HasKey(keyStated + t.Slot)
	if slices.ContainsFunc(t.Concepts, func(c *Concept) bool { return c.ID == remoteConcept }) {
		return []level{exact(0, HowField, HasKey(keyRemote)), exact(costSettingText, HowText, HasKey(SlotSetting+":telehealth")), relaxed(b.detailCost(costContradicts), HowMissing, All())}
	}
	met := []level{exact(0, HowField, anyKey(t.Slot+":", t.Concepts))}
	if t.Slot == SlotSetting { // a description may name others
		met = []level{exact(0, HowField, anyKey(keySettingField, t.Concepts)), exact(costSettingText, HowText, met[0].Expr)}
	}
	if !b.has(SlotRole) { // it is the main term, alone or with a specialty
		return met
	}
	out := slices.Concat(met, []level{
		relaxed(b.detailCost(costSilent), HowMissing, Not(stated)),
		relaxed(b.detailCost(costContradicts), HowMissing, stated),
	})
	for _, l := range relatedLevels(t.Concepts, nil, t.Slot+":", costSilent) {
		l.Cost = b.detailCost(l.Cost)
		out = append(out, l)
	}
	return out
}

// detailCost keeps the sum over all details within maxDetails.
func (b *planner) detailCost(cost int) int {
	n := len(b.terms(SlotGrade, SlotExperience, SlotContract, SlotHours, SlotShift, SlotSetting))
	return min(cost, max(1, cost*maxDetails/(costContradicts*max(n, 1))))
}

func (b *planner) place(t *Term) []level {
	each := func(f func(p Place) Expr) Expr { return Or(each(t.Places, f)...) }
	within := func(factor float64) Expr {
		return each(func(p Place) Expr {
			switch p.Kind {
			case Town:
				return IsWithin(Point{p.Lat, p.Lon}, factor*b.radius)
			case Region: // its neighbours
				return IsWithin(Point{p.Lat, p.Lon}, factor*regionRadius)
			}
			return Or()
		})
	}
	return []level{
		exact(0, HowField, each(func(p Place) Expr { return PlaceExpr(p, b.radius) })),
		exact(costRemote, HowField, each(func(p Place) Expr { return Or(HasKey(keyRemote+p.Country), HasKey(keyRemote+"*")) })),
		relaxed(costNearby, HowNearby, within(2.5)),
		relaxed(costFar, HowNearby, within(5)),
		relaxed(costNamed, HowText, HasPhrase(t.Words...)),
		relaxed(costSameRegion, HowNearby, each(func(p Place) Expr {
			if p.Kind != Town || p.Region == "" {
				return Or()
			}
			return HasKey(keyRegion + p.Country + "/" + p.Region)
		})),
		relaxed(costSameCountry, HowMissing, each(func(p Place) Expr { return HasKey(keyCountry + p.Country) })),
	}
}

// PlaceExpr matches the documents in a region or country, or within radius miles
// of a town.
func PlaceExpr(p Place, radius float64) Expr {
	switch {
	case p.Kind == Country && p.Nation != "":
		return HasKey(keyNation + p.Country + "/" + p.Nation)
	case p.Kind == Country:
		return HasKey(keyCountry + p.Country)
	case p.Kind == Region && len(p.Regions) > 0:
		return Or(each(p.Regions, func(r string) Expr { return HasKey(keyRegion + p.Country + "/" + r) })...)
	case p.Kind == Region && p.Nation != "" && p.Region == "":
		return HasKey(keyNation + p.Country + "/" + p.Nation)
	case p.Kind == Region:
		return HasKey(keyRegion + p.Country + "/" + p.Region)
	}
	return IsWithin(Point{p.Lat, p.Lon}, radius)
}

// word are the levels of free text. It is never left out.
func (b *planner) word(t *Term) []level {
	if len(t.Concepts) > 0 {
		return modifier(t)
	}
	title := Or(each(t.alternatives(), func(words []string) Expr { return HasTitleWord(words[0]) })...)
	anywhere := Or(each(t.alternatives(), func(words []string) Expr { return HasWord(words[0]) })...)
	if t.Unfinished {
		title, anywhere = Or(title, HasTitlePrefix(t.Words[0])), Or(anywhere, HasPrefix(t.Words[0]))
	}
	n := 0
	for i := range b.understanding.Terms {
		if b.understanding.Terms[i].Slot == SlotWord {
			n++
		}
	}
	return []level{exact(0, HowTitle, title), exact(max(1, costWordInText/n), HowText, anywhere)}
}

// modifier are the levels of a role that only describes another one: the nurse of
// a nurse recruitment consultant.
func modifier(t *Term) []level {
	phrase := HasPhrase(t.Words...)
	inTitle := phrase
	inTitle.Title = true
	titles := []Expr{inTitle}
	for _, c := range t.Concepts {
		c = c.base()
		titles = append(titles, HasKey(keyRoleTitle+c.ID), HasKey(keyRoleSecond+c.ID), HasKey(keyRoleHead+c.ID))
	}
	return []level{
		exact(0, HowTitle, Or(titles...)),
		exact(costWordInText, HowText, phrase),
		relaxed(costModifierMissing, HowMissing, All()),
	}
}

// addWording prefers titles with the words of the query to those with other names
// of the same thing.
func (b *planner) addWording() {
	var words []Expr
	for _, t := range b.terms(SlotRole, SlotSpecialty) {
		if !t.Unfinished {
			words = append(words, each(t.Words, HasTitleWord)...)
		}
	}
	if len(words) > 0 {
		b.add(-1, []level{
			exact(0, HowTitle, And(words...)),
			exact(costOtherWords/2, HowTitle, Or(words...)),
			exact(costOtherWords, HowMissing, All()),
		})
	}
}

// addProfession puts the posts of the profession that staffs a specialty before
// the others of a query without a role, and those outside of care last.
func (b *planner) addProfession() {
	var professions []Expr
	for i := range b.understanding.Terms {
		for _, c := range b.understanding.Terms[i].Concepts {
			for _, l := range c.Related {
				if l.To.Kind == Role {
					professions = append(professions, HasKey(keyRoleHead+l.To.ID))
				}
			}
		}
	}
	if b.has(SlotSpecialty, SlotSetting, SlotPhrase, SlotWord) {
		b.add(-1, []level{
			exact(0, HowTitle, Or(professions...)),
			exact(costOtherProfession, HowTitle, Not(HasKey(keyRoleHead+nonClinical))),
			exact(costNonClinical, HowMissing, All()),
		})
	}
}

// core matches what an exclusion takes out: adverts for the role itself, and the
// words.
func (t *Term) core() Expr {
	out := []Expr{HasPhrase(t.Words...)}
	if t.Slot == SlotPhrase {
		out = []Expr{HasLiteral(t.Words...)}
	}
	if len(t.Concepts) > 0 {
		out = append(out, And(each(t.Concepts, func(c *Concept) Expr { return about(c, keyRoleHead, keyRoleTitle) })...))
	}
	return Or(out...)
}

// alternatives returns Words and Or.
func (t *Term) alternatives() [][]string { return append([][]string{t.Words}, t.Or...) }

func each[T any](items []T, f func(T) Expr) []Expr {
	out := make([]Expr, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}
