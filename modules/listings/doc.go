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
// A listing is public while it is active, not deleted and its deadline has not
// passed. Open is whether the events so far say that it is. It changes together
// with them, and the search index contains the open listings: Engine answers
// searches from an index that an Indexer keeps current with the Feed.
//
// Events out: job.created at the first publication, job.updated when a field
// that the public sees has changed or the listing is public again, job.closed
// when it stops being public. Events in: none.
package listings
