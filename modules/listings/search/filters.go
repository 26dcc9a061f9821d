package search

// The functions of this file build the conditions of filters, which a user sets beside the text of a query. A condition
// on an advert usually is that it has a key: a concept of the vocabulary, such as a role, with a prefix that says
// where the advert names the concept.

// Is returns a condition for the adverts about a concept: those whose main role it is, or that name the specialty in
// the title or a field, or that state the grade and so on. A concept that combines others, such as a urologist, who is
// a doctor in urology, requires all of them.
func Is(c *Concept) Expr {
	return And(each(c.Means(), func(part *Concept) Expr {
		return about(part, keyRoleHead, keyRoleText, keyRoleSecond)
	})...)
}

// about returns a condition for the adverts about a concept. rolePrefixes are the prefixes of the keys for a role, any of
// which is enough. They say where an advert may name the role. Other kinds of concepts do not use them.
func about(c *Concept, rolePrefixes ...string) Expr {
	var prefixes []string
	switch c.Kind {
	case Role:
		prefixes = rolePrefixes
	case Specialty:
		prefixes = []string{keySpecTitle, keySpecField}
	default:
		prefixes = []string{slots[c.Kind] + ":"}
	}

	return Or(each(prefixes, func(prefix string) Expr { return HasKey(prefix + c.ID) })...)
}

// IsRemote returns a condition for the adverts for work from home.
func IsRemote() Expr { return HasKey(keyRemote) }

// NearSlot returns the slot, a part of a query, for a place. Its first level is for adverts at the place, or within radius
// miles of a town. Its second level costs more, so that its adverts follow: they are for remote work in the country of
// the place or in any country.
func NearSlot(p Place, radius float64) Slot {
	remote := Or(HasKey(keyRemote+p.Country), HasKey(keyRemoteAnywhere))

	return Slot{Levels: []SlotLevel{
		{Expr: PlaceExpr(p, radius), Exact: true},
		{Expr: remote, Cost: costRemote, Exact: true},
	}}
}

// IsRemote reports whether the text is a name of work from home.
func (v *Vocabulary) IsRemote(text string) bool {
	f := v.Form(text)
	return f != nil && f.likeliest().ID == remoteConcept
}

// IsEmployer returns a condition for the adverts of the companies whose name is, or begins with, the given one. It
// matches no advert if the name contains no word.
func IsEmployer(name string) Expr {
	keys := EmployerKeys(name)
	if len(keys) == 0 {
		return Or()
	}

	entireName := keys[len(keys)-1] // the other keys are for its beginnings

	return HasKey(entireName)
}
