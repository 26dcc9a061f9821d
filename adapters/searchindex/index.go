// Package searchindex is the embedded search engine. It implements search.Index,
// independent of the meaning of keys and words.
//
// # Segments
//
// The index is a list of immutable segments. Each is one image, the same in
// memory and in a mapped file: columns, sorted lists of keys and words, a
// compressed set of documents for each of them, and the texts for phrases. A
// batch of changes becomes a small segment; documents that it replaces or
// deletes are marked in a vector beside their segment. Segments of about the
// same size are merged in the background without analyzing texts again.
// Readers take the current list with one atomic operation and never wait.
//
// # Queries
//
// An expression is resolved against each segment and evaluated on vectors of one
// bit per document. A block of 65,536 documents is evaluated at a time.
//
// A query consists of slots, its parts, such as the role and the place. A slot has
// levels, the ways in which a document can satisfy it, each with a cost. The costs
// are added bit by bit for all documents of a block at once, so that exact totals
// cost little more than the first page. The levels of exact hits are evaluated
// first, and all levels only if the page has free places.
//
// Few hits are sorted. Many hits are instead looked up in the order of a sorted
// list of all documents. Places are grouped by cells of a grid, so that few
// distances are computed. Deadlines need no change of the index: the expired
// documents of a segment are computed once per deadline.
//
// A Batch evaluates many queries on a few documents.
//
// Posting lists have the layout of Roaring bitmaps, but are evaluated on these
// vectors without allocating memory. BenchmarkPosting compares them with
// github.com/RoaringBitmap/roaring/v2 2.30 on 1,000,000 documents, in ms and with
// the memory that Roaring bitmaps allocate:
//
//	                              sparse (.02 %)      medium (1 %)        dense (30 %)
//	build                         .001, .003, 3 KB    .02, .06, 107 KB    .5, 1.6, 847 KB
//	union of 10                   .010, .017, 17 KB   .09, .20, 139 KB    .06, .06, 141 KB
//	intersection of 3             .013, .003, 3 KB    .04, .04, 24 KB     .03, .08, 189 KB
//	intersection of two unions    .011, .016, 16 KB   .14, .87, 459 KB    .06, .11, 274 KB
//
// # Files
//
// The source of the documents is the log: a checkpoint writes new segments, then
// a manifest with the position up to which changes have been applied, and each
// file replaces an older one in one step. Open verifies all checksums.
//
// # Size
//
// BenchmarkFind and BenchmarkBuild measure 1,000,000 synthetic listings of 124
// words with LOCUM_TEST_DOCUMENTS=1000000. On two cores: 0.6 KB each, built in 45
// s, opened in 0.07 s. A word takes 0.1 ms, a role near a place 1.2 ms, a radius of
// 200 miles 1.9 ms, sorting 840,000 hits by pay 0.1 ms and by distance 1.6 ms,
// facets of 600 keys 2.8 ms. Of mixed queries 95 % take at most 3.6 ms, with 8
// clients at once 11 ms.
package searchindex

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/locumhq/locum/modules/listings/search"
)

// Options configure an index.
type Options struct {
	// Folder stores the index; without one it is in memory only. One process at
	// a time can open a folder.
	Folder string
	// Normalize returns the form by which words are compared. Analyzer is its
	// version together with that of what produces words and keys: a folder that
	// was written with another one is outdated.
	Normalize func(word string) string
	Analyzer  string
	// CheckpointInterval is how often changes are written to the folder, 5
	// seconds by default. Changes after the last checkpoint have to be applied
	// again after a crash.
	CheckpointInterval time.Duration
	// Log receives the errors of background work; nil discards them.
	Log *slog.Logger
}

const (
	// mergeCount segments of about the same size are merged into one. It is a power of 2, see selectParts.
	mergeCount = 8
	// maxParts is the number of segments above which Apply merges the small ones
	// before it returns.
	maxParts = 80
	// maxTombstones is the number of deleted documents whose version is kept, so that an older change, which
	// arrives late, does not create them again.
	maxTombstones = 16_384
)

// Index is an embedded search index. It is a list of parts, each an immutable segment with the set of its documents
// that were deleted later. Readers use the state, which is replaced by each change.
type Index struct {
	options Options
	state   atomic.Pointer[state] // nil after Close

	writing    sync.Mutex        // serializes changes of the state, and guards the next fields
	position   string            // in the feed of changes, up to which they have been applied
	tombstones tombstones        // the versions of deleted documents
	changed    bool              // whether there are changes since the last checkpoint
	claimed    map[*segment]bool // the segments that a running merge reads, which no other may replace

	// maintaining serializes checkpoints, which write changes to the folder, and merges to files. It guards the next
	// fields, and is locked before writing.
	maintaining sync.Mutex
	folder      *folder      // nil in memory
	lock        *flock.Flock // of the folder

	// fileDocs is the number of documents from which a merged segment is written
	// to a file at once, not at the next checkpoint.
	fileDocs int

	wake   chan struct{}      // receives a value after a change, for maintain
	cancel context.CancelFunc // ends maintain
	done   sync.WaitGroup     // of maintain
}

var _ search.Index = (*Index)(nil)

// Open opens or creates an index. It returns ErrLocked if another process has
// opened the folder, and ErrDamaged, ErrOutdated or ErrForeign if its content
// cannot be used.
func Open(o Options) (*Index, error) {
	if o.CheckpointInterval == 0 {
		o.CheckpointInterval = 5 * time.Second
	}

	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}

	x := &Index{options: o, fileDocs: minFileDocs, claimed: map[*segment]bool{}, wake: make(chan struct{}, 1)}

	var parts []*part
	if o.Folder != "" {
		var err error
		if parts, err = x.openFolder(); err != nil {
			return nil, err
		}
	}

	x.publish(newState(parts))

	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	x.done.Go(func() { x.maintain(ctx) })

	return x, nil
}

// Close implements search.Index. It first writes the changes since the last checkpoint to the folder.
func (x *Index) Close() error {
	x.cancel()
	x.done.Wait()
	x.maintaining.Lock()
	defer x.maintaining.Unlock()

	if x.state.Load() == nil {
		return nil // closed already
	}

	err := x.checkpoint()
	x.writing.Lock()
	x.publish(nil)
	x.writing.Unlock()

	if x.folder != nil {
		err = errors.Join(err, x.folder.root.Close(), x.lock.Unlock())
	}

	return err
}

// Position implements search.Index.
func (x *Index) Position() string {
	x.writing.Lock()
	defer x.writing.Unlock()
	return x.position
}

// Apply implements search.Index. It adds the new documents as a segment and marks their previous versions as
// deleted. An error of the merge that follows is only logged, because the changes are stored.
func (x *Index) Apply(ctx context.Context, changes []search.Change, position string) error {
	if err := x.apply(changes, position); err != nil {
		return err
	}

	select {
	case x.wake <- struct{}{}:
	default: // maintain has been woken already
	}

	x.report(ctx, x.limitParts(ctx))

	return nil
}

// apply publishes a state with the changes and stores the position.
func (x *Index) apply(changes []search.Change, position string) error {
	x.writing.Lock()
	defer x.writing.Unlock()

	st := x.state.Load()
	if st == nil {
		return search.ErrIndexClosed
	}

	// Mark the previous versions of the changed documents as deleted. A change is ignored if the index contains the
	// same or a newer version of the document, or has applied a deletion with such a version.
	next := nextParts{parts: slices.Clone(st.parts), unseen: map[int]bool{}}
	var docs []*search.Document

	deleted := map[string]int64{} // versions by id
	for _, c := range newest(changes) {
		if x.tombstones.covers(c.ID, c.Version) {
			continue
		}

		if isOutdated := !next.deletePrevious(c.ID, c.Version); isOutdated {
			continue
		}

		if c.Document == nil {
			deleted[c.ID] = c.Version
			continue
		}

		doc := *c.Document
		doc.ID, doc.Version = c.ID, c.Version
		docs = append(docs, &doc)
	}

	// The new documents become a segment.
	if len(docs) > 0 {
		s, err := build(docs, x.options.Normalize)
		if err != nil {
			return err
		}

		next.parts = append(next.parts, &part{segment: s})
	}

	// Change the tombstones only now: if build fails, nothing of the index has changed.
	for _, doc := range docs {
		x.tombstones.remove(doc.ID)
	}

	for id, version := range deleted {
		x.tombstones.add(id, version)
	}

	x.publish(newState(next.parts))

	x.position, x.changed = position, true

	return nil
}

// newest returns, for each document, the change with the highest version.
func newest(changes []search.Change) []search.Change {
	indexByID := map[string]int{} // in latest

	var latest []search.Change
	for _, c := range changes {
		i, exists := indexByID[c.ID]
		switch {
		case !exists:
			indexByID[c.ID] = len(latest)
			latest = append(latest, c)
		case c.Version > latest[i].Version:
			latest[i] = c
		}
	}

	return latest
}

// nextParts are the parts of the state that apply is preparing. No reader sees them before they are published.
type nextParts struct {
	parts  []*part
	unseen map[int]bool // the indexes of the parts that are not in the current state, but were created for the next one
}

// deletePrevious marks the stored version of a document as deleted, so that a new version can replace it. It returns true
// if the document can be stored: the stored version was lower and is deleted now, or there was none. It changes nothing
// and returns false if the stored version is the same or higher.
func (n *nextParts) deletePrevious(id string, version int64) bool {
	for i, p := range n.parts {
		doc, found := p.ordinal(id)
		if !found || p.isDead(doc) {
			continue
		}

		if p.versions[doc] >= version {
			return false
		}

		n.parts[i] = p.without(doc, n.unseen[i])
		n.unseen[i] = true

		return true // a document has at most one version that is not deleted
	}

	return true
}

// Frequency implements search.Index. It adds the counts of all parts, which include their deleted documents.
func (x *Index) Frequency(word string) int {
	st, err := x.acquire()
	if err != nil {
		return 0
	}
	defer st.release()

	sum := 0
	for _, p := range st.parts {
		if number, found := p.words.find(word); found {
			sum += p.wordPostings().count(number)
		}
	}

	return sum
}

// Words implements search.Index. Like Frequency, it counts deleted documents.
func (x *Index) Words(prefix string) iter.Seq2[string, int] {
	return x.terms(prefix, wordsOf, func(p *part, i int) int { return p.wordPostings().count(i) })
}

// Keys implements search.Index. It does not count deleted documents.
func (x *Index) Keys(prefix string) iter.Seq2[string, int] {
	return x.terms(prefix, keysOf, func(p *part, i int) int {
		docs := p.keyPostings().get(i) // the set of the documents with the key
		if p.dead == nil {
			return docs.count
		}

		return docs.count - docs.countIn(p.dead)
	})
}

// terms iterates over the terms of all parts that begin with the prefix, with the number of their documents.
// It leaves out terms without documents. list returns the terms of a segment, and count the number of
// documents of one of its terms.
func (x *Index) terms(prefix string, list func(*segment) *texts, count func(p *part, term int) int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		st, err := x.acquire()
		if err != nil {
			return
		}
		defer st.release()

		for term, numbers := range unionTerms(st.parts, list, prefix) {
			sum := 0
			for i, p := range st.parts {
				if numbers[i] >= 0 { // the part has the term
					sum += count(p, numbers[i])
				}
			}

			// The term is copied, because its memory belongs to the state.
			if sum > 0 && !yield(strings.Clone(term), sum) {
				return
			}
		}
	}
}

// tombstones are the versions of the documents that were deleted last. Changes may arrive late. A change of a deleted
// document is ignored if its version is not higher than that of the deletion.
type tombstones struct {
	versions map[string]int64 // by id
	// order contains all deletions, oldest first. An entry whose version differs from that in versions is
	// void: the document was created or deleted again.
	order []tombstone
}

// tombstone is a deleted document with the version of its deletion.
type tombstone struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
}

// covers reports whether the document was deleted with this or a higher version.
func (t *tombstones) covers(id string, version int64) bool {
	deleted, found := t.versions[id]
	return found && deleted >= version
}

// remove forgets the deletion of a document, which has been created again.
func (t *tombstones) remove(id string) { delete(t.versions, id) }

// add stores a deletion. Beyond maxTombstones it drops the oldest one.
func (t *tombstones) add(id string, version int64) {
	if t.versions == nil {
		t.versions = map[string]int64{}
	}

	t.versions[id] = version

	t.order = append(t.order, tombstone{ID: id, Version: version})
	if len(t.order) > maxTombstones {
		if oldest := t.order[0]; t.isValid(oldest) {
			delete(t.versions, oldest.ID)
		}

		t.order = t.order[1:]
	}
}

// isValid reports whether an entry of order is the last deletion of its document, and the document was not
// created again.
func (t *tombstones) isValid(entry tombstone) bool {
	version, found := t.versions[entry.ID]
	return found && version == entry.Version
}

// list returns the valid entries, oldest first.
func (t *tombstones) list() []tombstone {
	return slices.DeleteFunc(slices.Clone(t.order), func(entry tombstone) bool { return !t.isValid(entry) })
}
