// Package jobseeker owns what clinicians keep beside their applications, which
// are hiring's: notifications, the log of their doings, and saved searches with
// their alerts.
//
// Events out: none. Events in: application.submitted and
// application.status_changed, interview.changed, applicant.contacted, which
// become notifications and entries of the log.
package jobseeker
