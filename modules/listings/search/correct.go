package search

import "strings"

// A query is corrected before its words get a meaning. Each correction is shown to the user, and is recorded for the
// resolved query, which stands for the query where no index is available. A form is a name in the vocabulary.

// correctPlaces replaces the misspelt and unfinished names of places, and reports whether it has replaced any. readings
// are the candidates as which the run was read. Those for a misspelt place have its correct name.
//
// After a correction, the caller reads the run again, because other names may then have another meaning. For example,
// beside Lincolnshire, Boston is the town in England. Names are corrected only once for a run.
func (r *run) correctPlaces(readings []candidate) (hasCorrected bool) {
	var tokens []Token // with the correct names

	next := 0 // the first token of the run that is not in tokens yet
	for _, place := range readings {
		if place.corrected == "" {
			continue
		}

		// The name is the last token of the candidate, after a word such as "in".
		misspelt := r.tokens[place.end-1]
		r.addCorrection(misspelt.Word, place.corrected)
		r.recordCorrection(r.base, misspelt, place.corrected)

		tokens = append(tokens, r.tokens[next:place.end-1]...)
		// The new tokens get the offsets of the misspelt one, so that the name refers to that word of the user's text.
		for i, t := range Tokens(place.corrected) {
			if i == 0 {
				t.Gap = misspelt.Gap
			}

			t.Start = misspelt.Start
			t.End = misspelt.End
			t.Capitals = misspelt.Capitals
			tokens = append(tokens, t)
		}

		next = place.end
	}

	if next == 0 { // nothing was corrected
		return false
	}

	r.tokens = append(tokens, r.tokens[next:]...)
	r.words = r.Vocabulary.Words(r.tokens)
	r.hasCorrectPlaces = true

	return true
}

// correct replaces misspelt words, and joins words that were written as two ("radio grapher").
// base is the offset of the tokens in the query.
func (q *query) correct(tokens []Token, base int) []Token {
	corrected := make([]Token, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		token := tokens[i]

		isLast := i == len(tokens)-1
		if !isLast && q.Vocabulary.isDivided(tokens, i) {
			token.Word += tokens[i+1].Word
			token.Surface, token.End = token.Word, tokens[i+1].End
			q.recordCorrection(base, token, token.Word)

			corrected = append(corrected, token)
			i++ // the next token is a part of this one
			continue
		}

		mayBeUnfinished := isLast
		words := q.Words.Correct(token, mayBeUnfinished)

		if len(words) == 0 || q.isPlace(token) || q.isInPlace(tokens, i) {
			corrected = append(corrected, token)
			continue
		}

		q.addCorrection(token.Word, words...)
		q.recordCorrection(base, token, strings.Join(words, " "))

		// Two words that were written together become two tokens, with a space between them.
		for k, word := range words {
			token.Word, token.Surface = word, word
			if k > 0 {
				token.Gap = " "
			}

			corrected = append(corrected, token)
		}
	}

	return q.correctPhrases(corrected, base)
}

// addCorrection adds a correction to those that are shown to the user.
func (q *query) addCorrection(from string, to ...string) {
	q.out.Corrections = append(q.out.Corrections, Correction{From: from, To: strings.Join(to, " ")})
}

// isDivided reports whether token i and the next one are one known word that was written as two. This is not so if a
// form contains both as separate words, or if each of the two is a form itself and the joined word is none.
func (v *Vocabulary) isDivided(tokens []Token, i int) bool {
	first, second := tokens[i], tokens[i+1]
	areAdjacent := second.Gap == " " || second.Gap == "-"

	joined := first.Word + second.Word
	if !areAdjacent || len(joined) < minDivided || !v.isKnown(joined) {
		return false
	}

	// Look up the forms among the neighbours of the two words.
	from := max(0, i-maxPhrase)
	words := v.Words(tokens[from:min(len(tokens), i+1+maxPhrase)])
	firstWord, secondWord := i-from, i-from+1 // the indexes of the two in words

	var firstHasMeaning, secondHasMeaning bool
	for j := range secondWord + 1 {
		for _, m := range v.Matches(nil, words, j) {
			hasBoth := m.Start <= firstWord && m.End > secondWord
			switch {
			case hasBoth:
				return false
			case m.Start == firstWord:
				firstHasMeaning = true
			case m.Start == secondWord:
				secondHasMeaning = true
			}
		}
	}

	return !firstHasMeaning || !secondHasMeaning || v.Form(joined) != nil
}

// minDivided is the minimum length of a word that is joined from two.
const minDivided = 7

// isKnown reports whether a form has the word.
func (v *Vocabulary) isKnown(word string) bool { return v.trie.words[Normalize(word)] != 0 }

// correctPhrases corrects words that exist but are wrong beside their neighbours: "heath visitor" becomes "health
// visitor". Such a word is in adverts or is the name of a place, so that correct has left it. correctPhrases replaces
// it if it is not in the vocabulary, and a word one edit away makes a form together with its neighbours.
func (q *query) correctPhrases(tokens []Token, base int) []Token {
	if len(tokens) == 1 {
		return tokens // no neighbours
	}

	for i, token := range tokens {
		isTooShort := len(token.Word) < minInPhrase
		followsMarker := i > 0 && markers[tokens[i-1].Word] // such as "in", before a place

		if isTooShort || followsMarker || hasDigit(token.Word) || q.Vocabulary.isKnown(token.Word) {
			continue
		}

		frequency := q.Words.lexicon.Frequency(token.Word)
		for _, word := range q.Words.near(token.Word) {
			if frequency > 0 && q.Words.lexicon.Frequency(word) < rareInPhrase*frequency {
				continue // adverts use the word that the user wrote
			}

			// Try the word in place of the token.
			tokens[i].Word, tokens[i].Surface = word, word
			if q.Vocabulary.isInPhrase(tokens, i) {
				q.addCorrection(token.Word, word)
				q.recordCorrection(base, token, word)
				break
			}

			tokens[i] = token // not this word
		}
	}

	return tokens
}

// minInPhrase is the minimum length of a word that is corrected because of its neighbours.
const minInPhrase = 4

// rareInPhrase is the factor by which a correction must be more frequent in adverts than the word
// that it replaces.
const rareInPhrase = 10

// isInPhrase reports whether token i is in a form of several words.
func (v *Vocabulary) isInPhrase(tokens []Token, i int) bool {
	from := max(0, i-maxPhrase)
	word := i - from // the index of the token in words

	words := v.Words(tokens[from:min(len(tokens), i+maxPhrase)])
	for start := range word + 1 {
		for _, m := range v.Matches(nil, words, start) {
			contains, hasSeveralWords := m.End > word, m.End-m.Start > 1
			if contains && hasSeveralWords {
				return true
			}
		}
	}

	return false
}

// maxPhrase is how many words before or after a word its form may reach.
const maxPhrase = 3

// isPlace reports whether the word is the name of a place, and not only of a small town.
func (q *query) isPlace(t Token) bool {
	if q.Places == nil {
		return false
	}

	p, ok := q.Places.Resolve(t.Surface)

	return ok && (p.Kind != Town || p.Population >= wellKnown)
}

// isInPlace reports whether token i belongs to the name of a place of several
// words: the Wight of the Isle of Wight.
func (q *query) isInPlace(tokens []Token, i int) bool {
	if q.Places == nil {
		return false
	}

	for start := max(0, i-maxPlaceWords+1); start <= i; start++ {
		name := tokens[start].Surface
		for end := start + 1; end < min(start+maxPlaceWords, len(tokens)); end++ {
			if strings.Contains(tokens[end].Gap, ",") {
				break
			}

			name += " " + tokens[end].Surface
			if end < i {
				continue
			}

			if _, ok := q.Places.Resolve(name); ok && !stopWords[tokens[start].Word] {
				return true
			}
		}
	}

	return false
}

// wellKnown is the population from which the name of a town is not taken for a misspelt word.
const wellKnown = 10_000
