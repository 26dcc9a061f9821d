// Package jobseeker owns the data of jobseekers except their applications, which module
// hiring owns: profiles, saved jobs, documents, notifications, activity logs,
// onboarding, recommendations, and saved searches with their alerts.
//
//	listing becomes public ──▶ alert queue, for a few seconds ──▶ matched with all
//	saved searches, in memory ──▶ matches ──▶ notifications at once
//	                                   └────▶ one digest a day, by e-mail
//
// Every user has one profile, which contains all preferences. The name and e-mail address
// belong to the account, which module identity owns.
//
// This module stores the properties of a document in the database and its content in the
// file store (content.go shows the states of a file).
//
// The module records no events. It handles
//
//   - application.submitted, application.status_changed, interview.changed,
//     applicant.contacted and subscription.changed, from which it creates notifications and
//     activities
//   - job.created, which starts the matching
//   - user.deleted, which deletes all data of the user
package jobseeker
