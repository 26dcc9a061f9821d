// Package listings owns the job listings of organizations: what they say, when
// the public sees them, and how they are found.
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
// passed. Open is whether the world was last told that it is: it changes
// together with the events, and the storage's indexes hang on it.
//
// Events out: job.created at the first publication, job.updated when a field
// that the public sees has changed or the listing is public again, job.closed
// when it stops being public. Events in: none.
package listings
