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
// A session lives from a sign-in until it is ended (logout, a new password, a
// spent refresh token that comes back) or 30 days have passed, or 7 without a
// refresh. Every request reads session, user and membership in one query by
// the session's id: that is why a logout or a changed permission counts at
// once on every instance, without a list of revoked tokens to keep in step.
//
// Events out: UserRegistered, PasswordResetRequested, PasswordChanged,
// SessionReuseDetected, MemberInvited. Events in: the same, for the mails.
package identity
