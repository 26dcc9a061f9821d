package gormdb

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/modules/identity"
)

// users implements identity.Users.
type users struct{ *DB }

// userRow is a user.
type userRow struct {
	ID    string
	Email string
	// Key is the e-mail address in a form in which different spellings of it are equal. It is
	// unique.
	Key             string `gorm:"column:email_key"`
	Name            string
	Kind            identity.Kind
	Status          identity.UserStatus // invited for a person who has not registered yet
	Registered      bool
	PasswordHash    string
	EmailVerifiedAt time.Time `gorm:"serializer:nullable_time"`
	LockedAt        time.Time `gorm:"serializer:nullable_time"`
	ModeratorSince  time.Time `gorm:"serializer:nullable_time"`
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Version         int64
}

// newUserRow returns the row that stores the user.
func newUserRow(u identity.User) userRow {
	u.Key = u.EmailKey()
	return userRow(u)
}

// user returns the user of the row. identity.User.Key is empty if it is the usual key of the address.
func (r userRow) user() identity.User {
	if r.Key == identity.LowerCaseKey(r.Email) {
		r.Key = ""
	}

	return identity.User(r)
}

// Create implements identity.Users. If the address belongs to an invited user, that user gets the data of the
// new one. Create sets the id and the version of user accordingly.
func (d users) Create(ctx context.Context, user *identity.User) error {
	return d.Do(ctx, func(ctx context.Context) error {
		row := newUserRow(*user)

		created := createIfAbsent(d.conn(ctx), &row, "email_key")
		if created.Error != nil || created.RowsAffected == 1 {
			return wrap(created.Error)
		}

		// The address belongs to a user already. If that user was deleted since the insert, errStale
		// makes the transaction run again.
		withSameKey := d.locked(ctx).Select("id", "status", "version").Where("email_key = ?", row.Key)

		existing, err := takeRow[userRow](withSameKey, errStale)
		if err != nil {
			return err
		}

		if existing.Status != identity.UserInvited {
			return identity.ErrEmailTaken
		}

		// An invited user, who has no password yet, becomes the new user and keeps the id.
		row.ID, row.Version = existing.ID, existing.Version+1
		user.ID, user.Version = row.ID, row.Version

		return updateVersion(d.conn(ctx).Model(&userRow{}).Where("id = ?", row.ID), &row, except{"id"})
	})
}

// GetForUpdate implements identity.Users. Inside a transaction, it locks the user until the end.
func (d users) GetForUpdate(ctx context.Context, id string) (identity.User, error) {
	r, err := takeRow[userRow](d.locked(ctx).Where("id = ? AND status <> 'deleted'", id), identity.ErrUserNotFound)
	return r.user(), err
}

// GetByEmail implements identity.Users.
func (d users) GetByEmail(ctx context.Context, emailKey string) (identity.User, error) {
	r, err := takeRow[userRow](d.conn(ctx).Where("email_key = ? AND status <> 'deleted'", emailKey), identity.ErrUserNotFound)
	return r.user(), err
}

// GetByIDs implements identity.Users.
func (d users) GetByIDs(ctx context.Context, ids []string) ([]identity.User, error) {
	return findRows(whereIn(d.conn(ctx).Where("status <> 'deleted'"), "id", ids), userRow.user)
}

// Update implements identity.Users. It increments the version, and returns errStale if another transaction
// has changed the user in the meantime.
func (d users) Update(ctx context.Context, user *identity.User) error {
	row := newUserRow(*user)
	row.Version++

	previous := d.conn(ctx).Model(&userRow{}).Where("id = ? AND version = ?", user.ID, user.Version)

	err := updateVersion(previous, &row, except{"id", "created_at"})
	if errors.Is(err, errDuplicate) { // another user has the new address
		return identity.ErrEmailTaken
	}

	if err == nil {
		user.Version++
	}

	return err
}

// RecordSignIn implements identity.Users. A verifier is the stored hash of a password. oldVerifier is the one
// with which the password was checked, and newVerifier, which replaces it, is a hash of the same password.
// RecordSignIn reports whether the user can sign in: the password was not changed since it was checked,
// and the user is active and not locked.
func (d users) RecordSignIn(
	ctx context.Context,
	id, oldVerifier, newVerifier string,
	at time.Time,
) (canSignIn bool, err error) {
	res := d.conn(ctx).
		Model(&userRow{}).
		Where("id = ? AND password_hash = ? AND status = 'active' AND locked_at IS NULL", id, oldVerifier).
		Updates(map[string]any{"last_login_at": at, "password_hash": newVerifier})

	return res.RowsAffected == 1, wrap(res.Error)
}

// Exists implements identity.Users.
func (d users) Exists(ctx context.Context) (bool, error) {
	return exists(d.conn(ctx).Model(&userRow{}))
}

// organizations implements identity.Organizations.
type organizations struct{ *DB }

// organizationRow is an organization, which is an employer. While HeldAt or SuspendedAt is set, its jobs are
// hidden.
type organizationRow struct {
	ID                  string
	Name                string
	Description         string
	Website             string
	Logo                string
	Industry            string
	Size                string
	RequireSecondFactor bool
	VerifiedAt          time.Time `gorm:"serializer:nullable_time"`
	VerifiedBy          string
	HeldAt              time.Time `gorm:"serializer:nullable_time"`
	SuspendedAt         time.Time `gorm:"serializer:nullable_time"`
	CreatedAt           time.Time
	UpdatedAt           time.Time
	Version             int64
}

func (r organizationRow) organization() identity.Organization { return identity.Organization(r) }

// GetForUpdate implements identity.Organizations. Inside a transaction, it locks the organization until the end.
func (d organizations) GetForUpdate(ctx context.Context, id string) (identity.Organization, error) {
	r, err := takeRow[organizationRow](d.locked(ctx).Where("id = ?", id), identity.ErrOrganizationNotFound)
	return r.organization(), err
}

// GetByIDs implements identity.Organizations.
func (d organizations) GetByIDs(ctx context.Context, ids []string) ([]identity.Organization, error) {
	return findRows(whereIn(d.conn(ctx), "id", ids), organizationRow.organization)
}

// Upsert implements identity.Organizations. It creates an organization with the version 0, and otherwise
// updates the row with the version. It increments the version of the organization.
func (d organizations) Upsert(ctx context.Context, o *identity.Organization) (err error) {
	row := organizationRow(*o)
	row.Version++

	if isNew := o.Version == 0; isNew {
		err = wrap(d.conn(ctx).Create(&row).Error)
	} else {
		previous := d.conn(ctx).Model(&organizationRow{}).Where("id = ? AND version = ?", o.ID, o.Version)
		err = updateVersion(previous, &row, except{"id", "created_at"})
	}

	if err == nil {
		o.Version++
	}

	return err
}
