// Package integrations owns the third parties that build on the job board: their
// applications, with API keys, plans and what they have called.
//
// An application belongs to the account that made it. A key reads in that
// account's name: what it may see is asked at every call (Sight), so that
// whoever leaves an organization takes nothing along.
package integrations
