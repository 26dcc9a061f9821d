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
	Key       string    // the same for all spellings of the address (Mailboxes.Key)
	ChangedAt time.Time // when another address replaced this one
	ExpiresAt time.Time
}

// requireNotReserved fails with ErrEmailTaken if the new address of the user is a former address that
// another account can still restore. The caller must have stored the user before. Storing waits for a
// concurrent transaction in which another account gives up the address, so that its undo is visible here.
func (s *Service) requireNotReserved(ctx context.Context, user *User, now time.Time) error {
	isReserved, err := s.EmailChanges.IsReserved(ctx, user.EmailKey(), user.ID, now)
	if err != nil {
		return err
	}

	if isReserved {
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
// Because the account may have been taken over, UndoEmailChange also sets a new password, ends all
// sessions and signs out programs (API keys, OAuth grants, webhooks). It also removes a second
// factor that was enabled after the change.
//
// The link can be used once. Afterwards, later changes of address cannot be undone any more, but
// earlier ones can.
func (s *Service) UndoEmailChange(ctx context.Context, in UndoEmailChangeInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	userID, changedAt, err := s.parseUndoToken(in.Token)
	if err != nil {
		return err
	}

	// Check before the transaction, to avoid hashing the password for an invalid token.
	if _, err := s.findUsableUndo(ctx, userID, changedAt); err != nil {
		return err
	}

	passwordHash, err := s.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		user, err := s.Users.GetForUpdate(ctx, userID)
		if err != nil {
			return fault.IfNotFound(err, errBadToken)
		}

		// Check again, now that the account is locked.
		undo, err := s.findUsableUndo(ctx, userID, changedAt)
		if err != nil {
			return err
		}

		return s.undoEmailChange(ctx, &user, undo, passwordHash, s.Clock.Now())
	})
}

// undoEmailChange does the steps of UndoEmailChange for the locked account, in the transaction of
// ctx.
func (s *Service) undoEmailChange(ctx context.Context, user *User, undo EmailUndo, passwordHash string, now time.Time) error {
	// Restore the address.
	if err := s.claimAddress(ctx, user, undo.Email); err != nil {
		return err
	}

	user.Move(undo.Email, undo.Key, now)

	// Revoke the access of the person who may have taken over the account. setPassword also stores
	// the restored address.
	change := passwordChange{hash: passwordHash, keptSession: noSession, signOutPrograms: true}
	if err := s.setPassword(ctx, user, change, now); err != nil {
		return err
	}

	if err := s.removeSecondFactor(ctx, user.ID, undo.ChangedAt, now); err != nil {
		return err
	}

	// Make this link and the links of later changes invalid.
	history, err := s.EmailChanges.Get(ctx, user.ID)
	if err != nil {
		return err
	}

	history.deleteUndosSince(undo.ChangedAt)

	if err := s.EmailChanges.Upsert(ctx, history); err != nil {
		return err
	}

	if err := s.revokeTokens(ctx, user.ID, MailTokenFilter{Purpose: ForVerification}, now); err != nil {
		return err
	}

	return s.auditUser(ctx, user.ID, audit.EmailChanged, user.ID)
}

// findUsableUndo returns the address of the account that was replaced at the time changedAt. It fails
// with errBadToken if the address cannot be restored any more.
func (s *Service) findUsableUndo(ctx context.Context, userID string, changedAt time.Time) (EmailUndo, error) {
	history, err := s.EmailChanges.Get(ctx, userID)
	if err != nil {
		return EmailUndo{}, err
	}

	undo, exists := history.findUndo(changedAt)
	if !exists || !s.Clock.Now().Before(undo.ExpiresAt) {
		return EmailUndo{}, errBadToken
	}

	return undo, nil
}

// undoSubject identifies the change of an address in the token that undoes it. Its format is
// USER-ID.MICROSECONDS-IN-BASE-36.
func undoSubject(userID string, changedAt time.Time) string {
	return userID + "." + encodeTime(changedAt)
}

// parseUndoToken verifies a mailed token and parses its undoSubject. It fails with errBadToken for an
// invalid token.
func (s *Service) parseUndoToken(token string) (userID string, changedAt time.Time, err error) {
	subject, err := s.Sealer.Unseal(auth.ForEmailUndo, token)
	if err != nil {
		if errors.Is(err, fault.ErrUnauthorized) {
			err = errBadToken
		}

		return "", time.Time{}, err
	}

	userID, encodedTime, _ := strings.Cut(subject, ".")

	micros, err := strconv.ParseInt(encodedTime, 36, 64) // see encodeTime
	if err != nil {
		return "", time.Time{}, errBadToken
	}

	return userID, time.UnixMicro(micros).UTC(), nil
}

// OnEmailChanged sends an e-mail about the change to the old mailbox, with the link that restores the
// old address.
func (s *Service) OnEmailChanged(ctx context.Context, e event.EmailChanged) error {
	history, err := s.EmailChanges.Get(ctx, e.UserID)
	if err != nil {
		return err
	}

	undo, exists := history.findUndo(e.ChangedAt)
	if !exists {
		return nil // the change was undone, or the account deleted
	}

	user, err := s.recipient(ctx, e.UserID)
	if err != nil || user.ID == "" { // the account was deleted
		return err
	}

	token, err := s.Sealer.Seal(auth.ForEmailUndo, undoSubject(user.ID, undo.ChangedAt), undo.ExpiresAt)
	if err != nil {
		return err
	}

	user.Email = undo.Email // the recipient is the owner of the old mailbox

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
