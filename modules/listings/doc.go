// Package listings manages the job listings of organizations: their content, their
// states, and the search for the public ones.
//
//	 (create) ──▶ draft ──status──▶ active ◀──status──▶ inactive
//	    │                            │  ▲                  │
//	    └──────────▶ active          │  └─ status, renew ──┤
//	                                 ▼                     ▼
//	                              closed ◀──────status── (any)
//
//	(any) ──archive──▶ archived ──status, renew──▶ active …
//	(any) ──delete───▶ archived and deleted ──restore, status, renew──▶ active …
//
// A listing is public while it is active, neither deleted nor hidden, and its deadline
// has not passed. It is Open if it is public according to the events so far, in whose
// transactions Open is updated. The search index contains the open listings: Engine
// searches an index that an Indexer keeps current with the Feed.
//
// Events out: job.created at the first publication, job.updated when a field
// that the public sees has changed or the listing is public again, job.closed
// when it stops being public. Events in: none.
package listings
