package search

import (
	"cmp"
	"strings"
)

// Normalize returns the form of a folded word under which it is compared: the
// singular, in one spelling for Britain and America. It never joins words of
// different meaning that share a stem (police and policy, nurse and nursing).
func Normalize(word string) string {
	if len(word) < 3 || len(word) > longestNormalized || word[0] < 'a' || word[0] > 'z' {
		return word
	}

	if w, ok := irregular[word]; ok || len(word) == 3 {
		return cmp.Or(w, word)
	}

	if word[len(word)-1] == 's' {
		word = singular(word)
		if w, ok := irregular[word]; ok {
			return w
		}
	}

	return oneSpelling(word)
}

// longestNormalized is the length of the longest word that has other forms.
const longestNormalized = 40

// irregular are words that no rule covers.
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

// singular strips the s of a plural from a word of at least four letters.
func singular(w string) string {
	n := len(w)
	switch {
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies"):
		if n >= 5 {
			return w[:n-3] + "y"
		}
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:n-2]
	}

	return w[:n-1]
}

// oneSpelling rewrites British spellings to American ones, except for -ize,
// which becomes -ise.
func oneSpelling(w string) string {
	for i := range len(w) - 1 {
		switch w[i] {
		case 'a':
			if w[i+1] == 'e' {
				return oneSpelling(w[:i] + w[i+1:]) // paediatric
			}
		case 'o':
			switch {
			case w[i+1] == 'e' && dropsO(w, i):
				return oneSpelling(w[:i] + w[i+1:]) // oedema

			// The letters before -our in British spellings, behind at least two others: not hour, tour or course.
			case i >= 3 && strings.HasPrefix(w[i:], "our") && strings.IndexByte("lvmnbdi", w[i-1]) >= 0:
				return oneSpelling(w[:i+1] + w[i+2:]) // tumour
			}
		case 'z':
			if len(w) >= 6 && (w[i-min(i, 1)] == 'i' || w[i-min(i, 1)] == 'y') && izeEndings[w[i+1:]] {
				return w[:i] + "s" + w[i+1:] // organization
			}
		}
	}

	switch {
	case len(w) >= 5 && (strings.HasSuffix(w, "tre") || strings.HasSuffix(w, "bre")):
		return w[:len(w)-2] + "er" // centre
	case len(w) >= 8:
		return singleL(w)
	}

	return w
}

// dropsO reports whether the oe at i is the ligature, as in oedema, coeliac
// and diarrhoea, and not two letters, as in does and heroes.
func dropsO(w string, i int) bool {
	rest := w[i:]
	switch {
	case strings.HasPrefix(rest, "oed"), strings.HasPrefix(rest, "oes") && len(w) > 7, strings.HasPrefix(rest, "oea"):
		return true
	case i == 0:
		return false
	}

	before := w[:i]

	return strings.HasSuffix(before, "f") && strings.HasPrefix(rest, "oet") ||
		strings.HasSuffix(before, "c") && strings.HasPrefix(rest, "oel") ||
		strings.HasSuffix(before, "hom") && strings.HasPrefix(rest, "oeo") ||
		before == "am" && strings.HasPrefix(rest, "oeb") ||
		before == "man" && strings.HasPrefix(rest, "oeu")
}

// izeEndings are the endings of words after -iz and -yz.
var izeEndings = wordSet("e ed er ers es ing ation ations able")

// singleL writes counsellor as counselor and travelling as traveling.
func singleL(w string) string {
	for _, stem := range [...]string{"counsel", "travel", "label", "model", "cancel", "signal", "level"} {
		if strings.HasPrefix(w, stem) && strings.HasPrefix(w[len(stem):], "l") {
			return stem + w[len(stem)+1:]
		}
	}

	return w
}
