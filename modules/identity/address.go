package identity

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// EmailChange is a requested address. The account gets it when the user confirms it by a mailed link.
type EmailChange struct {
	Email       string
	RequestedAt time.Time
}

// isOpen reports whether the change can still be confirmed.
func (c EmailChange) isOpen(now time.Time) bool {
	return now.Before(c.RequestedAt.Add(purposeLife[ForVerification]))
}

// EmailHistory contains the addresses of an account besides the current one: the requested one, and
// the former ones that can still be restored.
type EmailHistory struct {
	UserID string
	// Requested is the address that is not yet confirmed, or nil.
	Requested *EmailChange
	// Undos are the former addresses, in the order of the changes. A former address can be restored
	// for 24 hours by a link in the old mailbox.
	Undos []EmailUndo
}

// findUndo returns the address that was replaced at the given time.
func (h *EmailHistory) findUndo(changedAt time.Time) (undo EmailUndo, exists bool) {
	for _, u := range h.Undos {
		if u.ChangedAt.Equal(changedAt) {
			return u, true
		}
	}

	return EmailUndo{}, false
}

// recordChange records that the address with the key newKey has replaced the address former. In
// general, former can then be restored.
//
// The exception is a new address that is itself a former address of the account and can still be
// restored. The change to it undoes all changes since it was replaced. Therefore it and the addresses
// that have replaced it, including former, cannot be restored any more.
func (h *EmailHistory) recordChange(former EmailUndo, newKey string) {
	h.Requested = nil
	for _, u := range h.Undos {
		canBeRestored := former.ChangedAt.Before(u.ExpiresAt)
		if u.Key == newKey && canBeRestored {
			h.deleteUndosSince(u.ChangedAt)
			return
		}
	}

	h.Undos = append(h.Undos, former)
}

// deleteUndosSince deletes the former addresses that were replaced at the time or later.
func (h *EmailHistory) deleteUndosSince(since time.Time) {
	h.Undos = slices.DeleteFunc(h.Undos, func(u EmailUndo) bool { return !u.ChangedAt.Before(since) })
}

// changesPerAccount limits the requests of an account for another address. Each sends e-mails, and
// its result reveals whether the address is registered.
var changesPerAccount = limit.Rule{Name: "change-email", Max: 5, Per: time.Hour}

// Rename changes the name of the account.
func (s *Service) Rename(ctx context.Context, userID, name string) error {
	if err := valid.Value("name", name, "notblank,max=200,line"); err != nil {
		return err
	}

	name = text.Name(name)

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.getUser(ctx, userID)
		if err != nil || user.Name == name {
			return err
		}

		user.Rename(name, s.Clock.Now())

		return s.Users.Update(ctx, &user)
	})
}

// ChangeEmail requests another address. The account keeps its current address until VerifyEmail
// confirms the requested one. A later request replaces an earlier one, and a request for the
// current address cancels it. ChangeEmail fails with ErrEmailTaken if another account has the
// address. The caller must be confirmed (must have entered their password within the last minutes),
// unless the address is the current or requested one.
func (s *Service) ChangeEmail(ctx context.Context, actor auth.Actor, email string) error {
	if err := cmp.Or(actor.RequireUser(), valid.Value("email", email, "required,email")); err != nil {
		return err
	}

	userID := actor.UserID
	email, _ = text.ParseEmail(email) // validated above

	user, err := s.getUser(ctx, userID)
	if err != nil {
		return err
	}

	// A request for the current address cancels an earlier request.
	if s.isSameMailbox(user.Email, email) {
		isCurrent, err := s.cancelChangeTo(ctx, userID, email)
		if err != nil || isCurrent {
			return err
		}

		// The current address was changed concurrently, so the given address has to be requested.
	}

	// A form that is submitted twice causes one e-mail.
	pending, err := s.PendingEmail(ctx, userID)
	if err != nil || pending == email {
		return err
	}

	if err := actor.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}

	if err := limit.Take(ctx, s.Limiter, changesPerAccount, userID); err != nil {
		return err
	}

	// Check the address only within the limit: the result reveals whether the address is registered.
	if _, err := s.requireFree(ctx, email); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()

		history, err := s.lockEmailHistory(ctx, userID)
		if err != nil {
			return err
		}

		history.Requested = &EmailChange{Email: email, RequestedAt: now}
		if err := s.EmailChanges.Upsert(ctx, history); err != nil {
			return err
		}

		requested := event.EmailChangeRequested{UserID: userID, RequestedAt: now}

		return s.auditUser(ctx, userID, audit.EmailChangeRequested, userID, requested)
	})
}

// isSameMailbox reports whether two addresses are spellings of the same one.
func (s *Service) isSameMailbox(a, b string) bool { return s.Mailboxes.Key(a) == s.Mailboxes.Key(b) }

// lockEmailHistory locks the account until the end of the transaction, so that no other transaction
// changes or deletes its history, and returns the history. It fails with ErrUserNotFound.
func (s *Service) lockEmailHistory(ctx context.Context, userID string) (EmailHistory, error) {
	if _, err := s.Users.GetForUpdate(ctx, userID); err != nil {
		return EmailHistory{}, err
	}

	return s.EmailChanges.Get(ctx, userID)
}

// cancelChangeTo cancels the requested change if the address is the current address of the
// account. It returns false if another address was confirmed concurrently.
func (s *Service) cancelChangeTo(ctx context.Context, userID, email string) (isCurrent bool, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.Users.GetForUpdate(ctx, userID)
		if err != nil {
			return err
		}

		isCurrent = s.isSameMailbox(user.Email, email)
		if !isCurrent {
			return nil
		}

		return s.cancelChange(ctx, userID)
	})

	return isCurrent, err
}

// cancelChange cancels the requested change of the address. The caller has locked the
// account.
func (s *Service) cancelChange(ctx context.Context, userID string) error {
	history, err := s.EmailChanges.Get(ctx, userID)
	if err != nil || history.Requested == nil {
		return err
	}

	history.Requested = nil

	return s.EmailChanges.Upsert(ctx, history)
}

// PendingEmail returns the requested address that can still be confirmed, or "" if there is none.
func (s *Service) PendingEmail(ctx context.Context, userID string) (string, error) {
	history, err := s.EmailChanges.Get(ctx, userID)
	if err != nil || history.Requested == nil || !history.Requested.isOpen(s.Clock.Now()) {
		return "", err
	}

	return history.Requested.Email, nil
}

// confirmChange replaces the address of the account with the confirmed address. It fails with
// errBadToken unless this is the address that was requested last. An invited user with the address
// is merged into the account. The caller has locked the account.
func (s *Service) confirmChange(ctx context.Context, user *User, confirmed string, now time.Time) error {
	history, err := s.EmailChanges.Get(ctx, user.ID)
	if err != nil {
		return err
	}

	requested := history.Requested
	if requested == nil || !requested.isOpen(now) {
		return errBadToken
	}

	// A link for an address that was requested before the last one is not valid any more.
	isLastRequested := LowerCaseKey(requested.Email) == LowerCaseKey(confirmed)
	if !isLastRequested {
		return errBadToken
	}

	// Replace the address.
	if err := s.claimAddress(ctx, user, confirmed); err != nil {
		return err
	}

	former := EmailUndo{Email: user.Email, Key: user.EmailKey(), ChangedAt: now, ExpiresAt: now.Add(undoLife)}
	user.Move(requested.Email, s.Mailboxes.Key(requested.Email), now)

	if err := s.Users.Update(ctx, user); err != nil {
		return err
	}

	if err := s.requireNotReserved(ctx, user, now); err != nil {
		return err
	}

	// Record the change, so that it can be undone from the old mailbox.
	history.recordChange(former, user.EmailKey())

	if err := s.EmailChanges.Upsert(ctx, history); err != nil {
		return err
	}

	changed := event.EmailChanged{UserID: user.ID, ChangedAt: now}
	if err := s.auditUser(ctx, user.ID, audit.EmailChanged, user.ID, changed); err != nil {
		return err
	}

	// Reset links in the old mailbox no longer give access to this account.
	return s.revokeTokens(ctx, user.ID, MailTokenFilter{Purpose: ForReset}, now)
}

// revokeTokens marks the user's unused tokens that match the filter as used.
func (s *Service) revokeTokens(ctx context.Context, userID string, f MailTokenFilter, now time.Time) error {
	_, err := s.MailTokens.MarkUsed(ctx, userID, f, now)
	return err
}

// claimAddress makes the address available to the account. If an invited user has the address, the
// user's invitations are moved to the account. If another account has the address, it fails with
// ErrEmailTaken.
func (s *Service) claimAddress(ctx context.Context, user *User, email string) error {
	holder, err := s.findByEmail(ctx, email)
	if err != nil {
		return fault.IfNotFound(err, nil) // no user has the address
	}

	if holder.ID == user.ID {
		return nil
	}

	if holder.Status == UserActive {
		return ErrEmailTaken
	}

	return s.Members.MergeInvited(ctx, holder.ID, user.ID)
}

// OnEmailChangeRequested sends a warning to the current address, and then a link to confirm the
// requested address. In this order, the owner is warned before someone with a stolen session
// can confirm.
func (s *Service) OnEmailChangeRequested(ctx context.Context, e event.EmailChangeRequested) error {
	user, err := s.recipient(ctx, e.UserID)
	if err != nil || user.ID == "" { // the account was deleted
		return err
	}

	history, err := s.EmailChanges.Get(ctx, user.ID)
	if err != nil {
		return err
	}

	requested := history.Requested
	if requested == nil || !requested.RequestedAt.Equal(e.RequestedAt) {
		return nil // the request was confirmed, cancelled or replaced
	}

	id := user.ID + "-" + encodeTime(e.RequestedAt)
	err = s.warnOfChange(ctx, user, "email-change-"+id, e.RequestedAt)

	// If the current address refuses e-mail permanently, the link is sent nevertheless. The refusal
	// may be the reason for the change.
	if err != nil && !task.IsPermanent(err) {
		return err
	}

	recipient := user
	recipient.Email = requested.Email

	return s.sendVerification(ctx, recipient, verificationMail{
		id:      "confirm-email-" + id,
		subject: "Please confirm your new e-mail address",
		first:   "This is to be the e-mail address of your account on locum. Please confirm that it is yours.",
		last:    "If you did not ask for this, you need not do anything.",
	})
}

// warnOfChange warns the owner of the current address that another address was requested.
func (s *Service) warnOfChange(ctx context.Context, user User, messageID string, requestedAt time.Time) error {
	return s.send(
		ctx,
		user,
		messageID,
		"Your e-mail address is about to change",
		mail.Block{
			Text: "On " + formatTime(requestedAt) + " somebody, hopefully you, asked for another e-mail address for your account. " +
				"It changes as soon as a mail to the new address is answered.",
		},
		mail.Block{
			Text: "If it was not you, please set a new password now: " +
				"that signs everybody else out, and your address stays the one that it is.",
		},
		s.newPasswordLink(),
	)
}
