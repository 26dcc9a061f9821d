package search

import "strings"

// Normalize returns the form in which a word is compared with others: the singular, in the same spelling for Britain
// and America. The word must be folded, that is in lower case and without accents, see Fold. Words of different
// meaning keep different forms even if they share a stem (police and policy, nurse and nursing).
func Normalize(word string) string {
	beginsWithLetter := word != "" && word[0] >= 'a' && word[0] <= 'z'
	if !beginsWithLetter || len(word) < shortestNormalized || len(word) > longestNormalized {
		return word // a number, a code or an abbreviation
	}

	if form, ok := irregular[word]; ok {
		return form
	}

	if len(word) == shortestNormalized { // the rules would change words such as his and gas
		return word
	}

	if word[len(word)-1] == 's' {
		word = singular(word)
		if form, ok := irregular[word]; ok {
			return form
		}
	}

	return oneSpelling(word)
}

// Shorter and longer words have no other form. Words of the shortest length have one only if irregular lists it.
const (
	shortestNormalized = 3
	longestNormalized  = 40
)

// irregular maps words to their normalized form if the rules below would not find it: plurals, British spellings and
// abbreviations of job titles. A word that is mapped to itself only looks like a plural.
var irregular = map[string]string{
	"children":     "child",
	"women":        "woman",
	"feet":         "foot",
	"teeth":        "tooth",
	"midwives":     "midwife",
	"wives":        "wife",
	"lives":        "life",
	"diagnoses":    "diagnosis",
	"prostheses":   "prosthesis",
	"crises":       "crisis",
	"analyses":     "analysis",
	"neuroses":     "neurosis",
	"psychoses":    "psychosis",
	"therapies":    "therapy",
	"news":         "news",
	"series":       "series",
	"species":      "species",
	"headaches":    "headache",
	"practise":     "practice",
	"licence":      "license",
	"licenced":     "licensed",
	"defence":      "defense",
	"offence":      "offense",
	"programme":    "program",
	"catalogue":    "catalog",
	"dialogue":     "dialog",
	"ageing":       "aging",
	"grey":         "gray",
	"odour":        "odor",
	"enquiry":      "inquiry",
	"speciality":   "specialty",
	"dietician":    "dietitian",
	"enrolment":    "enrollment",
	"fulfil":       "fulfill",
	"skilful":      "skillful",
	"judgement":    "judgment",
	"orthoptic":    "orthoptic",
	"sceptic":      "skeptic",
	"artefact":     "artifact",
	"adviser":      "advisor",
	"carers":       "carer",
	"orthopaedist": "orthopedist",
	"asst":         "assistant",
	"mgr":          "manager",
	"coord":        "coordinator",
	"supvr":        "supervisor",
	"dept":         "department",
	"hosp":         "hospital",
	"svcs":         "service",
	"drs":          "doctor",
	"assoc":        "associate",
	"exec":         "executive",
	"cert":         "certified",
	"sulphur":      "sulfur",
	"sulphate":     "sulfate",
	"tyre":         "tire",
	"kerb":         "curb",
	"mould":        "mold",
	"plough":       "plow",
}

// singular returns the singular of a word that ends in s and has at least four letters.
func singular(word string) string {
	n := len(word)
	switch {
	case strings.HasSuffix(word, "ss"), strings.HasSuffix(word, "us"), strings.HasSuffix(word, "is"): // illness, virus, sepsis
		return word
	case strings.HasSuffix(word, "ies") && n >= 5: // duties; four letters are ties and dies, which only lose the s
		return word[:n-len("ies")] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "xes"), // processes, boxes
		strings.HasSuffix(word, "ches"), strings.HasSuffix(word, "shes"): // coaches, washes
		return word[:n-len("es")]
	}

	return word[:n-len("s")]
}

// oneSpelling returns a word in one spelling, which is the American one for most words. The exception are verbs in -ize:
// they become -ise, because the reverse would also change words such as exercise.
//
// Several rules may apply to a word. So the function calls itself after each rule but the last ones.
func oneSpelling(word string) string {
	for i := range len(word) - 1 {
		switch word[i] {
		case 'a':
			if word[i+1] == 'e' { // paediatric
				return oneSpelling(word[:i] + word[i+1:])
			}
		case 'o':
			if word[i+1] == 'e' && isLigature(word, i) { // oedema
				return oneSpelling(word[:i] + word[i+1:])
			}

			if isBritishOur(word, i) { // tumour
				return oneSpelling(word[:i+1] + word[i+2:])
			}
		case 'z':
			followsVowel := i > 0 && (word[i-1] == 'i' || word[i-1] == 'y')
			if followsVowel && len(word) >= 6 && izeEndings[word[i+1:]] { // organization, but not size or prize
				return word[:i] + "s" + word[i+1:]
			}
		}
	}

	switch {
	case len(word) >= 5 && (strings.HasSuffix(word, "tre") || strings.HasSuffix(word, "bre")): // centre, fibre
		return word[:len(word)-len("re")] + "er"
	case len(word) >= 8:
		return singleL(word)
	}

	return word
}

// isLigature reports whether the letters oe at i are a ligature that American spelling writes as e. They are in oedema,
// but not in does and heroes.
func isLigature(word string, i int) bool {
	before, fromLigature := word[:i], word[i:min(i+3, len(word))]
	switch fromLigature {
	case "oed", "oea": // oedema, diarrhoea
		return true
	case "oes": // oestrogen
		return len(word) > 7
	case "oet": // foetal
		return strings.HasSuffix(before, "f")
	case "oel": // coeliac
		return strings.HasSuffix(before, "c")
	case "oeo": // homoeopathy
		return strings.HasSuffix(before, "hom")
	case "oeb": // amoeba
		return before == "am"
	case "oeu": // manoeuvre
		return before == "man"
	}

	return false
}

// isBritishOur reports whether at i is an -our that American spelling writes as -or. It follows one of a few letters and
// at least two others, so that it is in tumour, but not in hour, tour and course.
func isBritishOur(word string, i int) bool {
	return i >= 3 && strings.HasPrefix(word[i:], "our") && strings.IndexByte("lvmnbdi", word[i-1]) >= 0
}

// izeEndings are what follows -iz or -yz in words that are written with s as well: organizer, analyzing.
var izeEndings = wordSet("e ed er ers es ing ation ations able")

// singleL returns the American spelling of words with a double l, such as counselor for counsellor and traveling for
// travelling.
func singleL(word string) string {
	for _, stem := range [...]string{"counsel", "travel", "label", "model", "cancel", "signal", "level"} {
		if afterStem, ok := strings.CutPrefix(word, stem); ok && strings.HasPrefix(afterStem, "l") {
			return stem + afterStem[len("l"):]
		}
	}

	return word
}
