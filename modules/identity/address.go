package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
)

// EmailChange is the address that an account is to have as soon as its owner
// has shown that they read mail there.
type EmailChange struct {
	UserID      string
	Email       string
	RequestedAt time.Time
}

// waits reports whether the change can still be confirmed.
func (c EmailChange) waits(now time.Time) bool {
	return now.Before(c.RequestedAt.Add(purposeLife[ForVerification]))
}

// changesPerAccount keeps an account that was taken over from becoming a mail
// gun, and every account from asking which addresses are registered.
var changesPerAccount = limit.Rule{Name: "change-email", Max: 5, Per: time.Hour}

// Rename gives the account another name.
func (s *Service) Rename(ctx context.Context, userID, name string) error {
	var c checks
	name = c.line("name", name, true)
	if err := c.err(); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.Users.Find(ctx, userID)
		if err != nil || u.Name == name {
			return err
		}
		u.Rename(name, s.Clock.Now())
		return s.Users.Save(ctx, &u)
	})
}

// ChangeEmail asks for another address. The account keeps the one that it has
// until the mail to the other is answered (VerifyEmail); a later request takes
// this one's place, and the present address takes it back. ErrEmailTaken if the
// other belongs to another account. The caller must be confirmed to ask for an
// address that is neither the present one nor the requested one.
func (s *Service) ChangeEmail(ctx context.Context, a auth.Actor, email string) error {
	userID := a.UserID
	var c checks
	email = c.email(email)
	if err := c.err(); err != nil {
		return err
	}
	u, err := s.Users.Find(ctx, userID)
	if err != nil {
		return err
	}
	if s.Mailboxes.Key(u.Email) == s.Mailboxes.Key(email) {
		switch stays, err := s.keepEmail(ctx, userID, email); {
		case err != nil:
			return err
		case stays:
			return nil
		}
		// It was theirs until just now: asked for like any other.
	}
	waiting, err := s.PendingEmail(ctx, userID)
	if err != nil || waiting == email {
		return err // whoever saves a form twice gets one mail
	}
	if err := a.RequireConfirmed(s.Clock.Now()); err != nil {
		return err
	}
	switch d, err := s.Limiter.Take(ctx, changesPerAccount, userID); {
	case err != nil:
		return err
	case !d.Allowed:
		return fault.ErrRateLimit.WithRetryAfter(d.RetryAfter)
	}
	// Only now, so that nobody finds out without end who has an account.
	if err := s.notTaken(ctx, email); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		u, err := s.Users.Find(ctx, userID)
		if err != nil {
			return err
		}
		// Saved, so that a deletion at the same time comes before or after this.
		u.UpdatedAt = now
		if err := s.Users.Save(ctx, &u); err != nil {
			return err
		}
		if err := s.EmailChanges.Put(ctx, EmailChange{UserID: userID, Email: email, RequestedAt: now}); err != nil {
			return err
		}
		if err := s.auditUser(ctx, userID, audit.EmailChangeRequested, userID); err != nil {
			return err
		}
		return s.Events.Record(ctx, event.EmailChangeRequested{UserID: userID, RequestedAt: now})
	})
}

// keepEmail takes back what waits to be confirmed. False if the address is not
// the account's any more, since another one has been confirmed meanwhile.
func (s *Service) keepEmail(ctx context.Context, userID, email string) (stays bool, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		// The change before the account: if it is gone because it was confirmed,
		// the account has moved.
		_, err := s.EmailChanges.Find(ctx, userID)
		none := errors.Is(err, ErrNoEmailChange)
		if err != nil && !none {
			return err
		}
		u, err := s.Users.Find(ctx, userID)
		if err != nil {
			return err
		}
		if stays = s.Mailboxes.Key(u.Email) == s.Mailboxes.Key(email); !stays || none {
			return nil
		}
		// Saved, so that a confirmation at the same time comes before or after this.
		u.UpdatedAt = s.Clock.Now()
		if err := s.Users.Save(ctx, &u); err != nil {
			return err
		}
		return s.EmailChanges.Remove(ctx, userID)
	})
	return stays, err
}

// PendingEmail is the address that the account is to have, empty if none waits
// to be confirmed.
func (s *Service) PendingEmail(ctx context.Context, userID string) (string, error) {
	c, err := s.EmailChanges.Find(ctx, userID)
	if errors.Is(err, ErrNoEmailChange) || err == nil && !c.waits(s.Clock.Now()) {
		return "", nil
	}
	return c.Email, err
}

func (s *Service) notTaken(ctx context.Context, email string) error {
	u, err := s.findByEmail(ctx, email)
	switch {
	case errors.Is(err, ErrUserNotFound):
		return nil
	case err == nil && u.Status == UserActive:
		return ErrEmailTaken
	}
	return err
}

// moveTo makes the address that was proven the account's, if it is the one that
// the owner asked for last. Whoever was invited under it and has no account is
// the same person, as it turns out.
func (s *Service) moveTo(ctx context.Context, u *User, email string, now time.Time) error {
	c, err := s.EmailChanges.Find(ctx, u.ID)
	if errors.Is(err, ErrNoEmailChange) || err == nil && (EmailKey(c.Email) != EmailKey(email) || !c.waits(now)) {
		return errBadToken
	} else if err != nil {
		return err
	}
	if err := s.takeAddress(ctx, u, email); err != nil {
		return err
	}
	left := EmailUndo{UserID: u.ID, Email: u.Email, Key: u.EmailKey(), ChangedAt: now, ExpiresAt: now.Add(undoLife)}
	u.Move(c.Email, s.Mailboxes.Key(c.Email), now)
	if err := s.Users.Save(ctx, u); err != nil {
		return err
	}
	if err := s.notReserved(ctx, u, now); err != nil {
		return err
	}
	if err := s.leaveAddress(ctx, left, u.EmailKey()); err != nil {
		return err
	}
	if err := s.Events.Record(ctx, event.EmailChanged{UserID: u.ID, ChangedAt: now}); err != nil {
		return err
	}
	if err := s.EmailChanges.Remove(ctx, u.ID); err != nil {
		return err
	}
	if err := s.auditUser(ctx, u.ID, audit.EmailChanged, u.ID); err != nil {
		return err
	}
	// Links in the old mailbox open this account no more.
	return s.MailTokens.SpendAll(ctx, u.ID, ForReset, "", now)
}

// leaveAddress keeps the address that the account has left, so that its owner can
// get it back. A return to an address that the account can get back undoes what
// was changed since: no undo link is sent to the address that the account leaves.
func (s *Service) leaveAddress(ctx context.Context, left EmailUndo, nextKey string) error {
	undo, err := s.EmailUndos.Find(ctx, left.UserID, nextKey, left.ChangedAt)
	if errors.Is(err, ErrNoEmailChange) {
		return s.EmailUndos.Create(ctx, left)
	} else if err != nil {
		return err
	}
	return s.EmailUndos.DeleteSince(ctx, left.UserID, undo.ChangedAt)
}

// takeAddress makes the address free for the account: an invited user who has it
// is merged into the account. ErrEmailTaken if another account has it.
func (s *Service) takeAddress(ctx context.Context, u *User, email string) error {
	switch holder, err := s.findByEmail(ctx, email); {
	case errors.Is(err, ErrUserNotFound):
		return nil
	case err != nil:
		return err
	case holder.ID == u.ID:
		return nil
	case holder.Status == UserActive:
		return ErrEmailTaken
	default:
		return s.Users.Absorb(ctx, holder.ID, u.ID)
	}
}

// OnEmailChangeRequested warns the present address and then asks the other one
// to confirm, in this order, so that the owner is notified before the holder of a
// stolen session can confirm.
func (s *Service) OnEmailChangeRequested(ctx context.Context, e event.EmailChangeRequested) error {
	u, err := s.recipient(ctx, e.UserID)
	if err != nil || u.ID == "" {
		return err
	}
	c, err := s.EmailChanges.Find(ctx, u.ID)
	if errors.Is(err, ErrNoEmailChange) || err == nil && !c.RequestedAt.Equal(e.RequestedAt) {
		return nil // done, taken back, or asked for anew
	} else if err != nil {
		return err
	}
	id := u.ID + "-" + moment(e.RequestedAt)
	err = s.send(ctx, u, "email-change-"+id, "Your e-mail address is about to change",
		mail.Block{Text: "On " + e.RequestedAt.UTC().Format("2 January 2006 at 15:04 UTC") + " somebody, hopefully you, asked for another e-mail address for your account. It changes as soon as a mail to the new address is answered."},
		mail.Block{Text: "If it was not you, please set a new password now: that signs everybody else out, and your address stays the one that it is."}, s.newPassword())
	// An address that takes no mail any more is a good reason to have another.
	if err != nil && !task.IsPermanent(err) {
		return err
	}
	next := u
	next.Email = c.Email
	token, err := s.mailToken(ctx, next, ForVerification, "", s.Clock.Now())
	if err != nil {
		return ignoreGone(err)
	}
	held, err := s.heldPrograms(ctx, u.ID)
	if err != nil {
		return err
	}
	return s.send(ctx, next, "confirm-email-"+id, "Please confirm your new e-mail address", slices.Concat([]mail.Block{
		{Text: "This is to be the e-mail address of your account on locum. Please confirm that it is yours."},
		s.link("Confirm the address", "verify-email", token),
		{Text: "The link works once, for 24 hours. If you use the API, this is the token:"}, {Code: token},
	}, held, []mail.Block{{Text: "If you did not ask for this, you need not do anything."}})...)
}
