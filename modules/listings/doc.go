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
// Visitors report public listings to the moderators, and a listing whose text is suspicious
// is put into the same queue of cases; neither changes the listing. A moderator's decision
// hides or shows it.
//
// Events out: job.created at the first publication, job.updated when a field
// that the public sees has changed or the listing is public again, job.closed
// when it stops being public, job.moderated when a moderator takes a listing down or shows
// it again. Events in: AccountDeleted, OrganizationClosed,
// OrganizationRenamed, OrganizationModerated.
package listings
