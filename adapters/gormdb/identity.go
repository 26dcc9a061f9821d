package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/identity"
)

// Users stores accounts.
type Users struct{ *DB }

type userRow struct {
	ID              string
	Email           string
	EmailKey        string
	Name            string
	Kind            string
	Status          string
	Registered      bool
	PasswordHash    string
	EmailVerifiedAt *time.Time
	LockedAt        *time.Time
	CreatedAt       time.Time
	UpdatedAt       time.Time `gorm:"autoUpdateTime:false"`
	Version         int64
}

// TableName implements schema.Tabler.
func (userRow) TableName() string { return "users" }

func toUserRow(u identity.User) userRow {
	return userRow{
		ID: u.ID, Email: u.Email, EmailKey: u.EmailKey(), Name: u.Name, Kind: string(u.Kind), Status: string(u.Status), Registered: u.Registered,
		PasswordHash: u.PasswordHash, EmailVerifiedAt: nilIfZero(u.EmailVerifiedAt), LockedAt: nilIfZero(u.LockedAt), CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt, Version: u.Version,
	}
}

func (r userRow) user() identity.User {
	return identity.User{
		ID: r.ID, Email: r.Email, Key: keyOf(r.Email, r.EmailKey), Name: r.Name, Kind: identity.Kind(r.Kind), Status: identity.UserStatus(r.Status), Registered: r.Registered,
		PasswordHash: r.PasswordHash, EmailVerifiedAt: orZero(r.EmailVerifiedAt), LockedAt: orZero(r.LockedAt), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
	}
}

// keyOf returns identity.User.Key, which is empty if it is the default of the address.
func keyOf(email, key string) string {
	if key == identity.EmailKey(email) {
		return ""
	}
	return key
}

// Create implements identity.Users.
func (d Users) Create(ctx context.Context, u *identity.User) error {
	return d.Do(ctx, func(ctx context.Context) error {
		r := toUserRow(*u)
		res := createNew(d.q(ctx), &r, "email_key")
		if res.Error != nil || res.RowsAffected == 1 {
			return wrap(res.Error)
		}
		var existing userRow
		err := d.locked(ctx).Select("id", "status", "version").Where("email_key = ?", u.EmailKey()).Take(&existing).Error
		switch err = wrap(err); {
		case errors.Is(err, errNotFound):
			return errStale // deleted since the insert
		case err != nil:
			return err
		case existing.Status != string(identity.UserInvited):
			return identity.ErrEmailTaken
		}
		r.ID, r.Version = existing.ID, existing.Version+1
		if err := d.q(ctx).Model(&userRow{}).Where("id = ?", r.ID).Select("*").Omit("id").Updates(&r).Error; err != nil {
			return wrap(err)
		}
		u.ID, u.Version = r.ID, r.Version
		return nil
	})
}

// GetForUpdate implements identity.Users.
func (d Users) GetForUpdate(ctx context.Context, id string) (identity.User, error) {
	return takeUser(d.locked(ctx).Where("id = ?", id))
}

// GetByEmail implements identity.Users.
func (d Users) GetByEmail(ctx context.Context, emailKey string) (identity.User, error) {
	return takeUser(d.q(ctx).Where("email_key = ?", emailKey))
}

func takeUser(q *gorm.DB) (identity.User, error) {
	var r userRow
	err := q.Where("status <> 'deleted'").Take(&r).Error
	return r.user(), orNotFound(err, identity.ErrUserNotFound)
}

// GetByIDs implements identity.Users.
func (d Users) GetByIDs(ctx context.Context, ids []string) ([]identity.User, error) {
	var rows []userRow
	q := d.q(ctx).Where("status <> 'deleted'")
	if len(ids) == 1 {
		q = q.Where("id = ?", ids[0])
	} else {
		q = q.Where("?", d.dialect.In("id", ids))
	}
	if err := q.Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	out := make([]identity.User, len(rows))
	for i, r := range rows {
		out[i] = r.user()
	}
	return out, nil
}

// Update implements identity.Users.
func (d Users) Update(ctx context.Context, u *identity.User) error {
	r := toUserRow(*u)
	r.Version++
	res := d.q(ctx).Model(&userRow{}).Where("id = ? AND version = ?", u.ID, u.Version).
		Select("*").Omit("id", "created_at").Updates(&r)
	if err := saved(res); errors.Is(err, errDuplicate) {
		return identity.ErrEmailTaken
	} else if err != nil {
		return err
	}
	u.Version++
	return nil
}

// RecordSignIn implements identity.Users.
func (d Users) RecordSignIn(ctx context.Context, id, oldVerifier, newVerifier string, at time.Time) (bool, error) {
	res := d.q(ctx).Model(&userRow{}).Where("id = ? AND password_hash = ? AND status = 'active' AND locked_at IS NULL", id, oldVerifier).
		Updates(map[string]any{"last_login_at": at, "password_hash": newVerifier})
	return res.RowsAffected == 1, wrap(res.Error)
}

// Exists implements identity.Users.
func (d Users) Exists(ctx context.Context) (bool, error) {
	var ids []string
	err := d.q(ctx).Model(&userRow{}).Limit(1).Pluck("id", &ids).Error
	return len(ids) > 0, wrap(err)
}

// Organizations stores employers.
type Organizations struct{ *DB }

type organizationRow struct {
	ID                  string
	Name                string
	Description         string
	Website             string
	Logo                string
	Industry            string
	Size                string
	RequireSecondFactor bool
	CreatedAt           time.Time
	UpdatedAt           time.Time `gorm:"autoUpdateTime:false"`
	Version             int64
}

// TableName implements schema.Tabler.
func (organizationRow) TableName() string { return "organizations" }

// GetForUpdate implements identity.Organizations.
func (d Organizations) GetForUpdate(ctx context.Context, id string) (identity.Organization, error) {
	var r organizationRow
	err := d.locked(ctx).Where("id = ?", id).Take(&r).Error
	return identity.Organization(r), orNotFound(err, identity.ErrOrganizationNotFound)
}

// GetByIDs implements identity.Organizations.
func (d Organizations) GetByIDs(ctx context.Context, ids []string) ([]identity.Organization, error) {
	var rows []organizationRow
	err := d.q(ctx).Where("?", d.dialect.In("id", ids)).Find(&rows).Error
	out := make([]identity.Organization, len(rows))
	for i, r := range rows {
		out[i] = identity.Organization(r)
	}
	return out, wrap(err)
}

// Upsert implements identity.Organizations.
func (d Organizations) Upsert(ctx context.Context, o *identity.Organization) error {
	r := organizationRow(*o)
	r.Version++
	var res *gorm.DB
	if o.Version == 0 {
		res = d.q(ctx).Create(&r)
	} else {
		res = d.q(ctx).Model(&organizationRow{}).Where("id = ? AND version = ?", o.ID, o.Version).
			Select("*").Omit("id", "created_at").Updates(&r)
	}
	if err := saved(res); err != nil {
		return err
	}
	o.Version++
	return nil
}

// nilIfZero and orZero convert between zero values and NULL.
func nilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
