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

// undoLife is how long a change of address can be undone from the old mailbox.
const undoLife = 24 * time.Hour

// EmailUndo is a former address of an account, which can be restored.
type EmailUndo struct {
	Email     string
	Key       string // that makes the address unique
	ChangedAt time.Time
	ExpiresAt time.Time
}

// notReserved fails with ErrEmailTaken if another account can still restore the
// account's address. It runs after the account was saved, so
// that a concurrent change of address is visible.
func (s *Service) notReserved(ctx context.Context, u *User, now time.Time) error {
	reserved, err := s.EmailChanges.IsReserved(ctx, u.EmailKey(), u.ID, now)
	if err == nil && reserved {
		return ErrEmailTaken
	}
	return err
}

// UndoEmailChangeInput contains the token that was mailed to the old address and a new
// password.
type UndoEmailChangeInput struct {
	Token    string `json:"token" validate:"required,max=4096"`
	Password string `json:"password" validate:"required,min=8,max=1024,maxbytes=1024,password"`
}

// UndoEmailChange restores the address that the account had before, for the owner
// of that mailbox. As the account may have been taken over, it gets a new
// password, all sessions end, programs are signed out, and a second factor that was
// enabled since is removed. The link works once; later changes of address cannot be
// undone any more, earlier ones can.
func (s *Service) UndoEmailChange(ctx context.Context, in UndoEmailChangeInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}
	userID, changedAt, err := s.unsealUndo(in.Token)
	if err != nil {
		return err
	}
	if _, err := s.usableUndo(ctx, userID, changedAt); err != nil {
		return err // before the password is hashed
	}
	hash, err := s.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.Users.GetForUpdate(ctx, userID)
		if err != nil {
			return fault.IfNotFound(err, errBadToken)
		}
		undo, err := s.usableUndo(ctx, userID, changedAt)
		if err != nil {
			return err
		}
		if err := s.takeAddress(ctx, &u, undo.Email); err != nil {
			return err
		}
		now := s.Clock.Now()
		u.Move(undo.Email, undo.Key, now)
		if err := s.setPassword(ctx, &u, hash, "", true, now); err != nil {
			return err
		}
		if err := s.dropSecondFactor(ctx, u.ID, undo.ChangedAt, now); err != nil {
			return err
		}
		h, err := s.EmailChanges.Get(ctx, u.ID)
		if err != nil {
			return err
		}
		h.revert(undo.ChangedAt)
		if err := s.EmailChanges.Upsert(ctx, h); err != nil {
			return err
		}
		if err := s.revokeTokens(ctx, u.ID, MailTokenFilter{Purpose: ForVerification}, now); err != nil {
			return err
		}
		return s.auditUser(ctx, u.ID, audit.EmailChanged, u.ID)
	})
}

func (s *Service) usableUndo(ctx context.Context, userID string, changedAt time.Time) (EmailUndo, error) {
	h, err := s.EmailChanges.Get(ctx, userID)
	if err != nil {
		return EmailUndo{}, err
	}
	undo, ok := h.undo(changedAt)
	if !ok || !s.Clock.Now().Before(undo.ExpiresAt) {
		return EmailUndo{}, errBadToken
	}
	return undo, nil
}

func (s *Service) unsealUndo(token string) (userID string, changedAt time.Time, err error) {
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
	undo, ok := h.undo(e.ChangedAt)
	if !ok {
		return nil // undone, or the account was deleted
	}
	u, err := s.recipient(ctx, e.UserID)
	if err != nil || u.ID == "" {
		return err
	}
	token, err := s.Sealer.Seal(auth.ForEmailUndo, u.ID+"."+timestamp(undo.ChangedAt), undo.ExpiresAt)
	if err != nil {
		return err
	}
	u.Email = undo.Email
	err = s.send(ctx, u, "email-changed-"+u.ID+"-"+timestamp(e.ChangedAt), "Your e-mail address was changed",
		mail.Block{Text: "The e-mail address of your account was changed on " + minute(e.ChangedAt) + ". This is the last message to this address."},
		mail.Block{Text: "If you did not change it, restore this address and set a new password. That also signs out all devices and revokes API keys and other access by programs."},
		s.link("Restore this address", "undo-email-change", token),
		mail.Block{Text: "The link works once, for 24 hours. If you use the API, this is the token:"}, mail.Block{Code: token})
	if task.IsPermanent(err) {
		return nil // the old mailbox no longer exists
	}
	return err
}
