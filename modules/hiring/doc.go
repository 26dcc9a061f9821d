// Package hiring owns applications, their statuses and timelines, interviews, messages
// to applicants, notes and ratings of the employer, and exports.
//
//	(apply) ──▶ pending ──employer──▶ review, interview, accepted, rejected, withdrawn …
//	                ▲                        │ (any status at any time)
//	                └────────────────────────┘
//	(any) ──applicant withdraws──▶ withdrawn, for good
//
// An application has one status for both sides. The applicant may also set a private
// tracker (pending, in-progress, completed, rejected), which the employer does not see;
// the applicant sees the one of the two that changed last. A person can apply to a
// listing once, even after withdrawing.
//
// When an applicant deletes their account, employers keep the application and its
// outcome, without the name, the address, the documents, texts by, to or about the applicant, or
// ratings.
//
// Events out: application.submitted, application.status_changed (also when the
// applicant withdraws), interview.changed, applicant.contacted, export.finished.
// Events in: the same, for the mails, user.deleted and organization.closed, which
// cancels upcoming interviews.
package hiring
