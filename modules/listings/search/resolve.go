package search

import "slices"

// A part of a query is one or several of its words that have one meaning together. A form is a name in the vocabulary. It
// is ambiguous if several concepts have it. A term is the condition that a part becomes: its slot is the kind of the
// condition, such as a role, and its concepts are alternatives.

// resolve determines the concept of each part and converts the parts to terms.
func (q *query) resolve() {
	q.resolveForms()
	q.dropModifierRoles()
	q.joinAlternatives()

	for _, p := range q.parts {
		if p.term.Slot != "" {
			q.out.Terms = append(q.out.Terms, p.term)
		}
	}

	q.addImpliedRole()
}

// addImpliedRole adds the role of a grade that the query has without one: an ST3 is a
// doctor.
func (q *query) addImpliedRole() {
	var grade *Term // the first one that implies a role
	for i := range q.out.Terms {
		switch t := &q.out.Terms[i]; {
		case t.Excluded:
		case t.Slot == SlotRole:
			return
		case t.Slot == SlotGrade && grade == nil && t.Concepts[0].impliedRole() != nil:
			grade = t
		}
	}

	if grade != nil {
		role := grade.Concepts[0].impliedRole()
		q.out.Terms = append(q.out.Terms, Term{Slot: SlotRole, Concepts: []*Concept{role}, Start: grade.Start, End: grade.End})
	}
}

// impliedRole returns the role that comes with the concept or one above it, or
// nil.
func (c *Concept) impliedRole() *Concept {
	for _, i := range c.Implied {
		if i.Kind == Role {
			return i
		}
	}

	for _, p := range c.Parents {
		if r := p.To.impliedRole(); r != nil {
			return r
		}
	}

	return nil
}

// resolveForms gives each form its concept. A form with several meanings gets the one that fits the rest of the
// query: the concepts of the forms with one meaning, all words, and the kinds of the forms beside it.
func (q *query) resolveForms() {
	ctx := q.context()
	for i := range q.parts {
		p := &q.parts[i]
		switch {
		case p.form == nil:
		case !p.form.IsAmbiguous():
			p.concept = p.form.likeliest()
		default:
			own := ctx
			own.Capitals = p.capitals()
			own.Following, own.Preceding = q.kindsBeside(i)
			p.concept = p.form.Resolve(&own)
		}
	}
}

// context returns what decides the meaning of ambiguous forms: the unambiguous concepts, the words and the country of the
// query. Excluded parts do not count.
func (q *query) context() Context {
	ctx := Context{}

	words := map[string]bool{}
	for i := range q.parts {
		p := &q.parts[i]
		if p.term.Excluded {
			continue
		}

		for _, t := range p.tokens {
			words[Normalize(t.Word)] = true
		}

		if p.form != nil && !p.form.IsAmbiguous() {
			ctx.Concepts = append(ctx.Concepts, p.form.likeliest())
		}

		for _, place := range p.term.Places {
			ctx.Country = LowerASCII(place.Country)
		}
	}

	ctx.HasWord = func(word string) bool { return words[word] }

	return ctx
}

// capitals reports whether all words of the part are written in capitals, as abbreviations are.
func (p *part) capitals() bool {
	return !slices.ContainsFunc(p.tokens, func(t Token) bool { return !t.Capitals })
}

// kindsBeside returns the kinds that the forms beside part i may have.
func (q *query) kindsBeside(i int) (following, preceding []Kind) {
	kindsOf := func(i int) (kinds []Kind) {
		if i < 0 || i >= len(q.parts) || q.parts[i].form == nil {
			return nil
		}

		for _, r := range q.parts[i].form.Readings {
			kinds = append(kinds, r.Concept.Kind)
		}

		return kinds
	}

	return kindsOf(i + 1), kindsOf(i - 1)
}

// dropModifierRoles keeps one of several roles of a query, because a job is usually for one: the role of "nurse
// recruitment consultant" is the recruitment consultant. The others become conditions of another kind. Roles that OR
// joins are alternatives, so that all of them are kept.
func (q *query) dropModifierRoles() {
	var kept *part // the role that remains of those before
	for i := range q.parts {
		p := &q.parts[i]
		if !p.isRole() {
			continue
		}

		if kept == nil || p.or {
			kept = p
			continue
		}

		kept = q.mergeRoles(kept, p)
	}
}

// mergeRoles returns the role that remains of two roles. The other one becomes a condition beside it: a
// grade, a specialty or a word, or none if it adds nothing.
func (q *query) mergeRoles(earlier, later *part) (kept *part) {
	// The name of a doctor's grade beside another profession means only the grade: "consultant pharmacist".
	if grade := earlier.concept.gradeOf(later.concept); grade != nil {
		earlier.become(SlotGrade, grade)
		return later
	}

	if grade := later.concept.gradeOf(earlier.concept); grade != nil {
		later.become(SlotGrade, grade)
		return earlier
	}

	kept, dropped := later, earlier
	if q.isModifier(later, earlier) {
		kept, dropped = earlier, later
	}

	specialty := dropped.concept.impliedSpecialty()
	switch {
	case dropped.concept.IsKin(kept.concept): // roles of one family; the remaining role implies the dropped one
		dropped.concept, dropped.form, dropped.term = nil, nil, Term{}
	case specialty != nil: // the dentist of "receptionist at a dentist"
		dropped.become(SlotSpecialty, specialty)
	default: // a word that adverts should contain in any part of the title
		dropped.become(SlotWord, dropped.concept)
	}

	return kept
}

// isModifier reports whether the later of two roles only describes the earlier one. In English, the
// earlier role usually describes the later one, so this is the case only for one of four reasons:
// the earlier role is a kind of the later one, the later role is a leader of the earlier one, a
// preposition makes it subordinate, or it is a clinical role after an office role.
func (q *query) isModifier(later, earlier *part) bool {
	isMoreSpecific := earlier.concept.IsA(later.concept)
	isLeaderOfEarlier := later.concept.Leads && !earlier.concept.Leads
	isClinicalAfterOffice := earlier.concept.isNonClinical() && !earlier.concept.base().Generic &&
		!later.concept.isNonClinical()

	return isMoreSpecific || isLeaderOfEarlier || q.isSubordinate(earlier, later) || isClinicalAfterOffice
}

// impliedSpecialty returns the specialty that the role implies, or nil.
func (c *Concept) impliedSpecialty() *Concept {
	i := slices.IndexFunc(c.Implied, func(implied *Concept) bool { return implied.Kind == Specialty })
	if i < 0 {
		return nil
	}

	return c.Implied[i]
}

// become makes the part a finished term for a concept.
func (p *part) become(slot string, c *Concept) {
	p.term.Slot, p.term.Concepts = slot, []*Concept{c}
	p.concept, p.form = nil, nil
}

// gradeOf returns the grade of another profession that c means, or nil: the consultant of
// "consultant pharmacist" is no doctor.
func (c *Concept) gradeOf(other *Concept) *Concept {
	if c.Same == nil || c.IsKin(other) || other.isNonClinical() || len(c.Implied) != 1 || c.Implied[0].Kind != Grade {
		return nil
	}

	return c.Implied[0]
}

// isSubordinate reports whether a preposition precedes the later part, so that it only
// describes the earlier one: "secretary to the director".
func (q *query) isSubordinate(earlier, later *part) bool {
	from, to := earlier.term.End, later.term.Start
	if from > to {
		return false
	}

	for _, t := range Tokens(q.text[from:to]) {
		switch t.Word {
		case "to", "for", "of", "in", "at", "with", "supporting", "assisting":
			return true
		case "as":
			return false
		}
	}

	return false
}

// isNonClinical reports whether the concept is a role outside of care.
func (c *Concept) isNonClinical() bool {
	return slices.ContainsFunc(c.base().ancestors, func(l Link) bool { return l.To.ID == nonClinical })
}

// nonClinical is the concept above all roles outside of care.
const nonClinical = "non-clinical"

// joinAlternatives divides parts into their conditions and joins those that are alternatives into one term. Conditions
// are alternatives if OR is between them and they are of one kind. Two places or two shifts are alternatives without
// OR, because a job has only one (see alternativeOf).
func (q *query) joinAlternatives() {
	var joined []part
	for _, p := range q.joinRoles() {
		for _, condition := range p.meanings() {
			i := q.alternativeOf(joined, condition)
			if i < 0 {
				joined = append(joined, condition)
			} else {
				joined[i].term.addAlternative(&condition.term)
			}
		}
	}

	q.parts = joined
}

// addAlternative makes the term also accept what another one accepts. Terms may share the memory of their slices.
// slices.Clip makes append copy a slice, so that other terms do not change.
func (t *Term) addAlternative(other *Term) {
	for _, c := range other.Concepts {
		if !slices.Contains(t.Concepts, c) {
			t.Concepts = append(slices.Clip(t.Concepts), c)
		}
	}

	t.Places = append(slices.Clip(t.Places), other.Places...)
	if t.Slot == SlotPhrase || t.Slot == SlotWord {
		t.Or = append(slices.Clip(t.Or), other.Words)
	}

	t.End = other.End
}

// joinRoles joins roles on both sides of OR into one part if one of them is a concept of several conditions. For
// example, "urologist or nurse" means a doctor in urology, or a nurse. Without joinRoles, the conditions of the
// urologist would become terms of their own, which the nurse would have to meet, too.
func (q *query) joinRoles() []part {
	var joined []part
	for _, p := range q.parts {
		if len(joined) == 0 || !p.isAlternativeRole(&joined[len(joined)-1]) {
			joined = append(joined, p)
			continue
		}

		last := &joined[len(joined)-1]
		if last.term.either == nil {
			last.term.either = [][]*Concept{last.concept.Means()}
		}

		last.term.either = append(last.term.either, p.concept.Means())
		last.term.End = p.term.End
	}

	return joined
}

// isAlternativeRole reports whether OR joins the part to a previous role, and one of the two stands for several
// concepts, as urologist stands for doctor and urology (Concept.Same).
func (p *part) isAlternativeRole(previous *part) bool {
	if !p.or || !p.isRole() || !previous.isRole() {
		return false
	}

	return p.concept.Same != nil || previous.concept.Same != nil
}

// isRole reports whether the part is a role that is not excluded.
func (p *part) isRole() bool {
	return p.concept != nil && p.concept.Kind == Role && !p.term.Excluded
}

// meanings divides a part into its conditions and returns a part for each of them. For example, a urologist is a doctor
// in urology, which is a role and a specialty. meanings also sets the slot and the concepts of their terms.
func (p *part) meanings() []part {
	if p.concept == nil {
		return []part{*p}
	}

	conditions := p.concept.Means()
	if p.term.either != nil { // alternatives with several conditions each, which stay together
		p.term.Slot = SlotRole
		for _, concepts := range p.term.either {
			role := concepts[0] // the specialty and so on follow
			if !slices.Contains(p.term.Concepts, role) {
				p.term.Concepts = append(p.term.Concepts, role)
			}
		}

		return []part{*p}
	}

	// An excluded part stays one condition: "not urologist" excludes adverts that are for a doctor and in urology, and
	// not all adverts for doctors.
	if p.term.Excluded {
		p.term.Slot, p.term.Concepts = slots[p.concept.Kind], conditions
		if len(conditions) > 1 {
			p.term.Slot = SlotWord
		}

		return []part{*p}
	}

	// An unfinished word at the end of the query has the concepts of all its completions already.
	if len(p.term.Concepts) > 0 && p.concept.Same == nil {
		return []part{*p}
	}

	parts := make([]part, len(conditions))
	for i, c := range conditions {
		parts[i] = *p
		parts[i].composite = len(conditions) > 1

		parts[i].term.Slot, parts[i].term.Concepts = slots[c.Kind], []*Concept{c}
		// A general role, such as doctor for urologist, does not have the related roles of the entire concept itself.
		if c.Kind == Role && c != p.concept {
			parts[i].term.related = p.concept.Related
		}
	}

	return parts
}

// alternativeOf returns the index of the earlier part to which p is an alternative, or -1. OR makes a part an alternative
// to the one before it. In slots such as the place, of which a job has only one, it is an alternative without OR, too.
func (q *query) alternativeOf(earlier []part, p part) int {
	if p.term.Excluded {
		return -1
	}

	for i := len(earlier) - 1; i >= 0; i-- {
		// A composite part is one of several conditions of one concept. Between it and a condition of the same slot
		// there may be other conditions of the concept, which are skipped.
		isComposite := p.composite || earlier[i].composite

		// OR joins only neighbours. So the search for an alternative ends at a part of another slot, unless one of the
		// two is composite.
		other := &earlier[i].term
		if other.Excluded || other.Slot != p.term.Slot {
			if p.or && !isComposite {
				return -1
			}

			continue
		}

		switch p.term.Slot {
		case SlotPlace, SlotContract, SlotHours, SlotShift, SlotGrade:
			if p.or || !isComposite {
				return i
			}
		case SlotRole, SlotSpecialty, SlotSetting, SlotExperience, SlotPhrase, SlotWord:
			if p.or {
				return i
			}
		}

		if p.or {
			return -1
		}
	}

	return -1
}
