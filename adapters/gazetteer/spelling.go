package gazetteer

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

const (
	// minCorrected is the length of the shortest text that is corrected.
	minCorrected = 5
	// minTwoEdits is the length of the shortest text in which two edits are corrected.
	minTwoEdits = 8
)

// The smallest towns that a text is corrected to.
const (
	minPopulationHome   = 20_000 // in the United Kingdom and Ireland
	minPopulationAbroad = 100_000
)

// spellingIndex finds names by their misspellings. An edit is a letter that is wrong, missing, added, or
// swapped with its neighbour. From the beginning of each name, spellingIndex deletes up to two letters in
// every possible way, and maps each remainder to the name. The same is done to the text of a search: a text
// and a name within two edits of it have at least one remainder in common.
type spellingIndex struct {
	seed    maphash.Seed
	names   []spelledName
	entries []deletion // by hash
}

// spelledName is a name that a text may be corrected to.
type spelledName struct {
	key  string // normalized
	size int    // of two names that are equally close to a text, the larger one is meant
}

// deletion is a remainder of a name after deletions.
type deletion struct {
	hash uint32 // of the remainder
	name uint32 // the index in spellingIndex.names
}

// indexedPrefix is how many letters of a name are indexed.
const indexedPrefix = 8

// newSpellingIndex indexes the names of the tables. Different remainders may have the same hash. Therefore
// closest compares the names themselves.
func newSpellingIndex(t *tables) *spellingIndex {
	x := &spellingIndex{seed: maphash.MakeSeed(), names: eligibleNames(t)}
	for i, name := range x.names {
		for hash := range x.deletions(name.key) {
			x.entries = append(x.entries, deletion{hash: hash, name: uint32(i)})
		}
	}

	slices.SortFunc(x.entries, func(a, b deletion) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.name, b.name))
	})

	x.entries = slices.Clip(slices.Compact(x.entries))

	return x
}

// eligibleNames returns the names of larger towns, regions and countries.
func eligibleNames(t *tables) []spelledName {
	sizes := map[string]int{} // by key
	add := func(key string, size int) {
		if len(key) >= minCorrected && !strings.ContainsAny(key, "0123456789") {
			sizes[key] = max(sizes[key], size)
		}
	}

	for i := range t.towns.offsets {
		row := t.towns.row(i)
		town := t.parseTown(row)

		minPopulation := minPopulationAbroad
		if town.Country == "GB" || town.Country == "IE" {
			minPopulation = minPopulationHome
		}

		if town.Population >= minPopulation {
			add(firstField(row), town.Population)
		}
	}

	// Of names that are equally close, the largest is chosen. These sizes place countries before regions, and
	// regions before cities with fewer people.
	const regionSize, countrySize = 1_000_000, 10_000_000
	for key := range t.regions {
		add(key, regionSize)
	}

	for key := range t.countries {
		add(key, countrySize)
	}

	names := make([]spelledName, 0, len(sizes))
	for key, size := range sizes {
		names = append(names, spelledName{key: key, size: size})
	}

	slices.SortFunc(names, func(a, b spelledName) int { return cmp.Compare(a.key, b.key) })

	return names
}

// deletions returns the hashes of the beginning of s, whole and with one and two of its
// bytes deleted. It may contain duplicates.
func (x *spellingIndex) deletions(s string) iter.Seq[uint32] {
	s = s[:min(len(s), indexedPrefix)]

	return func(yield func(uint32) bool) {
		const none = -1 // no byte has this index
		if !yield(x.hashWithout(s, none, none)) {
			return
		}

		for i := range len(s) {
			for j := i; j < len(s); j++ { // one deletion where i is j
				if !yield(x.hashWithout(s, i, j)) {
					return
				}
			}
		}
	}
}

// hashWithout returns the hash of s without its i-th and j-th bytes.
func (x *spellingIndex) hashWithout(s string, i, j int) uint32 {
	var remainder [indexedPrefix]byte

	length := 0
	for at := range len(s) {
		if at != i && at != j {
			remainder[length] = s[at]
			length++
		}
	}

	return uint32(maphash.Bytes(x.seed, remainder[:length]))
}

// match is a name that may have been meant.
type match struct {
	spelledName
	cost int // the number of edits
}

// closest returns the names that are within the number of edits that is allowed for a text of this length.
// Names with fewer edits come first, and of those with equally many edits the larger places. A wrong first
// letter counts as one edit more: Mersey is not Jersey.
func (x *spellingIndex) closest(text string) []match {
	allowed := 1
	if utf8.RuneCountInString(text) >= minTwoEdits {
		allowed = 2
	}

	var matches []match

	isSeen := map[uint32]bool{} // by the index of the name
	for hash := range x.deletions(text) {
		// Go through the entries with the hash, from the first of them on.
		i, _ := slices.BinarySearchFunc(x.entries, hash, func(e deletion, h uint32) int { return cmp.Compare(e.hash, h) })
		for ; i < len(x.entries) && x.entries[i].hash == hash; i++ {
			index := x.entries[i].name
			if isSeen[index] {
				continue
			}

			isSeen[index] = true
			name := x.names[index]

			edits := search.EditDistance([]byte(text), []byte(name.key), allowed)
			if name.key[0] != text[0] {
				edits++
			}

			if edits <= allowed {
				matches = append(matches, match{spelledName: name, cost: edits})
			}
		}
	}

	slices.SortFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(b.size, a.size), cmp.Compare(a.key, b.key))
	})

	return matches
}

// maxName is the longest name that a text is compared with.
const maxName = 64

// Correct implements listings.Gazetteer. It allows one edit in a text of at least minCorrected letters, and
// two edits in a text of at least minTwoEdits letters. It never corrects a text to a small town. A county or
// country after a comma is not corrected.
func (g *Gazetteer) Correct(text string) (listings.Place, bool) {
	head, tail, _ := strings.Cut(text, ",")

	misspelled := normalize(head)

	hasPermittedLength := len(misspelled) >= minCorrected && len(misspelled) <= maxName
	if !hasPermittedLength || strings.ContainsAny(text, "0123456789") {
		return listings.Place{}, false
	}

	for _, m := range g.loadSpelling().closest(misspelled) {
		name := m.key
		if strings.TrimSpace(tail) != "" {
			name += "," + tail
		}

		if p, ok := g.Resolve(name); ok {
			return p, true
		}
	}

	return listings.Place{}, false
}
