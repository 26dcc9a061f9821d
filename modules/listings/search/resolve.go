package search

import "slices"

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
	var from *Term
	for i := range q.out.Terms {
		switch t := &q.out.Terms[i]; {
		case t.Excluded:
		case t.Slot == SlotRole:
			return
		case t.Slot == SlotGrade && from == nil && t.Concepts[0].impliedRole() != nil:
			from = t
		}
	}

	if from != nil {
		role := from.Concepts[0].impliedRole()
		q.out.Terms = append(q.out.Terms, Term{Slot: SlotRole, Concepts: []*Concept{role}, Start: from.Start, End: from.End})
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

// resolveForms gives each form its concept: first those with one meaning, then
// the others in the context of these.
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
			own.Before, own.After = q.kindsBeside(i)
			p.concept = p.form.Resolve(&own)
		}
	}
}

// context returns the unambiguous parts of the query.
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

// capitals reports whether the part is written in capitals, which has no meaning in a
// query without lower-case letters.
func (p *part) capitals() bool {
	return !slices.ContainsFunc(p.tokens, func(t Token) bool { return !t.Capitals })
}

// kindsBeside returns what the unambiguous forms beside part i may be.
func (q *query) kindsBeside(i int) (before, after []Kind) {
	kindsOf := func(i int) (kinds []Kind) {
		if i < 0 || i >= len(q.parts) || q.parts[i].form == nil {
			return nil
		}

		for _, r := range q.parts[i].form.Readings {
			kinds = append(kinds, r.Concept.Kind)
		}

		return kinds
	}

	// Context.Before contains the words after the form, Context.After those before it.
	return kindsOf(i + 1), kindsOf(i - 1)
}

// dropModifierRoles keeps one role of several adjacent ones: the more
// specific one if they are kin, else the last one, to which the others are
// modifiers ("optometry receptionist", "nurse recruitment consultant").
func (q *query) dropModifierRoles() {
	last := -1 // the previous role
	for i := range q.parts {
		p := &q.parts[i]
		if p.concept == nil || p.concept.Kind != Role || p.term.Excluded {
			continue
		}

		if last >= 0 && !p.or {
			drop := last // the earlier role, unless one of the cases below holds

			prev := q.parts[last].concept
			switch {
			case prev.gradeOf(p.concept) != nil:
				q.parts[last].becomeGrade(p.concept)

				last = i
				continue
			case p.concept.gradeOf(prev) != nil:
				p.becomeGrade(prev)
				continue
			case prev.IsA(p.concept),
				p.concept.Leads && !prev.Leads,
				q.isSubordinate(last, i),
				prev.isNonClinical() && !prev.base().Generic && !p.concept.isNonClinical():
				drop = i
			}

			if !q.parts[drop].describe(q.parts[last+i-drop].concept) {
				q.parts[drop].demote(!q.parts[drop].concept.IsKin(q.parts[last+i-drop].concept))
			}

			if drop == i {
				continue // the previous role remains
			}
		}

		last = i
	}
}

// gradeOf returns the grade of another profession that c means, or nil: the consultant of
// "consultant pharmacist" is no doctor.
func (c *Concept) gradeOf(other *Concept) *Concept {
	if c.Same == nil || c.IsKin(other) || other.isNonClinical() || len(c.Implied) != 1 || c.Implied[0].Kind != Grade {
		return nil
	}

	return c.Implied[0]
}

// becomeGrade turns a role into the grade of another one.
func (p *part) becomeGrade(of *Concept) {
	p.term.Slot, p.term.Concepts = SlotGrade, []*Concept{p.concept.gradeOf(of)}
	p.concept, p.form = nil, nil
}

// isSubordinate reports whether a preposition precedes part i, so that it only describes
// the earlier part: "secretary to the director".
func (q *query) isSubordinate(earlier, i int) bool {
	from, to := q.parts[earlier].term.End, q.parts[i].term.Start
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

// describe turns a role into the specialty that it implies and reports whether
// it implies one: the dentist of "receptionist at a dentist".
func (p *part) describe(role *Concept) bool {
	i := slices.IndexFunc(p.concept.Implied, func(c *Concept) bool { return c.Kind == Specialty })
	if i < 0 || p.concept.IsKin(role) {
		return false
	}

	p.term.Slot, p.term.Concepts = SlotSpecialty, []*Concept{p.concept.Implied[i]}
	p.concept, p.form = nil, nil

	return true
}

// demote makes a role a modifier: a word that adverts should contain, in any part of
// the title. If it is not wanted, since the remaining role implies it, it is dropped.
func (p *part) demote(wanted bool) {
	p.term.Slot, p.term.Concepts = SlotWord, []*Concept{p.concept}

	p.concept, p.form = nil, nil
	if !wanted {
		p.term = Term{}
	}
}

// joinAlternatives joins the parts on both sides of OR if they are of one kind.
// Other slots of which a query names several things are alternatives too: two
// places, two shifts.
func (q *query) joinAlternatives() {
	var out []part
	for _, p := range q.joinRoles() {
		for _, p := range p.meanings() {
			into := q.alternativeOf(out, p)
			if into < 0 {
				out = append(out, p)
				continue
			}

			t := &out[into].term
			for _, c := range p.term.Concepts {
				if !slices.Contains(t.Concepts, c) {
					t.Concepts = append(slices.Clip(t.Concepts), c)
				}
			}

			t.Places = append(slices.Clip(t.Places), p.term.Places...)
			if t.Slot == SlotPhrase || t.Slot == SlotWord {
				t.Or = append(slices.Clip(t.Or), p.term.Words)
			}

			t.End = p.term.End
		}
	}

	q.parts = out
}

// joinRoles joins roles on both sides of OR if one of them has several concepts: a
// urologist or a nurse.
func (q *query) joinRoles() []part {
	var out []part
	for _, p := range q.parts {
		if n := len(out); n > 0 && p.or && p.isRole() && out[n-1].isRole() && (p.concept.Same != nil || out[n-1].concept.Same != nil) {
			last := &out[n-1].term
			if last.either == nil {
				last.either = [][]*Concept{out[n-1].concept.Means()}
			}

			last.either, last.End = append(last.either, p.concept.Means()), p.term.End
			continue
		}

		out = append(out, p)
	}

	return out
}

// isRole reports whether the part is a role that is not excluded.
func (p *part) isRole() bool {
	return p.concept != nil && p.concept.Kind == Role && !p.term.Excluded
}

// meanings divides a part into its conditions: a urologist is a doctor in urology.
func (p *part) meanings() []part {
	if p.concept == nil {
		return []part{*p}
	}

	means := p.concept.Means()
	if p.term.either != nil {
		p.term.Slot = SlotRole
		for _, m := range p.term.either {
			if !slices.Contains(p.term.Concepts, m[0]) {
				p.term.Concepts = append(p.term.Concepts, m[0])
			}
		}

		return []part{*p}
	}

	if p.term.Excluded {
		p.term.Slot, p.term.Concepts = slots[p.concept.Kind], means
		if len(means) > 1 {
			p.term.Slot = SlotWord
		}

		return []part{*p}
	}

	if len(p.term.Concepts) > 0 && p.concept.Same == nil { // the concepts of an unfinished word
		return []part{*p}
	}

	out := make([]part, len(means))
	for i, c := range means {
		out[i] = *p
		out[i].composite = len(means) > 1

		out[i].term.Slot, out[i].term.Concepts = slots[c.Kind], []*Concept{c}
		if c.Kind == Role && c != p.concept {
			out[i].term.related = p.concept.Related
		}
	}

	return out
}

// alternativeOf returns the earlier part to which p is an alternative, or -1.
func (q *query) alternativeOf(earlier []part, p part) int {
	if p.term.Excluded {
		return -1
	}

	for i := len(earlier) - 1; i >= 0; i-- {
		e := &earlier[i].term
		if e.Excluded || e.Slot != p.term.Slot {
			if p.or && !p.composite && !earlier[i].composite {
				return -1 // OR joins neighbours alone
			}

			continue
		}

		switch p.term.Slot {
		case SlotPlace, SlotContract, SlotHours, SlotShift, SlotGrade:
			if p.or || !p.composite && !earlier[i].composite {
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
