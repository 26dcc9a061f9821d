package search

import (
	"cmp"
	"slices"
	"strings"
)

// A slot is a part of a query, such as the role. Its levels are the ways in which an advert can satisfy it, each with
// a condition on the keys and words of the advert and with a cost, which is higher the less the advert fits. An
// advert has the first level whose condition it meets. It is an exact hit if this level is exact in each slot, and
// else a relaxed hit, which is only shown after all exact ones.

// level is a SlotLevel together with how a document satisfies the slot at this level.
type level struct {
	SlotLevel
	how How
}

// exact returns a level for exact hits.
func exact(cost int, how How, e Expr) level {
	return level{SlotLevel{Expr: e, Cost: cost, Exact: true}, how}
}

// relaxed returns a level for relaxed hits.
func relaxed(cost int, how How, e Expr) level {
	return level{SlotLevel{Expr: e, Cost: cost, Exact: false}, how}
}

// levels returns the levels of a term, the cheapest first.
func (b *planner) levels(term *Term) []level {
	var out []level
	switch term.Slot {
	case SlotRole:
		out = b.role(term)
	case SlotSpecialty:
		out = b.specialty(term)
	case SlotPlace:
		out = b.place(term)
	case SlotPay:
		out = []level{
			exact(0, HowField, PaysBetween(*term.Pay)),
			relaxed(costPayUnstated, HowMissing, Not(PaysBetween(PayRange{}))),
			relaxed(costContradicts, HowMissing, All()),
		}
	case SlotEmployer:
		out = []level{exact(0, HowField, HasKey(keyEmployer+strings.Join(term.Words, " ")))}
	case SlotWord:
		out = b.word(term)
	default:
		out = b.detail(term)
	}

	slices.SortStableFunc(out, func(x, y level) int { return cmp.Compare(x.Cost, y.Cost) })

	return out
}

// anyKey matches the documents with one of the concepts under the prefix.
func anyKey(prefix string, concepts []*Concept) Expr {
	return Or(each(concepts, func(c *Concept) Expr { return HasKey(prefix + c.ID) })...)
}

// role returns the levels of a term for roles: the main role, then roles that the advert names elsewhere, and
// then related roles.
func (b *planner) role(term *Term) []level {
	head := anyKey(keyRoleHead, term.Concepts) // the role is a main role of the advert

	// Of alternatives such as "urologist or nurse", an advert must have all concepts of one.
	hasComposite := term.either != nil
	if hasComposite {
		head = Or(each(term.either, func(all []*Concept) Expr { return And(each(all, isMain)...) })...)
	}

	// In another order than relevance, adverts for the first role of the query precede the others.
	if b.First == nil {
		b.First = &head
	}

	if hasComposite {
		return []level{exact(0, HowTitle, head)}
	}

	// A title with several main roles, such as "Nurse or Midwife", fits a query for one of them a little less than a title
	// with this role alone.
	alone := head
	if len(term.Concepts) == 1 {
		alone = And(head, Not(HasKey(keyRoleShared)))
	}

	out := []level{
		exact(0, HowTitle, alone),
		exact(costShared, HowTitle, head),
		exact(costRoleText, HowText, anyKey(keyRoleText, term.Concepts)),
		exact(costSecond, HowTitle, anyKey(keyRoleSecond, term.Concepts)),
	}
	// A role elsewhere in the title than as the main role makes an advert a relaxed hit. This does not apply to a broad
	// role, because a word such as doctor elsewhere in a title says little about the job.
	if !hasBroad(term.Concepts) {
		isClinical := Not(HasKey(keyRoleHead + nonClinical))
		out = append(out, relaxed(costRoleTitle, HowTitle, And(anyKey(keyRoleTitle, term.Concepts), isClinical)))
	}

	out = append(out, composed(term.Concepts)...)

	// A broad role in a specialty, such as "radiology nurse", also finds other professions there. Doctors are no such role.
	isBroadInSpecialty := b.specMissing() == costSpecBroad && b.has(SlotSpecialty)
	if isBroadInSpecialty && term.Concepts[0].ID != doctor {
		out = append(out, relaxed(costOtherRole, HowRelated, b.othersInSpecialty()))
	}

	return append(out, relatedLevels(term.Concepts, term.related, keyRoleHead, costStep)...)
}

// isMain matches the adverts that name a concept in the title or a field.
func isMain(c *Concept) Expr { return about(c, keyRoleHead) }

// composed returns levels for adverts that name a more general role together with the specialty
// that the requested role implies: a physiologist in neurophysiology is a neurophysiologist.
func composed(roles []*Concept) (levels []level) {
	for _, role := range roles {
		for _, parent := range role.Parents {
			isSpecificParent := parent.Strength == 1 && !parent.To.Broad
			if !isSpecificParent {
				continue
			}

			for _, implied := range role.Implied {
				if implied.Kind == Specialty {
					both := And(HasKey(keyRoleHead+parent.To.ID), HasKey(keySpecTitle+implied.ID))
					levels = append(levels, exact(costComposed, HowTitle, both))
				}
			}
		}
	}

	return levels
}

// othersInSpecialty matches jobs of other professions in the requested specialty. It excludes doctors, jobs outside of
// care, and the professions that belong to the specialty itself: to a query for a radiology nurse, a radiographer is
// no answer.
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

// professions returns the roles that are related to the specialties or to those above them.
func professions(specialties []*Concept) (roles []*Concept) {
	for _, specialty := range specialties {
		for _, related := range specialty.Related {
			if related.To.Kind == Role {
				roles = append(roles, related.To)
			}
		}

		for _, parent := range specialty.Parents {
			roles = append(roles, professions([]*Concept{parent.To})...)
		}
	}

	return roles
}

// relatedLevels returns levels for the siblings, parents and related concepts of the given
// concepts, and for the concepts in others. Adverts have these concepts as keys with the prefix.
// The cost is step for no relation at all, and lower the stronger the relation is.
func relatedLevels(concepts []*Concept, others []Link, prefix string, step float64) []level {
	strengths := map[*Concept]float64{}
	addStrength := func(c *Concept, strength float64) {
		if !slices.Contains(concepts, c) {
			strengths[c] = max(strengths[c], strength)
		}
	}

	for _, c := range concepts {
		for _, s := range c.Siblings() {
			addStrength(s, kinStrength)
		}

		for _, p := range c.Parents {
			isClose := !p.To.Broad || c.Kind == Specialty
			if isClose {
				addStrength(p.To, kinStrength*p.Strength)
			}
		}

		for _, r := range c.Related {
			addStrength(r.To, r.Strength)
		}
	}

	for _, r := range others {
		addStrength(r.To, r.Strength)
	}

	// Concepts of equal cost share a level: fewer levels are evaluated faster.
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

// specialty returns the levels of a term for specialties: the title, a field and the text, then related
// specialties and, beside a role, every other one.
func (b *planner) specialty(t *Term) []level {
	out := []level{
		exact(0, HowTitle, And(anyKey(keySpecTitle, t.Concepts), anyKey(keySpecNamed, t.Concepts))),
		exact(costSpecBelow, HowTitle, anyKey(keySpecTitle, t.Concepts)),
		exact(costSpecField, HowField, anyKey(keySpecField, t.Concepts)),
		// If an advert states another specialty, it only mentions the requested one.
		exact(costSpecText, HowText, And(anyKey(keySpecText, t.Concepts), Not(HasKey(keyStated+SlotSpecialty)))),
		relaxed(costSpecText, HowText, anyKey(keySpecText, t.Concepts)),
	}

	const step = .8 * costStep // another specialty matters less than another role

	out = append(out, relatedLevels(t.Concepts, nil, keySpecTitle, step)...)
	// Beside a role, adverts in any other specialty are relaxed hits. Without a role, the specialty is the main
	// condition of the query, so that every hit has to be in it or in a related one.
	if b.has(SlotRole) {
		out = append(out, relaxed(b.specMissing(), HowMissing, All()))
	}

	return out
}

// specMissing returns the cost of an advert in another specialty.
func (b *planner) specMissing() int {
	if slices.ContainsFunc(b.terms(SlotRole), func(t *Term) bool { return hasBroad(t.Concepts) }) {
		return costSpecBroad
	}

	return costSpecMissing
}

// hasBroad reports whether one of the concepts is broad.
func hasBroad(concepts []*Concept) bool {
	return slices.ContainsFunc(concepts, func(c *Concept) bool { return c.Broad })
}

// remoteConcept is the concept of working from home.
const remoteConcept = "work-from-home"

// detail returns the levels of a term for grade, experience, contract, hours, shift or setting.
func (b *planner) detail(term *Term) []level {
	stated := HasKey(keyStated + term.Slot)
	if slices.ContainsFunc(term.Concepts, func(c *Concept) bool { return c.ID == remoteConcept }) {
		return []level{
			exact(0, HowField, HasKey(keyRemote)),
			exact(costSettingText, HowText, HasKey(SlotSetting+":telehealth")),
			relaxed(b.detailCost(costContradicts), HowMissing, All()),
		}
	}

	anywhere := anyKey(term.Slot+":", term.Concepts)

	met := []level{exact(0, HowField, anywhere)}
	// A setting in the description counts less than one in a field, because a description may also name settings
	// other than that of the job.
	if term.Slot == SlotSetting {
		inField := anyKey(keySettingField, term.Concepts)
		met = []level{exact(0, HowField, inField), exact(costSettingText, HowText, anywhere)}
	}

	// Without a role, the detail is a main condition of the query, so that every hit has to meet it.
	if !b.has(SlotRole) {
		return met
	}

	out := slices.Concat(met, []level{
		relaxed(b.detailCost(costSilent), HowMissing, Not(stated)),
		relaxed(b.detailCost(costContradicts), HowMissing, stated),
	})
	for _, l := range relatedLevels(term.Concepts, nil, term.Slot+":", costSilent) {
		l.Cost = b.detailCost(l.Cost)
		out = append(out, l)
	}

	return out
}

// detailCost reduces the cost of a detail, so that the costs of all details together do not
// exceed maxDetails.
func (b *planner) detailCost(cost int) int {
	details := len(b.terms(SlotGrade, SlotExperience, SlotContract, SlotHours, SlotShift, SlotSetting))
	highestSum := costContradicts * max(details, 1)

	return min(cost, max(1, cost*maxDetails/highestSum))
}

// place returns the levels of a term for places: at the place, remote work, and then ever larger distances.
func (b *planner) place(term *Term) []level {
	anyPlace := func(f func(p Place) Expr) Expr { return Or(each(term.Places, f)...) }
	within := func(factor float64) Expr {
		return anyPlace(func(p Place) Expr {
			switch p.Kind {
			case Town:
				return IsWithin(Point{p.Lat, p.Lon}, factor*b.radius)
			case Region: // its neighbours
				return IsWithin(Point{p.Lat, p.Lon}, factor*regionRadius)
			}

			return Or() // nothing is near a country
		})
	}

	at := anyPlace(func(p Place) Expr { return PlaceExpr(p, b.radius) })
	remote := anyPlace(func(p Place) Expr { return Or(HasKey(keyRemote+p.Country), HasKey(keyRemoteAnywhere)) })
	sameCountry := anyPlace(func(p Place) Expr { return HasKey(keyCountry + p.Country) })
	sameRegion := anyPlace(func(p Place) Expr {
		if p.Kind != Town || p.Region == "" {
			return Or() // matches nothing
		}

		return HasKey(keyRegion + p.Country + "/" + p.Region)
	})

	return []level{
		exact(0, HowField, at),
		exact(costRemote, HowField, remote),
		relaxed(costNearby, HowNearby, within(nearbyFactor)),
		relaxed(costFar, HowNearby, within(farFactor)),
		relaxed(costNamed, HowText, HasPhrase(term.Words...)),
		relaxed(costSameRegion, HowNearby, sameRegion),
		relaxed(costSameCountry, HowMissing, sameCountry),
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

// word returns the levels of a term of free text. Every hit contains the text.
func (b *planner) word(t *Term) []level {
	isModifier := len(t.Concepts) > 0 // a role that describes another one is read as free text
	if isModifier {
		return modifier(t)
	}

	title := Or(each(t.alternatives(), func(words []string) Expr { return HasTitleWord(words[0]) })...)

	anywhere := Or(each(t.alternatives(), func(words []string) Expr { return HasWord(words[0]) })...)
	if t.Unfinished {
		title, anywhere = Or(title, HasTitlePrefix(t.Words[0])), Or(anywhere, HasPrefix(t.Words[0]))
	}

	// All free words together cost about as much as one.
	freeWords := 0 // at least this one
	for i := range b.understanding.Terms {
		if b.understanding.Terms[i].Slot == SlotWord {
			freeWords++
		}
	}

	cost := max(1, costWordInText/freeWords)

	return []level{exact(0, HowTitle, title), exact(cost, HowText, anywhere)}
}

// modifier returns the levels of a role that only describes another role, such as "nurse" in
// "nurse recruitment consultant".
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
