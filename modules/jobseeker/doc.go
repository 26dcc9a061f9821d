// Package jobseeker owns what clinicians keep beside their applications, which
// are hiring's: profile and preferences, saved jobs, documents, searches and
// notifications.
package jobseeker
