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
// Of an applicant who deletes their account employers keep that somebody
// applied and what became of it: no name, no address, nothing that was written
// by or to them.
//
// Events out: application.submitted, application.status_changed (also when the
// applicant withdraws), interview.changed, applicant.contacted, export.finished.
// Events in: the same, for the mails, user.deleted and organization.closed, which
// calls off the interviews to come.
package hiring
