// Package integrations owns the third parties that build on the job board:
// their applications, keys, consents and webhooks.
package integrations
