package searchindex

import (
	"context"
	"math/bits"
	"slices"
	"time"
)

// maintain merges segments and writes checkpoints until ctx ends.
func (x *Index) maintain(ctx context.Context) {
	checkpoints := time.NewTicker(x.options.CheckpointInterval)
	defer checkpoints.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
			err = x.mergeAll(ctx)
		case <-checkpoints.C:
			x.maintaining.Lock()
			err = x.checkpoint()
			x.maintaining.Unlock()
		}
		if err != nil && ctx.Err() == nil {
			x.options.Log.Error("search index maintenance failed; will retry", "error", err)
		}
	}
}

// mergeAll merges until no more segments of about the same size are left.
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

// limitParts merges until there are few enough segments, if maintain is behind.
func (x *Index) limitParts(ctx context.Context) error {
	if st := x.state.Load(); st == nil || len(st.parts) <= maxParts {
		return nil
	}
	return x.mergeAll(ctx)
}

// Compact merges all segments into one without deleted documents.
func (x *Index) Compact(ctx context.Context) error {
	x.maintaining.Lock()
	defer x.maintaining.Unlock()
	_, err := x.merge(ctx, func(parts []*part) []*part {
		if len(parts) == 1 && parts[0].deadCount == 0 {
			return nil
		}
		return slices.Clone(parts)
	})
	return err
}

// selectParts returns the segments to merge next: several of about the same
// size, the smallest first, or one of which more than half is deleted.
func selectParts(parts []*part) []*part {
	var bySize [32][]*part
	for _, p := range parts {
		if p.live() == 0 || p.deadCount > p.docs()/2 {
			return []*part{p}
		}
		size := (bits.Len(uint(p.live())) - 1) / bits.Len(mergeCount-1)
		bySize[size] = append(bySize[size], p)
	}
	for _, list := range bySize {
		if len(list) >= mergeCount {
			return list
		}
	}
	return nil
}

// merge replaces the segments that choose returns by one. The caller holds
// maintaining.
func (x *Index) merge(ctx context.Context, choose func([]*part) []*part) (merged bool, err error) {
	st, err := x.acquire()
	if err != nil {
		return false, err
	}
	defer st.release()
	sources := choose(st.parts)
	if len(sources) == 0 {
		return false, nil
	}
	m := newMerger(sources)
	var result *segment
	if len(m.order) > 0 {
		if result, err = x.writeMerged(ctx, m); err != nil {
			return false, err
		}
	}
	x.replace(m, result)
	return true, nil
}

// replace publishes a state in which result takes the place of the segments of
// m, without the documents deleted since m was made.
func (x *Index) replace(m *merger, result *segment) {
	x.writing.Lock()
	defer x.writing.Unlock()
	var parts []*part
	merged := &part{segment: result}
	for _, p := range x.state.Load().parts {
		i := slices.IndexFunc(m.sources, func(s *part) bool { return s.segment == p.segment })
		if i < 0 {
			parts = append(parts, p)
			continue
		}
		if p.dead == nil {
			continue
		}
		for doc := range p.dead.each {
			if now := m.ordinals[i][doc]; now != dropped {
				merged = merged.without(now, true)
			}
		}
	}
	if result != nil {
		parts = append(parts, merged)
	}
	x.publish(newState(parts))
	x.changed = true
}

// writeMerged writes to a file if the index has a folder and the segment is
// large enough to be worth it.
func (x *Index) writeMerged(ctx context.Context, m *merger) (*segment, error) {
	c := m.content()
	c.stop = ctx.Err
	if x.folder == nil || c.docs < minFileDocs {
		return buildInMemory(c, x.options.Normalize)
	}
	return x.folder.writeSegment(c, x.options.Normalize)
}
