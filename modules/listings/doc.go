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
// A listing is public while it is active, neither deleted nor hidden, and its deadline has not
// passed. The stored field Open follows this. A change that makes a listing public or not public
// sets Open and records an event in the same transaction. CloseExpired clears Open of listings
// whose deadline has passed, and records events, too. The search index contains the open listings.
// Engine searches an index that an Indexer keeps current with the Feed.
//
// Visitors can report public listings to the moderators. A listing whose text is suspicious
// is put into the same queue of cases. Neither changes the listing: only the decision of a
// moderator hides or shows it.
//
// The module records these events:
//
//   - job.created when a listing is published for the first time
//   - job.updated when a public field has changed or the listing is public again
//   - job.closed when a listing stops being public
//   - job.moderated when a moderator takes a listing down or shows it again
//
// It handles AccountDeleted, OrganizationClosed, OrganizationRenamed and
// OrganizationModerated.
package listings
