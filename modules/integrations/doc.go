// Package integrations owns the third parties that build on the job board: their
// applications, with API keys, plans and what they have called; what users allow
// them by OAuth 2.0; and the webhooks by which they hear of events.
//
// An application belongs to the account that made it. A key reads in that
// account's name: what it may see is asked at every call (Sight), so that
// whoever leaves an organization takes nothing along. Webhooks about applications
// for jobs ask the same, again before each attempt.
package integrations
