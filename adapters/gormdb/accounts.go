package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/identity"
)

// EmailChanges stores requested and former addresses.
type EmailChanges struct{ *DB }

type emailChangeRow struct {
	UserID      string
	Email       string
	RequestedAt time.Time
}

// TableName implements schema.Tabler.
func (emailChangeRow) TableName() string { return "email_changes" }

type emailUndoRow struct {
	UserID    string
	ChangedAt time.Time
	Email     string
	EmailKey  string
	ExpiresAt time.Time
}

// TableName implements schema.Tabler.
func (emailUndoRow) TableName() string { return "email_undos" }

// Get implements identity.EmailChanges.
func (d EmailChanges) Get(ctx context.Context, userID string) (identity.EmailHistory, error) {
	h := identity.EmailHistory{UserID: userID}
	var requested []emailChangeRow
	if err := d.q(ctx).Where("user_id = ?", userID).Find(&requested).Error; err != nil {
		return h, wrap(err)
	}
	for _, r := range requested {
		h.Requested = &identity.EmailChange{Email: r.Email, RequestedAt: r.RequestedAt}
	}
	var undos []emailUndoRow
	err := d.q(ctx).Where("user_id = ?", userID).Order("changed_at").Find(&undos).Error
	for _, r := range undos {
		h.Undos = append(h.Undos, identity.EmailUndo{Email: r.Email, Key: r.EmailKey, ChangedAt: r.ChangedAt, ExpiresAt: r.ExpiresAt})
	}
	return h, wrap(err)
}

// Upsert implements identity.EmailChanges.
func (d EmailChanges) Upsert(ctx context.Context, h identity.EmailHistory) error {
	return d.Do(ctx, func(ctx context.Context) error {
		for _, row := range []any{&emailChangeRow{}, &emailUndoRow{}} {
			if err := d.q(ctx).Where("user_id = ?", h.UserID).Delete(row).Error; err != nil {
				return wrap(err)
			}
		}
		if c := h.Requested; c != nil {
			if err := d.q(ctx).Create(&emailChangeRow{UserID: h.UserID, Email: c.Email, RequestedAt: c.RequestedAt}).Error; err != nil {
				return wrap(err)
			}
		}
		if len(h.Undos) == 0 {
			return nil
		}
		rows := make([]emailUndoRow, len(h.Undos))
		for i, u := range h.Undos {
			rows[i] = emailUndoRow{UserID: h.UserID, ChangedAt: u.ChangedAt, Email: u.Email, EmailKey: u.Key, ExpiresAt: u.ExpiresAt}
		}
		return wrap(d.q(ctx).Create(&rows).Error)
	})
}

// IsReserved implements identity.EmailChanges.
func (d EmailChanges) IsReserved(ctx context.Context, emailKey, userID string, now time.Time) (bool, error) {
	var found []string
	err := d.q(ctx).Model(&emailUndoRow{}).Where("email_key = ? AND user_id <> ? AND expires_at > ?", emailKey, userID, now).Limit(1).Pluck("user_id", &found).Error
	return len(found) > 0, wrap(err)
}

// EmployerSettings stores the settings of members of organizations.
type EmployerSettings struct{ *DB }

type employerSettingsRow struct {
	UserID       string
	JobTitle     string
	ContactName  string
	ContactEmail string
	ContactPhone string
	EmailAlerts  bool
	UpdatedAt    time.Time `gorm:"autoUpdateTime:false"`
	Version      int64
}

// TableName implements schema.Tabler.
func (employerSettingsRow) TableName() string { return "employer_settings" }

// Get implements identity.EmployerSettingsStore.
func (d EmployerSettings) Get(ctx context.Context, userID string) (identity.EmployerSettings, error) {
	var r employerSettingsRow
	err := wrap(d.q(ctx).Where("user_id = ?", userID).Take(&r).Error)
	if errors.Is(err, errNotFound) {
		return identity.DefaultSettings(userID), nil
	}
	return identity.EmployerSettings{
		UserID: r.UserID, JobTitle: r.JobTitle, Contact: identity.Contact{Name: r.ContactName, Email: r.ContactEmail, Phone: r.ContactPhone},
		EmailAlerts: r.EmailAlerts, UpdatedAt: r.UpdatedAt, Version: r.Version,
	}, err
}

// Upsert implements identity.EmployerSettingsStore.
func (d EmployerSettings) Upsert(ctx context.Context, s *identity.EmployerSettings) error {
	r := employerSettingsRow{
		UserID: s.UserID, JobTitle: s.JobTitle, ContactName: s.Contact.Name, ContactEmail: s.Contact.Email, ContactPhone: s.Contact.Phone,
		EmailAlerts: s.EmailAlerts, UpdatedAt: s.UpdatedAt, Version: s.Version + 1,
	}
	var res *gorm.DB
	if s.Version == 0 {
		res = createNew(d.q(ctx), &r, "user_id")
	} else {
		res = d.q(ctx).Model(&employerSettingsRow{}).Where("user_id = ? AND version = ?", s.UserID, s.Version).Select("*").Omit("user_id").Updates(&r)
	}
	if err := saved(res); err != nil {
		return err
	}
	s.Version++
	return nil
}

// OptOuts stores mailboxes that receive no invitations.
type OptOuts struct{ *DB }

type optOutRow struct {
	Mailbox   string
	CreatedAt time.Time
}

// TableName implements schema.Tabler.
func (optOutRow) TableName() string { return "invitation_opt_outs" }

// Create implements identity.OptOuts.
func (d OptOuts) Create(ctx context.Context, mailbox string, at time.Time) error {
	return wrap(d.q(ctx).Clauses(onConflict([]string{"mailbox"})).Create(&optOutRow{mailbox, at}).Error)
}

// Exists implements identity.OptOuts.
func (d OptOuts) Exists(ctx context.Context, mailbox string) (bool, error) {
	var n int64
	err := d.q(ctx).Model(&optOutRow{}).Where("mailbox = ?", mailbox).Count(&n).Error
	return n > 0, wrap(err)
}

// PersonalData deletes what is stored of users.
type PersonalData struct{ *DB }

// DeleteByUser implements identity.PersonalData. Refresh tokens and cookies are deleted
// with their sessions.
func (d PersonalData) DeleteByUser(ctx context.Context, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		for _, row := range []any{
			&membershipRow{}, &sessionRow{}, &mailTokenRow{}, &emailChangeRow{}, &emailUndoRow{}, &employerSettingsRow{}, &recoveryCodeRow{}, &secondFactorRow{},
		} {
			if err := d.q(ctx).Where("user_id = ?", userID).Delete(row).Error; err != nil {
				return wrap(err)
			}
		}
		return nil
	})
}

// identityExpiry deletes expired rows of the module.
var identityExpiry = map[retention.Kind]expiry{
	identity.SessionKind:      expireBy[sessionRow]("expires_at", "id"),
	identity.RefreshTokenKind: expireBy[refreshTokenRow]("expires_at", "hash"),
	identity.MailTokenKind:    expireBy[mailTokenRow]("expires_at", "hash"),
	identity.EmailChangeKind:  expireBy[emailChangeRow]("requested_at", "user_id"),
	identity.EmailUndoKind:    expireBy[emailUndoRow]("expires_at", "user_id", "changed_at"),
	identity.InvitationKind:   expireInvitations,
}

// expireInvitations deletes invitations and the invited users who have no other one.
func expireInvitations(ctx context.Context, db *DB, before time.Time, n int) (total int, err error) {
	return total, db.Do(ctx, func(ctx context.Context) error {
		var expired []membershipRow
		err := db.locked(ctx).Select("id", "organization_id", "user_id").Where("status = 'invited' AND invited_until < ?", before).
			Order("invited_until").Limit(n).Find(&expired).Error
		if err != nil || len(expired) == 0 {
			return wrap(err)
		}
		total = len(expired)
		ids, users := make([]string, total), make([]string, total)
		for i, m := range expired {
			ids[i], users[i] = m.ID, m.UserID
		}
		if err := db.q(ctx).Where("? AND ?", db.dialect.In("user_id", users), db.dialect.In("id", ids)).Delete(&membershipRow{}).Error; err != nil {
			return wrap(err)
		}
		return db.deleteUninvited(ctx, users)
	})
}
