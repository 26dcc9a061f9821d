package search

// Is matches the adverts that are about the concept: those with the role as the
// main one, the specialty in the title or a field, the grade and so on.
func Is(c *Concept) Expr {
	return And(each(c.Means(), func(c *Concept) Expr {
		return Or(each(filterPrefixes[slots[c.Kind]], func(prefix string) Expr { return HasKey(prefix + c.ID) })...)
	})...)
}

// filterPrefixes are the keys of adverts that satisfy a filter, by its slot.
var filterPrefixes = map[string][]string{
	SlotRole: {keyRoleHead, keyRoleText, keyRoleSecond}, SlotSpecialty: {keySpecTitle, keySpecField},
	SlotGrade: {SlotGrade + ":"}, SlotExperience: {SlotExperience + ":"}, SlotContract: {SlotContract + ":"},
	SlotHours: {SlotHours + ":"}, SlotShift: {SlotShift + ":"}, SlotSetting: {SlotSetting + ":"},
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
	return f != nil && f.Readings[0].Concept.ID == remoteConcept
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
