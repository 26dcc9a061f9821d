// Package integrations owns third-party applications with their API keys, plans and
// usage, the consents of users to them (OAuth 2.0), and webhooks.
//
// An application belongs to the account that created it. An API key of the application
// reads data on behalf of that account. The permissions of the account (Visibility) are
// determined at each request, and before each attempt to send a webhook about a job
// application. A former member of an organization therefore receives nothing of it.
//
// The module does not read the tables of identity. The port Accounts tells whether an
// account is active, and who the members of an organization are.
//
// Events published: app.deleted. Events consumed: user.deleted, user.password_changed,
// user.programs_signed_out, subscription.changed, and the events that webhooks can
// subscribe to.
package integrations
