package search

import (
	"slices"
	"strings"
)

// The head of a part of a title is the name of the job that it is about. The heads of the first part that has one
// are the main roles: they get the level Head, or SecondChoice if the job is to become one or only close to it.
// Other roles of the title get the level InTitle. Two roles are kin if they are of one family, such as two kinds of
// nurses. A title is divided into alternatives, for example at slashes, and each of them has a head.

// tagHeads tags the heads of a title and reports whether there is a main role.
func (a *annotator) tagHeads(p *phrases) bool {
	// A job in sales is the main role, whatever is sold to whom.
	if sales := slices.IndexFunc(p.found, p.isSales); sales >= 0 {
		a.add(p.found[sales].concept, Head)
		return true
	}

	var heads []*Concept // the main roles so far
	mainPart := -1       // the part of the title with the main roles, -1 before the first
	isTraining := false

	skipQuestions := p.hasAnswer() // "Were you a nurse? Become a recruiter"
	for _, alt := range p.alternatives() {
		head := p.head(alt) // the index of a phrase
		if head < 0 {
			continue
		}

		isSkipped := skipQuestions && p.isQuestion(p.found[head].part)
		if isSkipped {
			continue
		}

		// Only heads of the first part of the title that has one are main roles.
		isMain := mainPart < 0 || mainPart == p.found[head].part

		// A word such as trainee also counts for the next alternative after a slash: "Trainee Dental
		// Nurse/Receptionist" is a trainee in both.
		isTraining = p.isTraining(alt) || isTraining && p.words[alt.start].gap == gapSlash

		// Other words of the title may complete the name of the job.
		concept := a.inverted(p, head)
		if isMain {
			mainPart = p.found[head].part
			concept = a.completed(p, head)
		}

		p.found[head].concept = concept

		// Tag the job at its level, and the jobs that it comes with.
		level := InTitle
		switch {
		case isMain && isTraining:
			level = SecondChoice
		case isMain, a.isKinOfAny(concept, heads):
			level = Head
		}

		isMainRole := level < InTitle // the strongest levels come first
		if isMainRole {
			level = a.addLed(p, head, level)
			a.addKin(p, alt.from, head, level)

			heads = append(heads, concept)
		}

		a.add(concept, level)
		a.addLearned(p, p.found[head])
	}

	if mainPart >= 0 {
		a.addListed(p, heads[0], mainPart)
	}

	return mainPart >= 0
}

// isKinOfAny reports whether a role is of the same family as one of the main roles. Beside a main role that is a clerk,
// all clerical roles count as its family.
func (a *annotator) isKinOfAny(c *Concept, heads []*Concept) bool {
	return slices.ContainsFunc(heads, func(main *Concept) bool {
		return main.IsKin(c) || a.isClerical(main) && a.isA(c, "admin-role")
	})
}

// isSales reports whether a phrase is a part of the title that means that the job is in
// sales: "Nurse Adviser, Stoma Products (Sales)".
func (p *phrases) isSales(f phrase) bool {
	return f.isRole() && f.concept.ID == "commercial-role" && p.tokens[f.Start].Word == "sales" && p.isPart(f.Match)
}

// addLed tags the role that a head such as "team leader" leads. A health visitor team leader is a health
// visitor. The clinical lead of a physiotherapy team is perhaps a physiotherapist.
//
// It returns the level of the head. This is the argument level with one exception: after a profession, a
// mere word such as "team lead" becomes a second choice, because the profession is the main role.
func (a *annotator) addLed(p *phrases, head int, level Level) Level {
	h := p.found[head].concept
	if !h.Leads {
		return level
	}

	if !p.isRoleBefore(head) {
		if c := a.professionOf(p); c != nil && !h.Generic {
			a.add(c, SecondChoice)
		}

		return level
	}

	led := p.found[head-1]

	isMereWord := h.Generic
	if isMereWord && a.isProfession(led.concept) {
		a.add(led.concept, level)
		return SecondChoice
	}

	a.add(led.concept, SecondChoice)

	return level
}

// isRoleBefore reports whether the words directly before phrase i are a role in the same part.
func (p *phrases) isRoleBefore(i int) bool {
	if i == 0 {
		return false
	}

	before := p.found[i-1]

	return before.isRole() && before.part == p.found[i].part && before.End == p.found[i].Start
}

// addLearned tags the profession that a trainee learns as a second choice: a
// trainee radiographer.
func (a *annotator) addLearned(p *phrases, f phrase) {
	if !a.isA(f.concept, "student-role") {
		return
	}

	// The name of the profession begins after the words such as trainee.
	start := f.Start
	for start < f.End && isLearning(p.tokens[start].Word, f.concept) {
		start++
	}

	if start == f.Start || start == f.End {
		return // one of the two is missing
	}

	if c := a.roleAt(p, start, f.End); c != nil && c.isNamed() && !a.isA(c, "student-role") {
		a.add(c, SecondChoice)
		a.tagGrade(learningGrade(p.tokens[f.Start].Word), InTitle)
	}
}

// learningGrade returns the name of the grade of a trainee or student.
func learningGrade(word string) string {
	if word == "student" || word == "apprentice" {
		return word
	}

	return "trainee"
}

// isLearning reports whether a word before a profession means that it is learned in paid
// work. The students of some professions have roles of their own.
func isLearning(word string, role *Concept) bool {
	switch word {
	case "trainee", "apprentice", "pre", "registration", "reg", "prereg":
		return true
	case "student":
		return role.ID == "student-ahp"
	}

	return false
}

// addKin tags the roles before a head if they are of the same family as the head: an "LPN Wound Care Nurse" is both an
// LPN and a nurse. Such a role is a second choice. If the head is a broad role such as nurse, which says little, the
// role before it gets the level of the head.
func (a *annotator) addKin(p *phrases, from, head int, level Level) {
	h := p.found[head].concept
	for _, f := range p.found[from:head] {
		if !f.isRole() || !f.concept.isNamed() || !f.concept.IsKin(h) {
			continue
		}

		if h.base().Broad {
			a.add(f.concept, level)
		} else {
			a.add(f.concept, SecondChoice)
		}
	}
}

// addListed tags the professions that a later part of the title lists, as in "Case Manager – RN or MSW" or
// "Practitioner (Nurse/OT)". They are second choices, because the main role comes first. main is one of the main roles,
// and mainPart is their part of the title.
func (a *annotator) addListed(p *phrases, main *Concept, mainPart int) {
	if main.isNonClinical() {
		return
	}

	for _, f := range p.found {
		if f.part <= mainPart || !f.isRole() || !p.isList(f.part) {
			continue
		}

		isClinical := a.isProfession(f.concept) || a.isA(f.concept, doctor)

		// The professions that a support worker's title lists are usually those that are supported.
		isSupported := a.isA(main, support) && !a.isA(f.concept, support)

		if isClinical && !isSupported {
			a.add(f.concept, SecondChoice)
		}
	}
}

// support is the concept above all roles without a professional registration.
const support = "healthcare-support"

// isList reports whether a part of the title is in brackets or names nothing
// but roles.
func (p *phrases) isList(part int) bool {
	first, last := -1, -1 // the first and the last phrase of the part

	hasRolesOnly := true
	for i, f := range p.found {
		if f.part != part {
			continue
		}

		if first < 0 {
			first = i
		}

		hasRolesOnly = hasRolesOnly && f.isRole()
		last = i
	}

	if strings.Contains(p.tokens[p.found[first].Start].Gap, "(") {
		return true
	}

	beginsPart := p.words[p.found[first].Start].gap == gapBreak
	endsPart := p.found[last].End == len(p.words) || p.words[p.found[last].End].gap == gapBreak

	return hasRolesOnly && beginsPart && endsPart
}

// completed returns the concept of a head. A noun that says little, such as technician or nurse, is completed to a more
// specific role by a specialty or a setting: "Technologist, Ultrasound" or "Nurse wanted for dental practice". The
// specialty or setting is looked for in the title, then in the fields, and then in the name of the employer.
func (a *annotator) completed(p *phrases, head int) *Concept {
	h := p.found[head]
	if c := a.inverted(p, head); c != h.concept {
		return c
	}

	noun := p.tokens[h.Start:h.End]
	switch {
	case a.isClerical(h.concept): // such as the clerk of "admin clerk"
		noun = noun[len(noun)-1:]
	case !h.concept.isUnspecific():
		return h.concept
	}

	// The title has priority over the fields, and these over the name of the employer.
	for _, text := range []*phrases{p, &a.fields[0], &a.fields[1], &a.company} {
		for _, f := range text.found {
			if k := f.Form.likeliest().Kind; k != Specialty && k != Setting {
				continue
			}

			if c := a.compound(text, f, noun); c != nil && a.completes(c, h.concept) {
				return c
			}
		}
	}

	return h.concept
}

// inverted returns the concept of a head, or a more specific role if the next part of the title completes the head. This
// is so if the words of the entire next part followed by the head are the name of a role: "Therapist, Speech" is a speech
// therapist.
func (a *annotator) inverted(p *phrases, head int) *Concept {
	h := p.found[head]

	isAtBreak := h.End < len(p.words) && p.words[h.End].gap == gapBreak
	if h.concept.base().isNamed() || !isAtBreak {
		return h.concept
	}

	end := h.End + 1
	for end < len(p.words) && p.words[end].gap != gapBreak {
		end++
	}

	if c := a.roleOf(p.tokens[h.End:end], p.tokens[h.Start:h.End]); c != nil {
		return c
	}

	return h.concept
}

// compound returns the role whose name consists of a phrase and a noun, or nil:
// "dental practice" and "nurse" make a dental nurse.
func (a *annotator) compound(text *phrases, f phrase, noun []Token) *Concept {
	words := text.tokens[f.Start:f.End]
	if c := a.roleOf(words, noun); c != nil {
		return c
	}

	if len(words) == 1 {
		return nil
	}

	// The first word alone may mean the same: "dental practice" and "dental".
	first := a.v.Form(words[0].Word)
	if first == nil || first.likeliest() != f.Form.likeliest() {
		return nil
	}

	return a.roleOf(words[:1], noun)
}

// roleOf returns the role whose name is the words followed by the noun, or nil.
func (a *annotator) roleOf(words, noun []Token) *Concept {
	var text strings.Builder
	for _, part := range [...][]Token{words, noun} {
		for _, t := range part {
			text.WriteString(t.Word + " ")
		}
	}

	f := a.v.Form(text.String())
	if f == nil || f.IsAmbiguous() || f.likeliest().Kind != Role {
		return nil
	}

	return f.likeliest()
}

// completes reports whether a compound is more specific than its noun.
func (a *annotator) completes(c, noun *Concept) bool {
	return !c.Generic && c.base() != noun.base() && (!a.isClerical(noun) || a.isA(c, "admin-role"))
}

// isUnspecific reports whether a role is an unspecific noun.
func (c *Concept) isUnspecific() bool { return c.Generic || c.Broad || c.isUnspecified() }

// isNamed reports whether a role is neither a noun such as technician nor the name of a group
// of roles.
func (c *Concept) isNamed() bool { return !c.Generic && !c.Broad }

// isClerical reports whether a role is a clerk or administrator without further
// qualification.
func (a *annotator) isClerical(c *Concept) bool { return c.ID == "administrator" }

// isA reports whether a role is the one with the id or below it. An id that the vocabulary of an operator
// lacks is above nothing.
func (a *annotator) isA(c *Concept, id string) bool {
	other := a.v.byID[id]
	return other != nil && c.IsA(other)
}

// isProfession reports whether a role is a clinical one other than doctor.
func (a *annotator) isProfession(c *Concept) bool {
	return c.isNamed() && !c.isNonClinical() && !a.isA(c, doctor) && !a.isA(c, "educator")
}

// readGrades corrects phrases that are the name of a doctor of some grade, such as "staff grade". Beside another
// profession, such a phrase means only the grade: a "Dietitian, Staff Grade" is no doctor. Beside a specialty that
// another profession staffs, it means that profession: a "Dental Registrar" is a dentist.
func (a *annotator) readGrades(p *phrases) {
	for i := range p.found {
		grade := p.found[i].doctorGrade()
		if grade == nil {
			continue
		}

		if a.followsProfession(p, i) || a.precedesProfession(p, i) {
			p.found[i].concept = grade
			continue
		}

		if profession := a.professionOf(p); profession != nil {
			p.found[i].concept = profession

			a.add(grade, InTitle)
		}
	}
}

// professionOf returns the profession that staffs the first specialty of a title, or one above that specialty: that of
// dentistry is the dentist. It returns nil if doctors specialize in it.
func (a *annotator) professionOf(p *phrases) *Concept {
	first := slices.IndexFunc(p.found, func(f phrase) bool { return f.concept != nil && f.concept.Kind == Specialty })

	doctorRole := a.v.byID[doctor] // nil if an operator has replaced the vocabulary
	if first < 0 || doctorRole == nil {
		return nil
	}

	// If there is a name for a doctor in the specialty, such as urologist, doctors specialize in it.
	specialty := p.found[first].concept
	if a.v.hasComposite(doctorRole, specialty) {
		return nil
	}

	if profession := a.ownProfession(specialty, doctorRole); profession != nil {
		return profession
	}

	for _, up := range specialty.ancestors {
		isSecondChoice := up.Strength < 1
		if isSecondChoice {
			continue
		}

		if profession := a.ownProfession(up.To, doctorRole); profession != nil {
			return profession
		}
	}

	return nil
}

// sameProfession is the strength from which on a role that is related to a
// specialty is its profession.
const sameProfession = .9

// ownProfession returns the profession of a specialty, or nil if there is none or doctors specialize in the specialty or
// in one above it.
func (a *annotator) ownProfession(specialty, doctorRole *Concept) *Concept {
	isProfession := func(l Link) bool { return l.To.Kind == Role && l.Strength >= sameProfession }

	i := slices.IndexFunc(specialty.Related, isProfession)
	if i < 0 {
		return nil
	}

	profession := specialty.Related[i].To
	if profession.IsA(doctorRole) || a.v.hasComposite(doctorRole, specialty) {
		return nil
	}

	hasDoctors := func(l Link) bool { return l.Strength == 1 && a.v.hasComposite(doctorRole, l.To) }
	if slices.ContainsFunc(specialty.ancestors, hasDoctors) {
		return nil
	}

	return profession
}

// followsProfession reports whether a profession precedes phrase i, which is no
// alternative to it.
func (a *annotator) followsProfession(p *phrases, i int) bool {
	f := p.found[i]
	if f.Start > 0 {
		before := p.tokens[f.Start-1].Word

		isAlternative := p.words[f.Start].gap == gapSlash || before == "or" || before == "and"
		if isAlternative {
			return false
		}
	}

	j := slices.IndexFunc(p.found[:i], func(g phrase) bool { return g.isRole() && a.isProfession(g.concept) })

	return j >= 0 && !p.hasPreposition(p.found[j].End, f.Start)
}

// precedesProfession reports whether a profession follows directly after phrase i.
func (a *annotator) precedesProfession(p *phrases, i int) bool {
	if i+1 == len(p.found) {
		return false
	}

	next := p.found[i+1]
	isAdjacent := next.Start == p.found[i].End && p.words[next.Start].gap == gapNone

	return isAdjacent && next.isRole() && a.isProfession(next.concept)
}

// doctorGrade returns the grade of a phrase that means a doctor of a grade and
// nothing more, or nil.
func (f *phrase) doctorGrade() *Concept {
	if !f.isRole() || f.concept.Same == nil || f.concept.base().ID != doctor {
		return nil
	}

	var grade *Concept
	for _, c := range f.concept.Implied {
		if c.Kind != Grade {
			return nil
		}

		grade = c
	}

	return grade
}
