package search

// Is matches the adverts that are about the concept: those with the role as the
// main one, the specialty in the title or a field, the grade and so on.
func Is(c *Concept) Expr {
	return And(each(c.Means(), func(c *Concept) Expr { return about(c, keyRoleHead, keyRoleText, keyRoleSecond) })...)
}

// about matches the adverts that are about a concept. Those for a role have one of
// the keys of roles.
func about(c *Concept, roles ...string) Expr {
	prefixes := roles
	switch c.Kind {
	case Role:
	case Specialty:
		prefixes = []string{keySpecTitle, keySpecField}
	default:
		prefixes = []string{slots[c.Kind] + ":"}
	}

	return Or(each(prefixes, func(prefix string) Expr { return HasKey(prefix + c.ID) })...)
}

// IsRemote matches the adverts for work from home.
func IsRemote() Expr { return HasKey(keyRemote) }

// NearSlot is satisfied by what is at the place, or within radius miles of a town,
// and after it by remote work in the same country or in any.
func NearSlot(p Place, radius float64) Slot {
	return Slot{Levels: []SlotLevel{
		{Expr: PlaceExpr(p, radius), Exact: true},
		{Expr: Or(HasKey(keyRemote+p.Country), HasKey(keyRemote+"*")), Cost: costRemote, Exact: true},
	}}
}

// IsRemote reports whether the text is a name of work from home.
func (v *Vocabulary) IsRemote(text string) bool {
	f := v.Form(text)
	return f != nil && f.likeliest().ID == remoteConcept
}

// IsEmployer matches the adverts of the companies with a name that is, or begins
// with, the given one.
func IsEmployer(name string) Expr {
	keys := EmployerKeys(name)
	if len(keys) == 0 {
		return Or()
	}

	return HasKey(keys[len(keys)-1])
}
