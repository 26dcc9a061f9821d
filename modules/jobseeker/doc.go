// Package jobseeker owns what clinicians keep beside their applications, which
// are hiring's: their profile, the jobs that they saved, documents,
// notifications, the log of their doings, onboarding and recommendations, and
// saved searches with their alerts.
//
//	listing becomes public ──▶ collected for a few seconds ──▶ held against all
//	saved searches, in memory ──▶ matches ──▶ notifications at once
//	                                   └────▶ one digest a day, by mail
//
// There is one profile for everybody, and what somebody prefers or wants to hear
// of stands in it alone, whichever of the interface's places it is changed at.
// Name and address are the account's, which identity keeps.
//
// A document's row is here and its content in the store of files (content.go
// draws the states of a file).
//
// Events out: none. Events in: application.submitted,
// application.status_changed, interview.changed, applicant.contacted and
// subscription.changed, which become notifications and entries of the log;
// job.created, which starts the matching; user.deleted, after which nothing is
// left of the user.
package jobseeker
