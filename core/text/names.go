package text

import (
	"slices"
	"strings"
	"unicode"
)

// fillers are words that do not distinguish organizations: users add or omit them in the
// name of the same organization.
var fillers = strings.Fields(
	"the of and for at in nhs hse trust foundation ltd limited plc llc llp inc incorporated co company group uk ireland",
)

// lookalikes replaces accented letters, and characters that look like a letter, by the
// plain letter.
var lookalikes = func() *strings.Replacer {
	var pairs []string
	for base, others := range map[string]string{
		"a": "àáâãäåāăąаα4@",
		"b": "вβ",
		"c": "çćčсϲ",
		"d": "ďđ",
		"e": "èéêëēėęěеε3",
		"g": "ğģ",
		"h": "нħ",
		"i": "ìíîïīįıіι1!|l",
		"k": "кκ",
		"m": "м",
		"n": "ñńňη",
		"o": "òóôõöøōőоο0",
		"p": "рρ",
		"r": "řŕ",
		"s": "śšşșѕ5$",
		"t": "ţťтτ7",
		"u": "ùúûüūůűųυ",
		"v": "ѵν",
		"w": "ŵω",
		"x": "хχ",
		"y": "ýÿуγ",
		"z": "žźżζ",
	} {
		for _, other := range others {
			pairs = append(pairs, string(other), base)
		}
	}

	return strings.NewReplacer(append(pairs, "ß", "ss", "æ", "ae", "œ", "oe", "&", " ", "'", "", "’", "", ".", "")...)
}()

// foldName returns the folded name: its letters and digits without case, accents, punctuation,
// plurals and fillers (words that do not distinguish organizations). Names with the same result are
// treated as the same name.
func foldName(name string) string {
	words := strings.FieldsFunc(
		lookalikes.Replace(strings.ToLower(name)),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) },
	)

	var distinctive []string
	for _, word := range words {
		switch word {
		case "st":
			word = "saint"
		case "hosp":
			word = "hospitai" // the word hospital after lookalikes has replaced its l
		}

		if !slices.Contains(foldedFillers, word) {
			distinctive = append(distinctive, strings.TrimSuffix(word, "s"))
		}
	}

	if len(distinctive) == 0 { // a name of fillers only
		distinctive = words
	}

	return strings.Join(distinctive, "")
}

// foldedFillers are the fillers after the replacements of lookalikes.
var foldedFillers = func() (folded []string) {
	for _, filler := range fillers {
		folded = append(folded, lookalikes.Replace(filler))
	}

	return folded
}()

const (
	// maxFolded is the number of characters of a folded name that are compared. It bounds
	// the number of keys of a name.
	maxFolded = 80
	// minFuzzy is the minimum length of folded names that match despite a typing error.
	// Different short names often differ by one letter only.
	minFuzzy = 8
)

// NameKeys returns keys by which similar names of organizations are found: two similar
// names have a key in common. Names are similar if they differ only in case, accents,
// punctuation, plurals or words such as NHS and Ltd, or, unless they are short, by one
// typing error. The first key is the whole folded name; the others lack one letter each.
func NameKeys(name string) []string {
	folded := []rune(foldName(name))

	folded = folded[:min(len(folded), maxFolded)]
	if len(folded) == 0 {
		return nil
	}

	keys := []string{string(folded)}
	if len(folded) < minFuzzy {
		return keys
	}

	// Two names that differ by one letter have the same text without that letter.
	for i := range folded {
		keys = append(keys, string(folded[:i])+string(folded[i+1:]))
	}

	// Remove duplicates: a name with a double letter lacks either of them.
	slices.Sort(keys[1:])

	return slices.Compact(keys)
}
