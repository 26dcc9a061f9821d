// Package integrations owns third-party applications with their API keys, plans and
// usage, the consents of users to them (OAuth 2.0), and webhooks.
//
// An application belongs to the account that created it. A key reads on behalf of
// that account. What an account may see is determined at each request (Visibility),
// so that a former member of an organization sees nothing of it. Webhooks about job
// applications check the same before each attempt.
//
// The module does not read the tables of identity: the port Accounts answers whether
// an account is active, and who the members of an organization are.
//
// Events published: app.deleted. Events consumed: user.deleted,
// user.password_changed, user.programs_signed_out, subscription.changed, and those
// that webhooks subscribe to.
package integrations
