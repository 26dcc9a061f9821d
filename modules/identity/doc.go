// Package identity owns people, their sessions and the organizations that
// they work for.
//
// A user is invited (by an organization, without an account yet), active, or deleted:
//
//	(invite) → invited → (register, or accept an invitation) → active → deleted
//	(register) ─────────────────────────────────────────────→ active
//
// A membership is invited until the user accepts, then active; a user has at most one
// active membership. An organization always has an active admin until it is closed.
//
// An account for which another address is requested keeps the present one until the
// other is confirmed. For 24 hours afterwards the change can be undone from the old
// mailbox. The name and address of a deleted account are replaced, so that the address
// becomes available; all other data is deleted. An organization without an admin is
// closed: its members are removed. An admin can also remove a single member or
// withdraw an invitation. In both cases, a user who registered as an employer stays
// one and may join another organization; an account that was created by the
// invitation becomes a jobseeker's.
//
// A session begins with a sign-in. It ends by a logout, a new password or the reuse of
// a refresh token, after 30 days, or after 7 days without a refresh. Every request
// reads session, user and membership in one query by the session's id, so that a
// logout or a changed permission is effective at once on every instance, without a
// list of revoked tokens.
//
// An organization is not verified until a moderator verifies it, or an admin confirms an
// address at the domain of its website. Another name, or website, ends the verification. A
// name that is close to that of a verified organization makes an organization hold its jobs
// until a moderator decides. A suspended organization holds its jobs, too.
//
// An operator can lock an account: it cannot be used until it is unlocked, and its data
// is kept. A second factor (TOTP) is enrolled, then enabled by a first code. An
// organization can require it: members without one have no permissions then. Changes
// of accounts, teams and credentials are recorded in the audit log, in the transaction
// of the change.
//
// Events out: UserRegistered, PasswordResetRequested, PasswordChanged,
// ProgramsSignedOut, SessionReuseDetected, MemberInvited, EmailChangeRequested,
// EmailChanged, SecondFactorChanged, AccountDeleted, OrganizationRenamed,
// OrganizationClosed, OrganizationModerated, AccountModerated. Events in: the first nine and
// the last two, for the mails.
package identity
