package search

import "slices"

// Keys returns the keys by which a document with the annotation is found. A key consists of a prefix, for the kind of
// concept and the level at which the advert names it, and the id of the concept. The level is the place in the advert,
// such as the title.
func (a *Annotation) Keys() []string {
	keys := make([]string, 0, len(a.Tags)+4)
	for i := range a.Tags {
		t := &a.Tags[i]
		switch t.Kind {
		case Role:
			keys = append(keys, roleLevels[t.Level]+t.Concept)
		case Specialty:
			keys = append(keys, specialtyLevels[t.Level]+t.Concept)
			if t.Named && t.Level < InText {
				keys = append(keys, keySpecNamed+t.Concept)
			}

			if t.Level == InTitle || t.Level == InField {
				keys = append(keys, keyStated+SlotSpecialty)
			}
		default:
			slot := slots[t.Kind]
			if t.Kind == Setting && t.Level < InText {
				keys = append(keys, keySettingField+t.Concept)
			}

			keys = append(keys, slot+":"+t.Concept, keyStated+slot)
		}
	}

	if a.mainRoles() > 1 {
		keys = append(keys, keyRoleShared)
	}

	slices.Sort(keys)

	return slices.Compact(keys)
}

// mainRoles returns the number of main roles that the title names.
func (a *Annotation) mainRoles() (n int) {
	for i := range a.Tags {
		if t := &a.Tags[i]; t.Level == Head && t.Named { // the roles above a main role have the level too
			n++
		}
	}

	return n
}

// roleLevels maps levels to the prefixes of the keys of roles.
var roleLevels = map[Level]string{
	Head: keyRoleHead, SecondChoice: keyRoleSecond, InTitle: keyRoleTitle, InField: keyRoleTitle, InText: keyRoleText,
}

// specialtyLevels maps levels to the prefixes of the keys of specialties. A second choice counts as little as a
// mention in the text.
var specialtyLevels = map[Level]string{
	Head: keySpecTitle, SecondChoice: keySpecText, InTitle: keySpecTitle, InField: keySpecField, InText: keySpecText,
}

// PlaceKeys returns the keys of where a job is: a place, which may be nil, and
// whether it can be done from anywhere.
func PlaceKeys(p *Place, remote bool) []string {
	var keys []string
	if p != nil {
		keys = append(keys, keyCountry+p.Country)
		if p.Nation != "" {
			keys = append(keys, keyNation+p.Country+"/"+p.Nation)
		}

		if p.Region != "" {
			keys = append(keys, keyRegion+p.Country+"/"+p.Region)
		}
	}

	if remote {
		keys = append(keys, keyRemote)
		if p != nil {
			keys = append(keys, keyRemote+p.Country)
		} else {
			keys = append(keys, keyRemoteAnywhere)
		}
	}

	return keys
}

// WordsOf returns the folded words of fields, with an empty word between two
// fields.
func WordsOf(fields ...string) []string {
	var out []string
	for _, f := range fields {
		for _, t := range Tokens(f) {
			out = append(out, t.Word)
		}

		out = append(out, "")
	}

	return out
}

// Analyzer is the version of what Annotate, Keys, WordsOf and Normalize return. An
// index of another version is built anew.
const Analyzer = "4"
