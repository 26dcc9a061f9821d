package text

import (
	"slices"
	"strings"
	"unicode"
)

// fillers are words that names of the same organization have or lack.
var fillers = strings.Fields("the of and for at in nhs hse trust foundation ltd limited plc llc llp inc incorporated co company group uk ireland")

// lookalikes are characters that look like others, and accented letters.
var lookalikes = func() *strings.Replacer {
	var pairs []string
	for base, others := range map[string]string{
		"a": "àáâãäåāăąаα4@", "b": "вβ", "c": "çćčсϲ", "d": "ďđ", "e": "èéêëēėęěеε3", "g": "ğģ", "h": "нħ", "i": "ìíîïīįıіι1!|l", "k": "кκ", "m": "м",
		"n": "ñńňη", "o": "òóôõöøōőоο0", "p": "рρ", "r": "řŕ", "s": "śšşșѕ5$", "t": "ţťтτ7", "u": "ùúûüūůűųυ", "v": "ѵν", "w": "ŵω", "x": "хχ", "y": "ýÿуγ", "z": "žźżζ",
	} {
		for _, other := range others {
			pairs = append(pairs, string(other), base)
		}
	}
	return strings.NewReplacer(append(pairs, "ß", "ss", "æ", "ae", "œ", "oe", "&", " ", "'", "", "’", "", ".", "")...)
}()

// foldName returns the letters of a name without case, accents, punctuation, plurals and
// words that do not distinguish organizations.
func foldName(name string) string {
	words := strings.FieldsFunc(lookalikes.Replace(strings.ToLower(name)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var kept []string
	for _, word := range words {
		switch word {
		case "st":
			word = "saint"
		case "hosp":
			word = "hospitai"
		}
		if !slices.Contains(foldedFillers, word) {
			kept = append(kept, strings.TrimSuffix(word, "s"))
		}
	}
	if len(kept) == 0 { // a name of fillers only
		kept = words
	}
	return strings.Join(kept, "")
}

// foldedFillers are the fillers as lookalikes are replaced in them.
var foldedFillers = func() (out []string) {
	for _, filler := range fillers {
		out = append(out, lookalikes.Replace(filler))
	}
	return out
}()

const (
	// maxFolded is the maximum length of a folded name, in characters.
	maxFolded = 80
	// minFuzzy is the minimum length of folded names that may differ by a character.
	minFuzzy = 8
)

// NameKeys returns keys of the name of an organization. Two names that are equal, or close
// to each other, have a key in common: names that differ in case, accents, punctuation,
// plurals or words such as NHS and Ltd, or by one typing error in a name that is not short.
// The first key is that of the whole name.
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
	for i := range folded {
		keys = append(keys, string(folded[:i])+string(folded[i+1:]))
	}
	slices.Sort(keys[1:])
	return slices.Compact(keys)
}
