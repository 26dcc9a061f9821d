package gormdb

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"
)

// vocabulary is every word that a listing has, in memory. A word of a query
// that is not in it is a typo, or unfinished.
type vocabulary struct {
	*DB
	mu     sync.RWMutex
	words  []entry // in alphabetical order
	known  map[string]struct{}
	most   int       // how many words are kept
	coming int       // how many were added since the last reading
	newest time.Time // of what was read
	readAt time.Time
	stale  bool
	// reading keeps the refreshes of one process from running side by side.
	reading sync.Mutex
	// underway is the refresh that searches wait for, nil for none.
	underway *refreshing
}

type entry struct {
	word    string
	letters uint32 // which of a to z are in it
}

func newVocabulary(db *DB) *vocabulary {
	return &vocabulary{DB: db, known: map[string]struct{}{}, most: maxVocabulary}
}

// maxVocabulary is ten times what a million listings use. A word beyond it is
// found as well as any other, but nobody's typo of it is.
const maxVocabulary = 150_000

// What other processes add is seen after a while, what this one adds at once.
const (
	vocabularyAge     = 15 * time.Second
	vocabularyOverlap = time.Minute // of transactions that commit late
)

// add makes words known, in the transaction of ctx.
func (v *vocabulary) add(ctx context.Context, words map[string]struct{}) error {
	if err := v.refresh(ctx, false); err != nil {
		return err
	}
	var fresh []string
	v.mu.RLock()
	for w := range words {
		if _, ok := v.known[w]; !ok {
			fresh = append(fresh, w)
		}
	}
	room := max(0, v.most-len(v.known)-v.coming)
	v.mu.RUnlock()
	// In one order, so that two writers of the same words do not deadlock.
	slices.Sort(fresh)
	if fresh = fresh[:min(len(fresh), room)]; len(fresh) == 0 {
		return nil
	}
	now := v.clock.Now()
	for chunk := range slices.Chunk(fresh, 10_000) {
		var b strings.Builder
		b.WriteString("INSERT INTO search_words (word, added_at) VALUES ")
		args := make([]any, 0, 2*len(chunk))
		for i, w := range chunk {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("(?,?)")
			args = append(args, w, now)
		}
		b.WriteString(" ON CONFLICT (word) DO NOTHING")
		if err := v.unprepared(ctx).Exec(b.String(), args...).Error; err != nil {
			return wrap(err)
		}
	}
	v.mu.Lock()
	v.stale = true
	v.coming += len(fresh)
	v.mu.Unlock()
	return nil
}

// refresh reads what was added since the last time, if that is some time ago
// or this process added something.
func (v *vocabulary) refresh(ctx context.Context, now bool) error {
	v.mu.RLock()
	due := now && v.stale || v.readAt.IsZero() || v.clock.Now().Sub(v.readAt) > vocabularyAge
	since := v.newest
	v.mu.RUnlock()
	if !due {
		return nil
	}
	v.reading.Lock()
	defer v.reading.Unlock()
	v.mu.Lock()
	v.stale, v.coming = false, 0
	v.mu.Unlock()
	var rows []struct {
		Word    string
		AddedAt time.Time
	}
	err := v.q(ctx).Raw("SELECT word, added_at FROM search_words WHERE added_at >= ?", since.Add(-vocabularyOverlap)).Scan(&rows).Error
	if err != nil {
		return wrap(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.readAt = v.clock.Now()
	grown := false
	for _, r := range rows {
		if r.AddedAt.After(v.newest) {
			v.newest = r.AddedAt
		}
		if _, ok := v.known[r.Word]; ok || len(v.known) >= v.most {
			continue
		}
		v.known[r.Word] = struct{}{}
		v.words = append(v.words, entry{word: r.Word, letters: letters(r.Word)})
		grown = true
	}
	if grown {
		slices.SortFunc(v.words, func(a, b entry) int { return strings.Compare(a.word, b.word) })
	}
	return nil
}

// refreshTimeout bounds a refresh that outlives the search that began it.
const refreshTimeout = 30 * time.Second

// refreshWithin is refresh for a search, whose time may be too short for it: then
// the refresh goes on, so that a later search finds the words.
func (v *vocabulary) refreshWithin(ctx context.Context) error {
	for {
		r := v.beginRefresh()
		if r == nil {
			return nil
		}
		select {
		case <-r.done:
			if r.err != nil {
				return r.err
			}
		case <-ctx.Done():
			return wrap(ctx.Err())
		}
	}
}

// beginRefresh returns the refresh under way, or begins one. It returns nil if
// none is due.
func (v *vocabulary) beginRefresh() *refreshing {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.stale && !v.readAt.IsZero() && v.clock.Now().Sub(v.readAt) <= vocabularyAge {
		return nil
	}
	if v.underway != nil {
		return v.underway
	}
	r := &refreshing{done: make(chan struct{})}
	v.underway = r
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
		defer cancel()
		r.err = v.refresh(ctx, true)
		v.mu.Lock()
		v.underway = nil
		v.mu.Unlock()
		close(r.done)
	}()
	return r
}

// refreshing is a refresh that several searches wait for.
type refreshing struct {
	done chan struct{}
	err  error
}

func letters(w string) uint32 {
	var m uint32
	for _, r := range w {
		if r >= 'a' && r <= 'z' {
			m |= 1 << (r - 'a')
		}
	}
	return m
}

// maxExpansion bounds how many words one unfinished or misspelt word becomes.
const maxExpansion = 40

// completions are the known words that begin with the prefix.
func (v *vocabulary) completions(prefix string) []string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	i, _ := slices.BinarySearchFunc(v.words, prefix, func(e entry, p string) int { return strings.Compare(e.word, p) })
	var out []string
	for ; i < len(v.words) && strings.HasPrefix(v.words[i].word, prefix) && len(out) < maxExpansion; i++ {
		out = append(out, v.words[i].word)
	}
	return out
}

// knows reports whether a listing has the word.
func (v *vocabulary) knows(word string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	_, ok := v.known[word]
	return ok
}

// corrections are the known words nearest to one that is not known: one slip
// of the finger away from a short word, two from a long one.
func (v *vocabulary) corrections(word string) []string {
	rs := []rune(word)
	most := 1
	switch {
	case len(rs) < 4 || strings.ContainsAny(word, "0123456789"):
		return nil
	case len(rs) >= 8:
		most = 2
	}
	mask := letters(word)
	v.mu.RLock()
	defer v.mu.RUnlock()
	var out []string
	for _, e := range v.words {
		if d := len(e.word) - len(word); d > most*2 || -d > most*2 || bits.OnesCount32(e.letters^mask) > 2*most || len(e.word) < 3 {
			continue
		}
		switch d := distance(rs, []rune(e.word), most); {
		case d < most:
			most, out = d, append(out[:0], e.word)
		case d == most && len(out) < maxExpansion:
			out = append(out, e.word)
		}
	}
	return out
}

// distance counts the letters to insert, drop, change or swap with their
// neighbour, up to most+1 (optimal string alignment).
func distance(a, b []rune, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	var buf [3][maxLexeme + 2]int
	if len(b) > maxLexeme {
		return most + 1
	}
	before, prev, cur := buf[0][:len(b)+1], buf[1][:len(b)+1], buf[2][:len(b)+1]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			least = min(least, cur[j])
		}
		if least > most {
			return most + 1
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
