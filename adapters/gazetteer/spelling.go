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

// The shortest text that is corrected, and the shortest in which two edits are.
const (
	minCorrected = 5
	minTwoEdits  = 8
)

// The smallest towns that a text is corrected to.
const (
	minPopulationHome   = 20_000 // in the United Kingdom and Ireland
	minPopulationAbroad = 100_000
)

// spellingIndex finds names by their misspellings. It maps what remains of a
// name's beginning after up to two deletions to the name, so that a text and a
// name within two edits of it have an entry in common.
type spellingIndex struct {
	seed    maphash.Seed
	names   []spelledName
	entries []deletion // by hash
}

// spelledName is a name that a text may be corrected to.
type spelledName struct {
	key  string
	size int // of two names as close, the larger is meant
}

// deletion is one remainder of a name.
type deletion struct {
	hash uint32 // of the remainder
	name uint32 // the index in spellingIndex.names
}

// indexedPrefix is how many letters of a name are indexed.
const indexedPrefix = 8

// newSpellingIndex indexes the names of the tables. Different remainders may have one hash, so that closest
// compares the names themselves.
func newSpellingIndex(t *tables) *spellingIndex {
	x := &spellingIndex{seed: maphash.MakeSeed(), names: eligibleNames(t)}
	for i, n := range x.names {
		for h := range x.deletions(n.key) {
			x.entries = append(x.entries, deletion{h, uint32(i)})
		}
	}

	slices.SortFunc(x.entries, func(a, b deletion) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.name, b.name)) })

	x.entries = slices.Clip(slices.Compact(x.entries))

	return x
}

// eligibleNames returns the names of larger towns, regions and countries.
func eligibleNames(t *tables) []spelledName {
	size := map[string]int{}
	add := func(k string, n int) {
		if len(k) >= minCorrected && !strings.ContainsAny(k, "0123456789") {
			size[k] = max(size[k], n)
		}
	}

	for i := range t.towns.offsets {
		p := t.parseTown(t.towns.row(i))

		least := minPopulationAbroad
		if p.Country == "GB" || p.Country == "IE" {
			least = minPopulationHome
		}

		if p.Population >= least {
			add(firstField(t.towns.row(i)), p.Population)
		}
	}

	// Of names that are equally close, a country precedes a region, and a region all but the largest cities.
	for k := range t.regions {
		add(k, 1_000_000)
	}

	for k := range t.countries {
		add(k, 10_000_000)
	}

	out := make([]spelledName, 0, len(size))
	for k, n := range size {
		out = append(out, spelledName{k, n})
	}

	slices.SortFunc(out, func(a, b spelledName) int { return cmp.Compare(a.key, b.key) })

	return out
}

// deletions returns the hashes of the beginning of s, whole and with one and two of its
// bytes deleted. It may contain duplicates.
func (x *spellingIndex) deletions(s string) iter.Seq[uint32] {
	s = s[:min(len(s), indexedPrefix)]

	return func(yield func(uint32) bool) {
		if !yield(x.hash(s, -1, -1)) {
			return
		}

		for i := range len(s) {
			for j := i; j < len(s); j++ { // one deletion where i is j
				if !yield(x.hash(s, i, j)) {
					return
				}
			}
		}
	}
}

// hash returns the hash of s without its i-th and j-th bytes.
func (x *spellingIndex) hash(s string, i, j int) uint32 {
	var left [indexedPrefix]byte

	n := 0
	for at := range len(s) {
		if at != i && at != j {
			left[n] = s[at]
			n++
		}
	}

	return uint32(maphash.Bytes(x.seed, left[:n]))
}

// match is a name that may have been meant.
type match struct {
	spelledName
	cost int
}

// closest returns the names within the edits allowed for a text of its length,
// the best first: fewer edits, then the larger place. A wrong first letter
// counts as one edit more: Mersey is not Jersey.
func (x *spellingIndex) closest(k string) []match {
	allowed := 1
	if utf8.RuneCountInString(k) >= minTwoEdits {
		allowed = 2
	}

	var out []match

	seen := map[uint32]bool{}
	for h := range x.deletions(k) {
		i, _ := slices.BinarySearchFunc(x.entries, h, func(e deletion, h uint32) int { return cmp.Compare(e.hash, h) })
		for ; i < len(x.entries) && x.entries[i].hash == h; i++ {
			id := x.entries[i].name
			if seen[id] {
				continue
			}

			seen[id] = true
			name := x.names[id]

			d := search.EditDistance([]byte(k), []byte(name.key), allowed)
			if name.key[0] != k[0] {
				d++
			}

			if d <= allowed {
				out = append(out, match{name, d})
			}
		}
	}

	slices.SortFunc(out, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(b.size, a.size), cmp.Compare(a.key, b.key))
	})

	return out
}

// maxName is the longest name that a text is compared with.
const maxName = 64

// Correct implements listings.Gazetteer. It allows one edit in a text of at
// least 5 letters and two in one of at least 8; a text is never corrected to a
// small town. The county or country behind a comma is kept as it is.
func (g *Gazetteer) Correct(text string) (listings.Place, bool) {
	head, tail, _ := strings.Cut(text, ",")

	k := normalize(head)
	if len(k) < minCorrected || len(k) > maxName || strings.ContainsAny(text, "0123456789") {
		return listings.Place{}, false
	}

	for _, m := range g.loadSpelling().closest(k) {
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
