package search

import "slices"

// Keys returns the keys by which a document with the annotation is found. A key consists of a prefix, for the kind of
// concept and the level at which the advert names it, and the id of the concept. The level is the place in the advert,
// such as the title.
func (a *Annotation) Keys() []string {
	const others = 4 // room for the keys that do not stand for one tag, such as those of stated slots

	keys := make([]string, 0, len(a.Tags)+others)
	for i := range a.Tags {
		t := &a.Tags[i]
		isStronglyNamed := t.Level < InText // in the title or a field

		switch t.Kind {
		case Role:
			keys = append(keys, roleLevels[t.Level]+t.Concept)
		case Specialty:
			keys = append(keys, specialtyLevels[t.Level]+t.Concept)
			if t.Named && isStronglyNamed {
				keys = append(keys, keySpecNamed+t.Concept)
			}

			if t.Level == InTitle || t.Level == InField {
				keys = append(keys, keyStated+SlotSpecialty)
			}
		default:
			slot := slots[t.Kind]
			if t.Kind == Setting && isStronglyNamed {
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

// mainRoles returns the number of main roles that the title names. The roles above a main role have the same level, but
// the title does not name them.
func (a *Annotation) mainRoles() (n int) {
	for i := range a.Tags {
		if t := &a.Tags[i]; t.Level == Head && t.Named {
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

// PlaceKeys returns the keys of where a job is. The place is nil if it is unknown. remote is true if the job can be done
// from anywhere, in the country of the place if it is known.
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

// WordsOf returns the words of fields in lower case and without accents, with an empty word after each field.
func WordsOf(fields ...string) []string {
	const separator = ""

	var words []string
	for _, f := range fields {
		for _, t := range Tokens(f) {
			words = append(words, t.Word)
		}

		words = append(words, separator)
	}

	return words
}

// Analyzer is the version of what Annotate, Keys, WordsOf and Normalize return. An
// index of another version is built anew.
const Analyzer = "4"
