package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/identity"
)

// EmailChanges stores the addresses that accounts are to have.
type EmailChanges struct{ *DB }

type emailChangeRow struct {
	UserID      string
	Email       string
	RequestedAt time.Time
}

// TableName implements schema.Tabler.
func (emailChangeRow) TableName() string { return "email_changes" }

// Put implements identity.EmailChanges.
func (d EmailChanges) Put(ctx context.Context, c identity.EmailChange) error {
	r := emailChangeRow(c)
	return wrap(d.q(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "user_id"}}, DoUpdates: clause.AssignmentColumns([]string{"email", "requested_at"}),
	}).Create(&r).Error)
}

// Find implements identity.EmailChanges.
func (d EmailChanges) Find(ctx context.Context, userID string) (identity.EmailChange, error) {
	var r emailChangeRow
	err := d.q(ctx).Where("user_id = ?", userID).Take(&r).Error
	return identity.EmailChange(r), orNotFound(err, identity.ErrNoEmailChange)
}

// Remove implements identity.EmailChanges.
func (d EmailChanges) Remove(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec(`DELETE FROM email_changes WHERE user_id = ?`, userID).Error)
}

// Forget implements identity.EmailChanges.
func (d EmailChanges) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec(`DELETE FROM email_changes WHERE user_id IN (SELECT user_id FROM email_changes WHERE requested_at < ? ORDER BY requested_at LIMIT ?)`, before, n)
	return int(res.RowsAffected), wrap(res.Error)
}

// EmailUndos stores the addresses that accounts had.
type EmailUndos struct{ *DB }

type emailUndoRow struct {
	UserID    string
	ChangedAt time.Time
	Email     string
	EmailKey  string
	ExpiresAt time.Time
}

// TableName implements schema.Tabler.
func (emailUndoRow) TableName() string { return "email_undos" }

func (r emailUndoRow) undo() identity.EmailUndo {
	return identity.EmailUndo{UserID: r.UserID, Email: r.Email, Key: r.EmailKey, ChangedAt: r.ChangedAt, ExpiresAt: r.ExpiresAt}
}

// Create implements identity.EmailUndos.
func (d EmailUndos) Create(ctx context.Context, u identity.EmailUndo) error {
	r := emailUndoRow{UserID: u.UserID, ChangedAt: u.ChangedAt, Email: u.Email, EmailKey: u.Key, ExpiresAt: u.ExpiresAt}
	return wrap(d.q(ctx).Create(&r).Error)
}

// Get implements identity.EmailUndos.
func (d EmailUndos) Get(ctx context.Context, userID string, changedAt time.Time) (identity.EmailUndo, error) {
	var r emailUndoRow
	err := d.locked(ctx).Where("user_id = ? AND changed_at = ?", userID, changedAt).Take(&r).Error
	return r.undo(), orNotFound(err, identity.ErrNoEmailChange)
}

// Find implements identity.EmailUndos.
func (d EmailUndos) Find(ctx context.Context, userID, emailKey string, now time.Time) (identity.EmailUndo, error) {
	var r emailUndoRow
	err := d.locked(ctx).Where("email_key = ? AND user_id = ? AND expires_at > ?", emailKey, userID, d.dialect.Typed(now, "timestamptz")).Order("changed_at").Take(&r).Error
	return r.undo(), orNotFound(err, identity.ErrNoEmailChange)
}

// Reserved implements identity.EmailUndos.
func (d EmailUndos) Reserved(ctx context.Context, emailKey, userID string, now time.Time) (bool, error) {
	var found bool
	err := d.q(ctx).Raw("SELECT EXISTS (SELECT 1 FROM email_undos WHERE email_key = ? AND user_id <> ? AND expires_at > ?)", emailKey, userID, d.dialect.Typed(now, "timestamptz")).Scan(&found).Error
	return found, wrap(err)
}

// DeleteSince implements identity.EmailUndos.
func (d EmailUndos) DeleteSince(ctx context.Context, userID string, since time.Time) error {
	return wrap(d.q(ctx).Exec("DELETE FROM email_undos WHERE user_id = ? AND changed_at >= ?", userID, d.dialect.Typed(since, "timestamptz")).Error)
}

// DeleteBefore implements identity.EmailUndos.
func (d EmailUndos) DeleteBefore(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec("DELETE FROM email_undos WHERE (user_id, changed_at) IN (SELECT user_id, changed_at FROM email_undos WHERE expires_at < ? ORDER BY expires_at LIMIT ?)", d.dialect.Typed(before, "timestamptz"), n)
	return int(res.RowsAffected), wrap(res.Error)
}

// Absorb implements identity.Users.
func (d Users) Absorb(ctx context.Context, invitedID, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{`UPDATE memberships SET user_id = ? WHERE user_id = ? AND organization_id NOT IN (SELECT organization_id FROM memberships WHERE user_id = ?)`, []any{userID, invitedID, userID}},
			{`UPDATE user_tokens SET user_id = ? WHERE user_id = ? AND organization_id IN (SELECT organization_id FROM memberships WHERE user_id = ? AND status = 'invited')`, []any{userID, invitedID, userID}},
			// What was not handed over goes with the row.
			{`DELETE FROM users WHERE id = ? AND status = 'invited'`, []any{invitedID}},
		} {
			if err := d.q(ctx).Exec(step.sql, step.args...).Error; err != nil {
				return wrap(err)
			}
		}
		return nil
	})
}

// Save implements identity.Organizations.
func (d Organizations) Save(ctx context.Context, o *identity.Organization) error {
	r := organizationRow(*o)
	r.Version++
	res := d.q(ctx).Model(&organizationRow{}).Where("id = ? AND version = ?", o.ID, o.Version).
		Select("*").Omit("id", "created_at").Updates(&r)
	if err := saved(res); err != nil {
		return err
	}
	o.Version++
	return nil
}

// RemoveMemberships implements identity.Organizations.
func (d Organizations) RemoveMemberships(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec(`DELETE FROM memberships WHERE user_id = ?`, userID).Error)
}

// DismissMember implements identity.Organizations.
func (d Organizations) DismissMember(ctx context.Context, organizationID, userID string, at time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		var status string
		err := d.q(ctx).Raw("DELETE FROM memberships WHERE organization_id = ? AND user_id = ? RETURNING status", organizationID, userID).Scan(&status).Error
		if err != nil {
			return wrap(err)
		}
		if err := d.q(ctx).Exec("DELETE FROM user_tokens WHERE organization_id = ? AND user_id = ?", organizationID, userID).Error; err != nil {
			return wrap(err)
		}
		if status != string(identity.MemberActive) {
			return d.forgetUninvited(ctx, []string{userID})
		}
		err = d.q(ctx).Exec("UPDATE users SET kind = 'jobseeker', updated_at = ?, version = version + 1 WHERE id = ? AND kind = 'employer' AND NOT registered", at, userID).Error
		if err != nil {
			return wrap(err)
		}
		return Sessions(d).EndAll(ctx, userID, "", at)
	})
}

// Dissolve implements identity.Organizations.
func (d Organizations) Dissolve(ctx context.Context, organizationID string, at time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		var invited []string
		err := d.q(ctx).Raw(`SELECT user_id FROM memberships WHERE organization_id = ? AND status = 'invited'`, organizationID).Scan(&invited).Error
		if err != nil {
			return wrap(err)
		}
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{`UPDATE sessions SET ended_at = ? WHERE ended_at IS NULL AND user_id IN (SELECT user_id FROM memberships WHERE organization_id = ? AND status = 'active')`, []any{at, organizationID}},
			{`UPDATE users SET kind = 'jobseeker', updated_at = ?, version = version + 1
				WHERE kind = 'employer' AND NOT registered AND id IN (SELECT user_id FROM memberships WHERE organization_id = ? AND status = 'active')`, []any{at, organizationID}},
			{`DELETE FROM user_tokens WHERE organization_id = ?`, []any{organizationID}},
			{`DELETE FROM memberships WHERE organization_id = ?`, []any{organizationID}},
		} {
			if err := d.q(ctx).Exec(step.sql, step.args...).Error; err != nil {
				return wrap(err)
			}
		}
		return d.forgetUninvited(ctx, invited)
	})
}

// ForgetInvitations implements identity.Organizations.
func (d Organizations) ForgetInvitations(ctx context.Context, before time.Time, n int) (total int, err error) {
	return total, d.Do(ctx, func(ctx context.Context) error {
		var invited []string
		err := d.q(ctx).Raw(`DELETE FROM memberships WHERE (organization_id, user_id) IN (
			SELECT organization_id, user_id FROM memberships WHERE status = 'invited' AND invited_until < ? ORDER BY invited_until LIMIT ?) RETURNING user_id`, before, n).Scan(&invited).Error
		if total = len(invited); err != nil {
			return wrap(err)
		}
		return d.forgetUninvited(ctx, invited)
	})
}

// forgetUninvited removes those of the people who have no account and no
// invitation any more.
func (d Organizations) forgetUninvited(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Exec(`DELETE FROM users WHERE ? AND status = 'invited' AND NOT EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id)`, d.dialect.In("id", ids)).Error)
}

// EmployerSettings stores what people on the employers' side have set.
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

// Find implements identity.EmployerSettingsStore.
func (d EmployerSettings) Find(ctx context.Context, userID string) (identity.EmployerSettings, error) {
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

// Save implements identity.EmployerSettingsStore.
func (d EmployerSettings) Save(ctx context.Context, s *identity.EmployerSettings) error {
	r := employerSettingsRow{
		UserID: s.UserID, JobTitle: s.JobTitle, ContactName: s.Contact.Name, ContactEmail: s.Contact.Email, ContactPhone: s.Contact.Phone,
		EmailAlerts: s.EmailAlerts, UpdatedAt: s.UpdatedAt, Version: s.Version + 1,
	}
	var res *gorm.DB
	if s.Version == 0 {
		res = d.q(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}}, DoNothing: true}).Create(&r)
	} else {
		res = d.q(ctx).Model(&employerSettingsRow{}).Where("user_id = ? AND version = ?", s.UserID, s.Version).Select("*").Omit("user_id").Updates(&r)
	}
	if err := saved(res); err != nil {
		return err
	}
	s.Version++
	return nil
}

// Remove implements identity.EmployerSettingsStore.
func (d EmployerSettings) Remove(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec(`DELETE FROM employer_settings WHERE user_id = ?`, userID).Error)
}
