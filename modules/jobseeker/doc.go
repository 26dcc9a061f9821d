// Package jobseeker owns what clinicians keep beside their applications, which
// are hiring's: notifications, the log of their doings, and saved searches with
// their alerts.
//
//	listing becomes public ──▶ collected for a few seconds ──▶ held against all
//	saved searches, in memory ──▶ matches ──▶ notifications at once
//	                                   └────▶ one digest a day, by mail
//
// Events out: none. Events in: application.submitted,
// application.status_changed, interview.changed, applicant.contacted and
// subscription.changed, which become notifications and entries of the log;
// job.created, which starts the matching.
package jobseeker
