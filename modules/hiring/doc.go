// Package hiring owns applications, their statuses and timelines, interviews, messages
// to applicants, notes and ratings of the employer, and exports.
//
//	(apply) ──▶ pending ──employer──▶ review, interview, accepted, rejected, withdrawn …
//	                ▲                        │ (any status at any time)
//	                └────────────────────────┘
//	(any) ──applicant withdraws──▶ withdrawn, for good
//
// The applicant and the employer share the status of an application. The applicant may also
// set a private tracker (pending, in-progress, completed, rejected), which the employer does
// not see. The applicant sees the tracker or the status, whichever was changed last. A user
// can apply to a listing only once, even after a withdrawal.
//
// When an applicant deletes their account, employers keep the application and its outcome.
// The name and address of the applicant, the documents, ratings, and all texts by, to or about
// the applicant are deleted.
//
// Events published: application.submitted, application.status_changed (also when the
// applicant withdraws), interview.changed, applicant.contacted, export.finished. Events
// consumed: these events, for e-mails; job.moderated, for e-mails; user.deleted, which deletes
// personal data; organization.closed, which cancels upcoming interviews.
package hiring
