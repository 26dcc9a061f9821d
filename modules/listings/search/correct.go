package search

import "strings"

// correctPlaces replaces the misspelt and unfinished names of places, once, and
// reports whether it has replaced any. Other places may then have another meaning: with
// Lincolnshire, Boston is the one in England.
func (r *run) correctPlaces(parts []candidate) bool {
	var tokens []Token

	next := 0
	for _, s := range parts {
		if s.corrected == "" {
			continue
		}

		last := r.tokens[s.end-1]
		r.addCorrection(last.Word, s.corrected)
		r.recordCorrection(r.base, last, s.corrected)

		tokens = append(tokens, r.tokens[next:s.end-1]...)
		for i, t := range Tokens(s.corrected) {
			if i == 0 {
				t.Gap = last.Gap
			}

			t.Start = last.Start
			t.End = last.End
			t.Capitals = last.Capitals
			tokens = append(tokens, t)
		}

		next = s.end
	}

	if next == 0 {
		return false
	}

	r.tokens, r.hasCorrectPlaces = append(tokens, r.tokens[next:]...), true
	r.words = r.Vocabulary.Words(r.tokens)

	return true
}

// correct replaces misspelt words, and joins words that were written as two ("radio grapher").
// base is the offset of the tokens in the query.
func (q *query) correct(tokens []Token, base int) []Token {
	out := make([]Token, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		token := tokens[i]
		if i+1 < len(tokens) && q.Vocabulary.isDivided(tokens, i) {
			token.Word += tokens[i+1].Word
			token.Surface, token.End = token.Word, tokens[i+1].End
			q.recordCorrection(base, token, token.Word)

			out = append(out, token)
			i++
			continue
		}

		to := q.Words.Correct(token, i == len(tokens)-1)
		if len(to) == 0 || q.isPlace(token) || q.isInPlace(tokens, i) {
			out = append(out, token)
			continue
		}

		q.addCorrection(token.Word, to...)
		q.recordCorrection(base, token, strings.Join(to, " "))

		for k, word := range to {
			c := token

			c.Word, c.Surface = word, word
			if k > 0 {
				c.Gap = " "
			}

			out = append(out, c)
		}
	}

	return q.correctPhrases(out, base)
}

// addCorrection reports a correction to the user.
func (q *query) addCorrection(from string, to ...string) {
	q.out.Corrections = append(q.out.Corrections, Correction{From: from, To: strings.Join(to, " ")})
}

// isDivided reports whether token i and the next one are the parts of one known word. They are
// not if both belong to the same form as separate words, or if each of them has a meaning and
// the joined word has none.
func (v *Vocabulary) isDivided(tokens []Token, i int) bool {
	a, b := tokens[i], tokens[i+1]

	joined := a.Word + b.Word
	if b.Gap != " " && b.Gap != "-" || len(joined) < minDivided || !v.isKnown(joined) {
		return false
	}

	from := max(0, i-maxPhrase)
	words := v.Words(tokens[from:min(len(tokens), i+1+maxPhrase)])

	var meanings [2]bool // of the parts
	for j := range i - from + 2 {
		for _, m := range v.Matches(nil, words, j) {
			switch {
			case m.Start <= i-from && m.End > i-from+1:
				return false
			case m.Start >= i-from:
				meanings[m.Start-(i-from)] = true
			}
		}
	}

	return !meanings[0] || !meanings[1] || v.Form(joined) != nil
}

// minDivided is the minimum length of a word that is joined from two.
const minDivided = 7

// isKnown reports whether a form has the word.
func (v *Vocabulary) isKnown(word string) bool { return v.trie.words[Normalize(word)] != 0 }

// correctPhrases replaces a word that the vocabulary does not contain, although adverts or the
// gazetteer do, by a word one edit away with which its neighbours make a form: "heath visitor"
// becomes "health visitor".
func (q *query) correctPhrases(tokens []Token, base int) []Token {
	for i, token := range tokens {
		if len(tokens) == 1 || len(token.Word) < minInPhrase || hasDigit(token.Word) || q.Vocabulary.isKnown(token.Word) {
			continue
		}

		if i > 0 && markers[tokens[i-1].Word] {
			continue
		}

		frequency := q.Words.lexicon.Frequency(token.Word)
		for _, word := range q.Words.near(token.Word) {
			if frequency > 0 && q.Words.lexicon.Frequency(word) < rareInPhrase*frequency {
				continue
			}

			tokens[i].Word, tokens[i].Surface = word, word
			if q.Vocabulary.isInPhrase(tokens, i) {
				q.addCorrection(token.Word, word)
				q.recordCorrection(base, token, word)
				break
			}

			tokens[i] = token
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

	words := v.Words(tokens[from:min(len(tokens), i+maxPhrase)])
	for j := range i - from + 1 {
		for _, m := range v.Matches(nil, words, j) {
			if m.End > i-from && m.End-m.Start > 1 {
				return true
			}
		}
	}

	return false
}

// maxPhrase is how many words before or after a word its form may reach.
const maxPhrase = 3

// isPlace reports whether the word is the name of a place.
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
