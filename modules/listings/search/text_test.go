package search

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// words returns the words of the tokens, in lower case and without accents, separated by spaces.
func words(tokens []Token) string {
	var list []string
	for _, token := range tokens {
		list = append(list, token.Word)
	}

	return strings.Join(list, " ")
}

// TestTokens_Words checks the words into which a text is divided. Some characters belong to a word (T&O, 37.5, 5/6), some
// are dropped (R.D., nurse's), and some separate words. The last case is invalid UTF-8.
func TestTokens_Words(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ text, want string }{ // want has the words, separated by spaces
		{"", ""},
		{" – ", ""},
		{"Staff Nurse", "staff nurse"},
		{"T&O", "t&o"},
		{"T & O Ward", "t&o ward"},
		{"A & E", "a&e"},
		{"Trauma & Orthopaedics", "trauma and orthopaedics"},
		{"Obs&Gynae", "obs and gynae"},
		{"CT2+", "ct2+"},
		{"5+ years", "5+ years"},
		{"LGBT+ friendly", "lgbt friendly"},
		{"R.D.", "rd"},
		{"R.N. needed", "rn needed"},
		{"B.Sc. degree", "bsc degree"},
		{"Ph.D. student", "phd student"},
		{"U.S.A", "usa"},
		{"end of text. Next", "end of text next"},
		{"ward.The", "ward the"},
		{"5/6", "5/6"},
		{"Band 8a/8b", "band 8a/8b"},
		{"24/7", "24/7"},
		{"F/T or P/T", "f/t or p/t"},
		{"RN/LPN", "rn lpn"},
		{"OB/GYN", "ob gyn"},
		{"CT1/2", "ct1 2"},
		{"37.5 hours", "37.5 hours"},
		{"£45,000.50", "45000.50"},
		{"£31,049 - £37,796", "31049 37796"},
		{"nurse's", "nurse"},
		{"nurse’s role", "nurse role"},
		{"nurses' home", "nurses home"},
		{"O'Neill", "oneill"},
		{"GPs and HCAs", "gp and hca"},
		{"full-time", "full time"},
		{"Co-ordinator", "coordinator"},
		{"x-ray", "x ray"},
		{"Médecin généraliste", "medecin generaliste"},
		{"ŒDEMA Straße", "oedema strasse"},
		{"Cafe\u0301", "cafe"},
		{"RN–ICU", "rn icu"},
		{"Ward 7B", "ward 7b"},
		{"日本 nurse", "日本 nurse"},
		{"\xff nurse \xe2", "nurse"},
	} {
		assert.Equal(t, test.want, words(Tokens(test.text)), test.text)
	}
}

// TestTokens_Positions checks the positions of tokens, by which words are marked in a text. The surface of a token is the
// part of the text at its position, and its gap is the text between it and the token before.
func TestTokens_Positions(t *testing.T) {
	t.Parallel()

	const text = "Senior RN (ICU) – nurse’s home, Zürich A & E"
	tokens := Tokens(text)
	require.Len(t, tokens, 7)

	end := 0 // of the previous token
	for _, token := range tokens {
		assert.Equal(t, text[token.Start:token.End], token.Surface)
		assert.Equal(t, text[end:token.Start], token.Gap)

		end = token.End
	}

	icu, nurse, emergency := tokens[2], tokens[3], tokens[6]
	assert.Equal(t, " (", icu.Gap)
	assert.Equal(t, "nurse’s", nurse.Surface)
	assert.Equal(t, "A & E", emergency.Surface)
}

// TestTokens_Capitals checks which words are marked as written in capitals, as abbreviations are. They have two or more
// characters, and all letters are capitals except the s of a plural or possessive.
func TestTokens_Capitals(t *testing.T) {
	t.Parallel()

	for text, isInCapitals := range map[string]bool{
		"RN": true, "A&E": true, "R.D.": true, "GPs": true, "F2": true, "ST3+": true, "NP's": true, "CT1": true,
		"rn": false, "Rn": false, "Nurse": false, "A": false, "12": false, "5/6": false, "PhD": false,
	} {
		onlyWord := Tokens(text)[0]
		assert.Equal(t, isInCapitals, onlyWord.Capitals, text)
	}
}

// TestNormalize checks that the plural and the British or American spelling of a word become the same word. The result
// need not be a word of English ("doe"). Words that only look like such a spelling keep it: hours has the -our of colour,
// and citizen has the -iz of organization.
func TestNormalize(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ word, want string }{
		{"nurses", "nurse"}, {"theatres", "theater"}, {"centre", "center"}, {"centres", "center"}, {"fibre", "fiber"},
		{"paediatrics", "pediatric"}, {"pediatric", "pediatric"}, {"paeds", "ped"}, {"peds", "ped"},
		{"anaesthesia", "anesthesia"}, {"haematology", "hematology"}, {"gynae", "gyne"}, {"orthopaedic", "orthopedic"},
		{"oesophageal", "esophageal"}, {"oedema", "edema"}, {"lymphoedema", "lymphedema"}, {"diarrhoea", "diarrhea"},
		{"coeliac", "celiac"}, {"foetal", "fetal"}, {"homoeopath", "homeopath"}, {"oestrogen", "estrogen"},
		{"tumour", "tumor"}, {"behavioural", "behavioral"}, {"labour", "labor"}, {"colour", "color"},
		{"hours", "hour"}, {"four", "four"}, {"tour", "tour"}, {"course", "course"}, {"resource", "resource"}, {"journal", "journal"},
		{"specialized", "specialised"}, {"organization", "organisation"}, {"analyze", "analyse"}, {"size", "size"}, {"citizen", "citizen"},
		{"counsellor", "counselor"}, {"travelling", "traveling"}, {"counselling", "counseling"}, {"enrolled", "enrolled"},
		{"programme", "program"}, {"programmes", "program"}, {"practise", "practice"}, {"licence", "license"}, {"specialities", "specialty"},
		{"dietician", "dietitian"}, {"dieticians", "dietitian"}, {"adviser", "advisor"}, {"advisers", "advisor"},
		{"children", "child"}, {"childrens", "child"}, {"women", "woman"}, {"midwives", "midwife"}, {"diagnoses", "diagnosis"},
		{"vacancies", "vacancy"}, {"therapies", "therapy"}, {"coaches", "coach"}, {"glasses", "glass"}, {"areas", "area"},
		{"dialysis", "dialysis"}, {"campus", "campus"}, {"illness", "illness"}, {"news", "news"},
		{"does", "doe"}, {"rn", "rn"}, {"gps", "gps"}, {"ct2+", "ct2+"}, {"", ""}, {"5/6", "5/6"},
	} {
		assert.Equal(t, test.want, Normalize(test.word), test.word)
	}
}

// TestNormalize_KeepsMeaningsApart checks pairs of words of different meaning that a stemmer would join.
func TestNormalize_KeepsMeaningsApart(t *testing.T) {
	t.Parallel()

	for _, pair := range [][2]string{
		{"police", "policy"}, {"intern", "internal"}, {"nurse", "nursing"}, {"physic", "physician"}, {"optometry", "optometrist"},
		{"therapy", "therapist"}, {"care", "career"}, {"organ", "organisation"}, {"general", "generation"}, {"new", "news"},
		{"hour", "hor"}, {"personal", "personnel"}, {"medical", "medicine"}, {"here", "hear"},
	} {
		assert.NotEqual(t, Normalize(pair[0]), Normalize(pair[1]), pair)
	}
}

// text300 is an advert of about 300 words.
var text300 = strings.Repeat(
	"We are looking for a Band 6 Paediatric Physiotherapist to join our friendly team at St Mary’s Hospital – full-time, "+
		"37.5 hours a week, rotating days and nights. ",
	11, // times about 27 words
)

// BenchmarkTokens measures the division of an advert into words.
func BenchmarkTokens(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(text300)))

	var tokens []Token
	for b.Loop() {
		tokens = AppendTokens(tokens[:0], text300)
	}
}

// BenchmarkNormalize measures Normalize with each word of an advert.
func BenchmarkNormalize(b *testing.B) {
	tokens := Tokens(text300)

	b.ReportAllocs()

	for b.Loop() {
		for _, token := range tokens {
			Normalize(token.Word)
		}
	}
}

// FuzzTokens checks for any text that tokens follow each other, are within the text and are not empty, and that each of their
// words can be normalized.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"T & O", "R.D.", "nurse’s", "5/6", "\xe2\x80", "Co-", "ÀÉ'S", "GPs'"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		end := 0 // of the previous token
		for _, token := range Tokens(text) {
			isWithin := token.Start >= end && token.End <= len(text)
			isEmpty := token.Word == "" && token.Surface == ""

			if !isWithin || isEmpty {
				t.Fatalf("token %+v of %q", token, text)
			}

			end = token.End
			Normalize(token.Word) // does not panic
		}
	})
}

// TestNormalize_LongWord_Unchanged checks that a long word is not normalized. Normalizing replaces each "ae" in a new copy
// of the word, which takes quadratic time.
func TestNormalize_LongWord_Unchanged(t *testing.T) {
	t.Parallel()

	word := strings.Repeat("ae", 10_000)
	require.Equal(t, word, Normalize(word))
}
