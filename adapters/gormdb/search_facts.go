package gormdb

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// facts are what is remembered of the table for a while.
type facts struct {
	mu     sync.Mutex
	at     time.Time
	open   float64 // how many listings are open, about
	weeks  float64 // over how many weeks they were posted
	counts map[string]counted
	totals map[string]totalled
	plans  map[string]planned
}

// totalled is the total of a search. It holds for a moment, and no longer than
// until this process writes listings.
type totalled struct {
	n        int
	estimate bool
	at       time.Time
	changes  uint64
}

// planned is what the planner expects of a condition.
type planned struct {
	rows, cost float64
	at         time.Time
}

const (
	totalAge = time.Second
	// mostFacts bounds what is remembered of each kind.
	mostFacts = 1024
)

// question tells apart what is asked, whenever it is asked.
func (s *search) question(g segment) string {
	args := slices.DeleteFunc(slices.Clone(g.where.args), func(a any) bool { return a == any(s.q.Now) })
	return fmt.Sprintf("%s\x00%s\x00%#v", g.fts, g.where.sql, args)
}

func (f *facts) recall(question string, now time.Time, changes uint64) *totalled {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.totals[question]; ok && t.changes == changes && now.Sub(t.at) < totalAge {
		return &t
	}
	return nil
}

func (f *facts) remember(question string, t totalled) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.totals) >= mostFacts {
		clear(f.totals)
	}
	f.totals[question] = t
}

type counted struct {
	n  int
	at time.Time
}

const factsAge = 30 * time.Second

func newFacts() *facts {
	return &facts{counts: map[string]counted{}, totals: map[string]totalled{}, plans: map[string]planned{}}
}
