package searchindex

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// The pauses after a failed merge, for example because of a full disk. The pause is doubled after
// each failure, up to the maximum.
const (
	minMergePause = time.Second
	maxMergePause = time.Minute
)

// The index consists of parts: immutable segments, each with the set of its documents that were deleted later.
// Maintenance merges segments, because each of them makes every query slower, and writes checkpoints, which store
// the state of the index in its folder.

// maintain merges segments and writes checkpoints until ctx ends.
func (x *Index) maintain(ctx context.Context) {
	checkpoints := time.NewTicker(x.options.CheckpointInterval)
	defer checkpoints.Stop()

	wake, pause := x.wake, minMergePause

	// A change of the index sends to wake. After a failed merge, only retry is used, which fires after the pause: wake
	// is nil then, and a nil channel never receives. Otherwise each change would repeat a merge that fails.
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-checkpoints.C:
			x.maintaining.Lock()
			err := x.checkpoint()
			x.maintaining.Unlock()
			x.report(ctx, err)
			continue
		case <-wake:
		case <-retry:
		}

		if err := x.mergeAll(ctx); err != nil {
			x.report(ctx, err)

			wake, retry, pause = nil, time.After(pause), min(2*pause, maxMergePause)
		} else {
			wake, retry, pause = x.wake, nil, minMergePause
		}
	}
}

// report logs an error of maintenance. The operation is attempted again later.
func (x *Index) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, search.ErrIndexClosed) {
		x.options.Log.Error("search index maintenance failed; will retry", "error", err)
	}
}

// mergeAll merges until selectParts finds no more segments that are worth it.
func (x *Index) mergeAll(ctx context.Context) error {
	x.maintaining.Lock()
	defer x.maintaining.Unlock()

	for ctx.Err() == nil {
		merged, err := x.merge(ctx, selectParts)
		if err != nil || !merged {
			return err
		}
	}

	return nil
}

// limitParts merges small segments, in memory, if there are more than maxParts. This happens when changes come faster
// than maintain merges them. limitParts does not wait for maintain.
func (x *Index) limitParts(ctx context.Context) error {
	if st := x.state.Load(); st == nil || len(st.parts) <= maxParts {
		return nil
	}

	_, err := x.merge(ctx, selectSmall)

	return err
}

// Compact merges the segments into one without deleted documents.
func (x *Index) Compact(ctx context.Context) error {
	x.maintaining.Lock()
	defer x.maintaining.Unlock()

	_, err := x.merge(ctx, func(parts []*part) []*part {
		isCompact := len(parts) == 1 && parts[0].deadCount == 0
		if isCompact {
			return nil
		}

		return slices.Clone(parts)
	})

	return err
}

// selectParts returns the segments to merge next, or nil if no merge is worth it. A segment of which more than half is
// deleted is rewritten alone. Other segments are grouped by size: with mergeCount 8, a group has those of 1 to 7
// documents, another those of 8 to 63, and so on. selectParts returns the first group with at least mergeCount
// segments, the smallest sizes first. The merged segment belongs to a later group, so that a document is merged only
// about once in each group.
func selectParts(parts []*part) []*part {
	var groups [32][]*part // by the logarithm of the size to the base mergeCount, rounded down
	for _, p := range parts {
		isMostlyDeleted := p.live() == 0 || p.deadCount > p.docs()/2
		if isMostlyDeleted {
			return []*part{p}
		}

		// Because mergeCount is a power of 2, the logarithm is a quotient of binary logarithms.
		group := (bits.Len(uint(p.live())) - 1) / bits.Len(mergeCount-1)
		groups[group] = append(groups[group], p)
	}

	for _, group := range groups {
		if len(group) >= mergeCount {
			return group
		}
	}

	return nil
}

// selectSmall returns the smallest segments, in ascending order, to merge them in memory. It stops before a segment with
// which the merge would have at least minFileDocs documents, because such a segment must be written to a file. Once it has half of
// maxParts, it also stops before a segment that is larger than all smaller ones together, because most of the time of the
// merge would be spent on this segment.
func selectSmall(parts []*part) []*part {
	ascending := slices.Clone(parts)
	slices.SortFunc(ascending, func(a, b *part) int { return a.live() - b.live() })

	selectedDocs := 0
	for i, p := range ascending {
		needsFile := selectedDocs+p.live() >= minFileDocs

		isLarge := i >= maxParts/2 && p.live() > selectedDocs
		if needsFile || isLarge {
			return ascending[:i]
		}

		selectedDocs += p.live()
	}

	return ascending
}

// merge replaces the segments that choose returns by one. It reports whether there were any.
func (x *Index) merge(ctx context.Context, choose func([]*part) []*part) (merged bool, err error) {
	st, sources, err := x.claim(choose)
	if err != nil {
		return false, err
	}
	defer st.release()
	defer x.unclaim(sources)

	if len(sources) == 0 {
		return false, nil
	}

	m := newMerger(sources)

	var result *segment // nil if all documents are deleted
	if len(m.order) > 0 {
		if result, err = x.writeMerged(ctx, m); err != nil {
			return false, err
		}
	}

	x.replace(m, result)

	return true, nil
}

// claim calls choose with the segments that no other merge reads, and reserves the segments that choose returns
// until unclaim. The caller has to release the returned state, which contains them.
func (x *Index) claim(choose func([]*part) []*part) (st *state, sources []*part, err error) {
	x.writing.Lock()
	defer x.writing.Unlock()

	st, err = x.acquire()
	if err != nil {
		return nil, nil, err
	}

	unclaimed := slices.DeleteFunc(slices.Clone(st.parts), func(p *part) bool { return x.claimed[p.segment] })

	sources = choose(unclaimed)
	for _, p := range sources {
		x.claimed[p.segment] = true
	}

	return st, sources, nil
}

// unclaim permits other merges of the segments.
func (x *Index) unclaim(sources []*part) {
	x.writing.Lock()
	defer x.writing.Unlock()

	for _, p := range sources {
		delete(x.claimed, p.segment)
	}
}

// replace publishes a state in which result takes the place of the segments of m. result is nil if all their documents
// are deleted. Documents may have been deleted while the segments were merged. replace marks them as deleted in result.
func (x *Index) replace(m *merger, result *segment) {
	x.writing.Lock()
	defer x.writing.Unlock()

	st := x.state.Load()
	if st == nil {
		return // closed
	}

	var parts []*part

	const unseen = true // no reader uses the part yet

	merged := &part{segment: result}
	for _, p := range st.parts {
		source := slices.IndexFunc(m.sources, func(s *part) bool { return s.segment == p.segment })
		if source < 0 { // not merged
			parts = append(parts, p)
			continue
		}

		if p.dead == nil {
			continue
		}

		for doc := range p.dead.each {
			newOrdinal := m.ordinals[source][doc]

			// Documents that were deleted before the merge have no ordinal in the result.
			if newOrdinal != dropped {
				merged = merged.without(newOrdinal, unseen)
			}
		}
	}

	if result != nil {
		parts = append(parts, merged)
	}

	x.publish(newState(parts))

	x.changed = true
}

// writeMerged builds the merged segment. It writes the segment to a file if the index has a
// folder and the segment is large enough. The caller must hold the mutex maintaining for that, but not for the
// segments of selectSmall, which are never large enough. Other segments are built in memory, and the next checkpoint
// writes them.
func (x *Index) writeMerged(ctx context.Context, m *merger) (*segment, error) {
	c := m.content()
	c.stop = ctx.Err

	isSmall := c.docs < x.fileDocs
	if x.folder == nil || isSmall {
		return buildInMemory(c, x.options.Normalize)
	}

	return x.folder.writeSegment(c, x.options.Normalize)
}
