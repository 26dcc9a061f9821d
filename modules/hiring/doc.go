// Package hiring owns applications: who applied to which listing, where each
// application stands, and how it got there.
//
//	(apply) ──▶ pending ──employer──▶ review, interview, accepted, rejected, withdrawn …
//	                ▲                        │ (any status at any time)
//	                └────────────────────────┘
//	(any) ──applicant withdraws──▶ withdrawn, for good
//
// An application has one status that both sides know. Beside it the applicant
// may keep a private tracker (pending, in-progress, completed, rejected), which
// the employer never sees; the applicant is shown whichever of the two changed
// last. One person applies to a listing once, also after withdrawing.
//
// Events out: application.submitted, application.status_changed (also when the
// applicant withdraws). Events in: none.
package hiring
