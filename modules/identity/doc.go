// Package identity owns people, their sessions and the organizations that
// they work for.
//
// A user is invited (a row that holds the place of a person whom an
// organization invited and who has no account yet), active, or deleted:
//
//	(invite) → invited → (register, or accept an invitation) → active → deleted
//	(register) ─────────────────────────────────────────────→ active
//
// A membership is invited until the person accepts, then active; a person has
// at most one active membership. An organization always keeps an active admin.
//
// An account whose owner wants another address keeps the present one until the
// other is confirmed, and for 24 hours the old mailbox can undo the change. A
// deleted account is a row without a person: its name and
// address are replaced, so that the address is free again, and everything else
// of it is removed. An organization that is left without an admin is closed:
// it has no members any more. An admin can also remove a single member or
// withdraw an invitation. In both cases, a user who registered as an employer stays
// one and may join another organization; an account that was created for this
// organization alone becomes a jobseeker's.
//
// A session lives from a sign-in until it is ended (logout, a new password, a
// spent refresh token that comes back) or 30 days have passed, or 7 without a
// refresh. Every request reads session, user and membership in one query by
// the session's id: that is why a logout or a changed permission counts at
// once on every instance, without a list of revoked tokens to keep in step.
//
// An operator can lock an account, which keeps everything and cannot be used until
// it is unlocked. A second factor (TOTP) is enrolled, then enabled by a first code;
// an organization can require it, and then grants nothing to members without one.
// What is done to accounts, teams and credentials is recorded in the audit log, in
// the transaction of the change.
//
// Events out: UserRegistered, PasswordResetRequested, PasswordChanged,
// ProgramsSignedOut, SessionReuseDetected, MemberInvited, EmailChangeRequested,
// EmailChanged, SecondFactorChanged, AccountDeleted, OrganizationRenamed, OrganizationClosed. Events
// in: the first nine, for the mails.
package identity
