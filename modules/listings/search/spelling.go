package search

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Lexicon provides the words of the indexed adverts.
type Lexicon interface {
	// Frequency returns the number of adverts that contain exactly this word.
	Frequency(word string) int
	// Words iterates over the words that begin with the prefix, with their
	// frequency.
	Words(prefix string) iter.Seq2[string, int]
}

// Spelling corrects misspelt words of queries towards the words of the vocabulary
// and the titles of adverts. It compares words by their edit distance: the number of letters
// that have to be inserted, deleted, replaced or exchanged with their neighbour.
type Spelling struct {
	vocabulary *Vocabulary
	lexicon    Lexicon
	// stop, unless it is nil, returns an error when corrections have to end.
	stop  func() error
	words int // how many words may still be corrected, if stop is set
	*misspellings
}

// misspellings finds words of the vocabulary by misspelt words. It is built at the first correction.
type misspellings struct {
	once  sync.Once
	known map[string]bool // the words of the vocabulary
	// deleted maps remainders to the known words of which they remain after deletions of letters. If two words are n
	// edits apart, they have a common remainder after at most n deletions from each. So the remainders of a misspelt
	// word lead to the known words near it (the algorithm is known as SymSpell).
	deleted map[string][]string
}

// NewSpelling returns a Spelling for a vocabulary. Words that adverts contain are
// not misspelt, unless they are rare beside a neighbour.
func NewSpelling(v *Vocabulary, lexicon Lexicon) *Spelling {
	return &Spelling{vocabulary: v, lexicon: lexicon, misspellings: new(misspellings)}
}

// Within returns a Spelling for one query, and one goroutine. It corrects no words
// after ctx is done, and at most maxCorrected words.
func (s *Spelling) Within(ctx context.Context) *Spelling {
	own := *s
	own.stop, own.words = ctx.Err, maxCorrected
	return &own
}

// isStopped reports whether the context of the query is done.
func (s *Spelling) isStopped() bool { return s.stop != nil && s.stop() != nil }

// consume takes one of the words that may still be corrected for the query. It returns false if there is none, or if the
// context of the query is done.
func (s *Spelling) consume() bool {
	isUnlimited := s.stop == nil
	if isUnlimited {
		return true
	}

	s.words--

	return s.words >= 0 && !s.isStopped()
}

// The limits of corrections.
const (
	// The lengths in characters from which one edit and two edits of a word are corrected, and up to which a word is
	// corrected at all.
	oneEditFrom  = 5
	twoEditsFrom = 8
	longestWord  = 30
	// maxCorrected is the number of words of a query that are compared with others. A
	// word that is neither known nor similar to another takes a millisecond.
	maxCorrected = 12
	// rareBeside is how many times as frequent in adverts another word must be to replace a word that adverts have, too.
	rareBeside = 1_000
)

// Correct returns the corrections of a misspelt word: one word, or two that are written
// together. It returns nil for a word that is correct or unknown. An unfinished word is
// not corrected while it is the beginning of a known one.
func (s *Spelling) Correct(token Token, unfinished bool) []string {
	s.once.Do(s.build)

	n := utf8.RuneCountInString(token.Word)

	// Short words, codes and numbers have too many neighbours, and known words are correct.
	hasUsualLength := n >= oneEditFrom && n <= longestWord
	isCode := hasDigit(token.Word) || strings.ContainsAny(token.Word, "&+/.")
	isKnown := s.vocabulary.isKnown(token.Word) || s.vocabulary.isFiller(token.Word)

	if !hasUsualLength || isCode || isKnown || !s.consume() {
		return nil
	}

	frequency := s.lexicon.Frequency(token.Word) // in adverts
	if unfinished && (frequency > 0 || s.beginsWord(token.Word) || s.beginsCommonWord(token.Word)) {
		return nil
	}

	first, second, isPair := s.parts(token.Word)

	// Two words that make a name together are likelier than any correction.
	if isPair && frequency == 0 && s.vocabulary.Form(first+" "+second) != nil {
		return []string{first, second}
	}

	edits := maxEdits(n)

	best, distance := s.nearest(token.Word, edits, unfinished)

	// In a short word, the first letter may be missing or exchanged with the second, but not replaced: light is not night.
	isFirstReplaced := best != "" && best[0] != token.Word[0] && best[0] != token.Word[1]
	if n < twoEditsFrom && isFirstReplaced {
		best = ""
	}

	if best != "" && (frequency == 0 || s.lexicon.Frequency(best) >= rareBeside*frequency) {
		return []string{best}
	}

	if frequency > 0 { // adverts have the word, so that it is correct
		return nil
	}

	if isPair && (best == "" || distance > 1) {
		return []string{first, second}
	}

	if word := s.similar(token.Word, edits); word != "" {
		return []string{word}
	}

	return nil
}

// maxSimilar is the maximum number of words of adverts that are compared with an unknown one.
const maxSimilar = 2_000

// sureLetters is the number of letters at the beginning of a word that are assumed to be correct
// when it is compared with words of adverts.
const sureLetters = 2

// similar returns the word of the adverts that is the closest to an unknown word, and of equally close ones the most
// frequent one. It returns "" if no word is within the number of edits.
func (s *Spelling) similar(word string, edits int) (best string) {
	letters := []rune(word)
	closest, frequency := edits+1, 0 // of best

	compared := 0
	for candidate, n := range s.completions(word[:sureLetters]) {
		compared++
		if compared > maxSimilar {
			break
		}

		isTooLong, isTooShort := len(candidate) > len(word)+edits, len(candidate) < len(word)-edits
		if isTooLong || isTooShort {
			continue
		}

		d := EditDistance(letters, []rune(candidate), edits)
		isMoreFrequent := d == closest && d <= edits && n > frequency

		if d < closest || isMoreFrequent {
			best, closest, frequency = candidate, d, n
		}
	}

	return best
}

// build indexes the words of the vocabulary by deletions, see misspellings.
func (s *Spelling) build() {
	s.known, s.deleted = map[string]bool{}, map[string][]string{}
	for _, f := range s.vocabulary.forms {
		for _, t := range Tokens(f.Text) {
			s.add(t.Word)
		}
	}
}

// add indexes a word of the vocabulary. Words with digits are codes and not corrected.
func (s *Spelling) add(word string) {
	if s.known[word] || hasDigit(word) {
		return
	}

	s.known[word] = true

	// A misspelt word may be one letter longer than the right one, and words are corrected from a minimum length. So
	// also add words that are one letter shorter, and with the number of edits for one letter more.
	if n := utf8.RuneCountInString(word); n >= oneEditFrom-1 {
		for _, rest := range deletions(word, maxEdits(n+1)) {
			s.deleted[rest] = append(s.deleted[rest], word)
		}
	}
}

// maxEdits returns the number of edits that are corrected in a word of n characters.
func maxEdits(n int) int {
	if n >= twoEditsFrom {
		return 2
	}

	return 1
}

// deletions returns the word and what remains of it after up to n deletions.
func deletions(word string, n int) []string {
	remainders := []string{word}

	start := 0 // of the remainders of the previous round

	for range n {
		end := len(remainders)
		for _, w := range remainders[start:end] {
			for i, r := range w {
				remainders = append(remainders, w[:i]+w[i+utf8.RuneLen(r):])
			}
		}

		start = end
	}

	slices.Sort(remainders)

	return slices.Compact(remainders)
}

// beginsWord reports whether a word of the vocabulary begins with the prefix.
func (s *Spelling) beginsWord(prefix string) bool {
	for word := range s.known {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}

	return false
}

// beginsCommonWord reports whether several adverts have a word with the prefix.
func (s *Spelling) beginsCommonWord(prefix string) bool {
	for _, n := range s.completions(prefix) {
		if n > 1 {
			return true
		}
	}

	return false
}

// completions iterates over the words of adverts that begin with the prefix.
func (s *Spelling) completions(prefix string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for word, n := range s.lexicon.Words(prefix) {
			if s.isStopped() || !yield(word, n) {
				return
			}
		}
	}
}

// nearest returns the known word that is closest to a word, and its distance in edits. Of equally close words, it
// returns the likeliest. It returns "" if no known word is within the number of edits.
//
// Users mistype the first letter less often than the others. A correction with two edits must therefore have the same
// first letter. Of equally close words, those with the same last letter are preferred. This does not apply to an
// unfinished word with one edit, whose last letter is not its end.
func (s *Spelling) nearest(word string, edits int, unfinished bool) (best string, distance int) {
	letters := []rune(word)

	distance = edits + 1
	for _, rest := range deletions(word, edits) {
		for _, candidate := range s.deleted[rest] {
			if candidate == best {
				continue
			}

			d := EditDistance(letters, []rune(candidate), edits)

			hasOtherBeginning := d > 1 && candidate[0] != word[0]
			if d > edits || d > distance || hasOtherBeginning {
				continue
			}

			anyEnd := unfinished && d == 1
			if d < distance || s.fits(candidate, best, word, anyEnd) {
				best, distance = candidate, d
			}
		}
	}

	return best, distance
}

// fits reports whether candidate a is likelier than candidate b, which has the same number of edits. A candidate with
// the last letter of the word is likelier, unless anyEnd is true or both have it. Otherwise isLikelier decides.
func (s *Spelling) fits(a, b, word string, anyEnd bool) bool {
	aEndsAlike, bEndsAlike := endsAlike(a, word), endsAlike(b, word)
	if aEndsAlike != bEndsAlike && !anyEnd {
		return aEndsAlike
	}

	return s.isLikelier(a, b, word)
}

// endsAlike reports whether two words have the same last letter.
func endsAlike(a, b string) bool { return a[len(a)-1] == b[len(b)-1] }

// near returns the known words one edit away, the likeliest first.
func (s *Spelling) near(word string) []string {
	if s.isStopped() {
		return nil
	}

	s.once.Do(s.build)

	letters := []rune(word)

	var neighbours []string
	for _, rest := range deletions(word, 1) {
		for _, candidate := range s.deleted[rest] {
			if !slices.Contains(neighbours, candidate) && EditDistance(letters, []rune(candidate), 1) == 1 {
				neighbours = append(neighbours, candidate)
			}
		}
	}

	slices.SortFunc(neighbours, func(a, b string) int {
		if s.isLikelier(a, b, word) {
			return -1
		}

		return 1
	})

	return neighbours
}

// isLikelier reports whether a is likelier than b to be meant by word. It compares whether they have the first letter
// of the word, and then their frequency in adverts. The alphabet decides between equal ones, so that results do not
// vary.
func (s *Spelling) isLikelier(a, b, word string) bool {
	aBeginsAlike, bBeginsAlike := a[0] == word[0], b[0] == word[0]
	if aBeginsAlike != bBeginsAlike {
		return aBeginsAlike
	}

	frequencyA, frequencyB := s.lexicon.Frequency(a), s.lexicon.Frequency(b)
	if frequencyA != frequencyB {
		return frequencyA > frequencyB
	}

	return a < b
}

// parts divides a word such as "dieteticassistant" into two known words. It prefers words that
// make a form together.
func (s *Spelling) parts(word string) (first, second string, ok bool) {
	for i := minPart; i+minPart <= len(word); i++ {
		a, b := word[:i], word[i:]
		switch {
		case !s.known[a] || !s.known[b]: // no division
		case s.vocabulary.Form(a+" "+b) != nil:
			return a, b, true
		case !ok && min(len(a), len(b)) > minPart:
			first, second, ok = a, b, true
		}
	}

	return first, second, ok
}

// minPart is the length of the shortest part of a divided word. Parts of that
// length make a form: compact is not comp and act.
const minPart = 3
