package identity

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/valid"
)

// undoLife is the time for which a change of address can be undone from the old mailbox.
const undoLife = 24 * time.Hour

// EmailUndo is a former address of an account, which can be restored until ExpiresAt.
type EmailUndo struct {
	Email     string
	Key       string // the form of the address that is the same for all of its spellings
	ChangedAt time.Time
	ExpiresAt time.Time
}

// requireNotReserved fails with ErrEmailTaken if another account can still restore the address
// of the user. The caller has stored the user, so that a concurrent change of address is
// visible.
func (s *Service) requireNotReserved(ctx context.Context, u *User, now time.Time) error {
	reserved, err := s.EmailChanges.IsReserved(ctx, u.EmailKey(), u.ID, now)
	if err != nil {
		return err
	}

	if reserved {
		return ErrEmailTaken
	}

	return nil
}

// UndoEmailChangeInput contains the token that was mailed to the old address and a new
// password.
type UndoEmailChangeInput struct {
	Token    string `json:"token" validate:"required,max=4096"`
	Password string `json:"password" validate:"required,min=8,max=1024,maxbytes=1024,password"`
}

// UndoEmailChange restores the former address of an account, for the owner of the old mailbox.
// Because the account may have been taken over, UndoEmailChange also sets a new password, ends
// all sessions, signs out programs, and removes a second factor that was enabled after the
// change. The link can be used once. Afterwards, earlier changes of address can still be
// undone, but not later ones.
func (s *Service) UndoEmailChange(ctx context.Context, in UndoEmailChangeInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	userID, changedAt, err := s.parseUndoToken(in.Token)
	if err != nil {
		return err
	}

	if _, err := s.findUsableUndo(ctx, userID, changedAt); err != nil {
		return err // avoid hashing the password for an invalid token
	}

	hash, err := s.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.Users.GetForUpdate(ctx, userID)
		if err != nil {
			return fault.IfNotFound(err, errBadToken)
		}

		undo, err := s.findUsableUndo(ctx, userID, changedAt)
		if err != nil {
			return err
		}

		if err := s.claimAddress(ctx, &user, undo.Email); err != nil {
			return err
		}

		now := s.Clock.Now()
		user.Move(undo.Email, undo.Key, now)

		if err := s.setPassword(ctx, &user, hash, "", true, now); err != nil {
			return err
		}

		if err := s.removeSecondFactor(ctx, user.ID, undo.ChangedAt, now); err != nil {
			return err
		}

		h, err := s.EmailChanges.Get(ctx, user.ID)
		if err != nil {
			return err
		}

		h.revert(undo.ChangedAt)

		if err := s.EmailChanges.Upsert(ctx, h); err != nil {
			return err
		}

		if err := s.revokeTokens(ctx, user.ID, MailTokenFilter{Purpose: ForVerification}, now); err != nil {
			return err
		}

		return s.auditUser(ctx, user.ID, audit.EmailChanged, user.ID)
	})
}

// findUsableUndo returns the address that was replaced at the time. It fails with errBadToken
// if the address cannot be restored any more.
func (s *Service) findUsableUndo(ctx context.Context, userID string, changedAt time.Time) (EmailUndo, error) {
	h, err := s.EmailChanges.Get(ctx, userID)
	if err != nil {
		return EmailUndo{}, err
	}

	undo, ok := h.findUndo(changedAt)
	if !ok || !s.Clock.Now().Before(undo.ExpiresAt) {
		return EmailUndo{}, errBadToken
	}

	return undo, nil
}

// parseUndoToken returns the account and the time of the change that the token identifies. Its
// subject has the format USER-ID.MICROSECONDS-IN-BASE-36 (see OnEmailChanged).
func (s *Service) parseUndoToken(token string) (userID string, changedAt time.Time, err error) {
	subject, err := s.Sealer.Unseal(auth.ForEmailUndo, token)
	if err != nil {
		if errors.Is(err, fault.ErrUnauthorized) {
			err = errBadToken
		}

		return "", time.Time{}, err
	}

	userID, at, _ := strings.Cut(subject, ".")

	micros, err := strconv.ParseInt(at, 36, 64)
	if err != nil {
		return "", time.Time{}, errBadToken
	}

	return userID, time.UnixMicro(micros).UTC(), nil
}

// OnEmailChanged sends the link that restores the address to the old mailbox.
func (s *Service) OnEmailChanged(ctx context.Context, e event.EmailChanged) error {
	h, err := s.EmailChanges.Get(ctx, e.UserID)
	if err != nil {
		return err
	}

	undo, ok := h.findUndo(e.ChangedAt)
	if !ok {
		return nil // the change was undone, or the account deleted
	}

	user, err := s.recipient(ctx, e.UserID)
	if err != nil || user.ID == "" {
		return err
	}

	token, err := s.Sealer.Seal(auth.ForEmailUndo, user.ID+"."+encodeTime(undo.ChangedAt), undo.ExpiresAt)
	if err != nil {
		return err
	}

	user.Email = undo.Email

	err = s.send(
		ctx,
		user,
		"email-changed-"+user.ID+"-"+encodeTime(e.ChangedAt),
		"Your e-mail address was changed",
		mail.Block{
			Text: "The e-mail address of your account was changed on " + formatTime(e.ChangedAt) + ". This is the last message to this address.",
		},
		mail.Block{
			Text: "If you did not change it, restore this address and set a new password. That also signs out all devices and revokes API keys and other access by programs.",
		},
		s.link("Restore this address", "undo-email-change", token),
		mail.Block{Text: "The link works once, for 24 hours."},
		apiHint,
		mail.Block{Code: token},
	)
	if task.IsPermanent(err) {
		return nil // the old mailbox no longer exists
	}

	return err
}
