// Package identity owns people, their sessions and the organizations that
// they work for.
//
// A user is invited (by an organization, and has no account yet), active, or deleted:
//
//	(invite) → invited → (register, or accept an invitation) → active → deleted
//	(register) ─────────────────────────────────────────────→ active
//
// A membership is invited until the user accepts, then active; a user has at most one
// active membership. An organization always has an active admin until it is closed.
//
// A user who requests another e-mail address keeps the current address until the new one is
// confirmed. For 24 hours after the confirmation, the change can be undone from the old
// mailbox. When an account is deleted, its name and address are replaced, so that the address
// becomes available, and all other data is deleted.
//
// An organization without an admin is closed, and its members are removed. An admin can also
// remove a single member or withdraw an invitation. In both cases, a user who registered as an
// employer remains an employer and may join another organization. An account that was created
// by accepting the invitation becomes the account of a jobseeker.
//
// A session begins with a sign-in. It ends with a logout, a new password or the reuse of a
// refresh token, after 30 days, or after 7 days without a refresh. Every request reads the
// session, user and membership in one query by the id of the session, so that a logout or a
// changed permission is effective at once on every instance.
//
// An organization is verified by a moderator, or when an admin confirms an e-mail address at
// the domain of the organization's website. A new name or website ends the verification. If
// the name of an organization resembles the name of a verified organization, its jobs are not
// public until a moderator decides. The jobs of a suspended organization are not public either.
//
// An operator can lock an account. A locked account keeps its data but cannot be used. A second
// factor (TOTP) is enrolled, and then enabled with a first code. If an organization requires a
// second factor, members without one have no permissions. Changes of accounts, teams and
// credentials are recorded in the audit log, in the transaction of the change.
//
// Events published: UserRegistered, VerificationRequested, PasswordResetRequested,
// PasswordChanged, ProgramsSignedOut, SessionReuseDetected, MemberInvited, EmailChangeRequested,
// EmailChanged, SecondFactorChanged, AccountDeleted, OrganizationRenamed, OrganizationClosed,
// OrganizationModerated, AccountModerated. The module also consumes these events, to send e-mails,
// except AccountDeleted, OrganizationRenamed and OrganizationClosed.
package identity
