package search

import "strings"

// parseText divides the description and the requirements into words.
func (a *annotator) parseText() {
	text := a.advert.Description
	if len(a.advert.Requirements) > 0 {
		text += "\n" + strings.Join(a.advert.Requirements, "\n")
	}

	p := &a.text
	p.tokens = splitNumbers(AppendTokens(p.tokens[:0], text))
	p.words = a.v.appendWords(p.words[:0], p.tokens)
	p.caps = false
	p.found = p.found[:0]
}

// tagText tags what the description names. The title and the fields are stronger: a role, a grade, a contract, hours or a
// shift in the description counts only if they have named none.
func (a *annotator) tagText() {
	p := &a.text

	// accepted contains, for each kind, whether its concepts are tagged.
	const kindCount = Filler + 1 // Filler is the last kind

	accepted := [kindCount]bool{
		Role: !a.has(Role), Specialty: true, Setting: true, Shift: !a.has(Shift), Experience: true,
		Grade: !a.has(Grade), Contract: !a.has(Contract), Hours: !a.has(Hours),
	}
	for i := 0; i < len(p.words); i++ {
		// Take the longest form that begins at word i, which is the last match, and continue after it.
		a.matches = a.v.Matches(a.matches[:0], p.words, i)
		for k := len(a.matches) - 1; k >= 0; k-- {
			longest := a.matches[k]
			if !p.mayMatch(longest) {
				continue
			}

			p.found = append(p.found[:0], phrase{Match: longest})

			c := a.meaning(p)

			isTagged := c != nil && accepted[c.Kind] && a.tagPhrase(c, longest)
			if isTagged && (c.Kind == Role || c.Kind == Grade) {
				accepted[c.Kind] = false // only the first role and the first grade count
			}

			i = longest.End - 1
			break
		}
	}

	a.hours(p, InText)
	a.tagYears(p)
}

// meaning returns what the only phrase of p means.
func (a *annotator) meaning(p *phrases) *Concept {
	f := p.found[0].Form
	if !f.IsAmbiguous() {
		return f.likeliest()
	}

	a.resolve(p)

	return p.found[0].concept
}

// tagPhrase tags a phrase of the description and reports whether it did. In running text, single words such as "night"
// often have another meaning. For shifts, hours, contracts and experience, only phrases of several words count, such as
// "night shift".
func (a *annotator) tagPhrase(concept *Concept, m Match) bool {
	isOneWord := m.End-m.Start == 1

	switch concept.Kind {
	case Role:
		if concept.Generic || !a.isWanted(m.Start) {
			return false
		}

		a.add(concept, InText)

		return true
	case Filler:
		return false
	case Specialty, Setting: // are always tagged
	case Grade: // a grade without a number may be that of colleagues, such as doctors in training
		if !isNumbered(concept, m.Form) && (isOneWord || !a.isWanted(m.Start)) {
			return false
		}
	default:
		if isOneWord || concept.Kind == Experience && a.isTaught(m.Start) {
			return false
		}
	}

	a.add(concept, InText)

	return true
}

// isTaught reports whether the words before word i mean that the job includes teaching or
// leading what follows: "you will support newly qualified nurses".
func (a *annotator) isTaught(i int) bool {
	return a.hasBefore(i, func(j int) bool { return teaching[a.text.tokens[j].Word] })
}

// teaching are the verbs whose objects are not the applicants.
var teaching = wordSet(
	"support supporting supports teach teaching teaches mentor mentoring mentors supervise supervising supervises supervision train training trains educate educating education induct induction guide guiding develop developing coach coaching precept lead leading deliver delivering",
)

// isNumbered reports whether a form is a grade with a number: CT1, ST3.
func isNumbered(c *Concept, f *Form) bool {
	return c.Kind == Grade && strings.ContainsAny(f.Text, "123456789")
}

// reach is how many words may be between two words of a description that belong together, such as "looking for" and the
// role that follows.
const reach = 8

// isWanted reports whether the words before word i mean that the advert looks for what
// follows: "we are looking for a", "are you a", "as a".
func (a *annotator) isWanted(i int) bool {
	tokens := a.text.tokens

	return a.hasBefore(i, func(j int) bool {
		word := tokens[j].Word
		return wanting[word] || word == "you" && j > 0 && tokens[j-1].Word == "are"
	})
}

// wanting are the words after which an advert names the applicants or the post.
var wanting = wordSet(
	"looking seeking recruit recruiting hiring require requires need needs as role position post vacancy opportunity appoint appointing seek seeks become welcome",
)

// hasBefore reports whether the description has an accepted word among the last ones
// before word i, in the same sentence.
func (a *annotator) hasBefore(i int, accepts func(j int) bool) bool {
	for j := i - 1; j >= 0 && j >= i-reach; j-- {
		if accepts(j) {
			return true
		}

		if endsSentence(a.text.tokens[j+1].Gap) {
			return false
		}
	}

	return false
}

// endsSentence reports whether the text between two words ends a sentence.
func endsSentence(gap string) bool {
	return len(gap) > 1 && strings.ContainsAny(gap, ".!?\n•") || gap == "\n"
}
