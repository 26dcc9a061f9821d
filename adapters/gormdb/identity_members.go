package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// members implements identity.Members.
type members struct{ *DB }

type membershipRow struct {
	ID                  string
	OrganizationID      string
	UserID              string
	Role                identity.OrgRole
	Permissions         identity.Permissions `gorm:"serializer:permissions"`
	Founder             bool
	Status              identity.MemberStatus
	SecondFactorMissing bool `gorm:"-"`
	InvitedName         string
	InvitedEmail        string
	InvitedUntil        time.Time `gorm:"serializer:nullable_time"`
	CreatedAt           time.Time
	UpdatedAt           time.Time
	Version             int64
}

// permissionsColumn is the serializer of permissions: their names, separated by spaces.
type permissionsColumn struct{}

// Scan implements schema.SerializerInterface.
func (permissionsColumn) Scan(ctx context.Context, f *schema.Field, row reflect.Value, stored any) error {
	var names sql.Null[string]
	err := names.Scan(stored)
	f.ReflectValueOf(ctx, row).Set(reflect.ValueOf(identity.PermissionsOf(splitWords[auth.Permission](names.V))))

	return err
}

// Value implements schema.SerializerValuerInterface.
func (permissionsColumn) Value(_ context.Context, _ *schema.Field, _ reflect.Value, v any) (any, error) {
	return joinWords(v.(identity.Permissions).List()), nil
}

// ofExistingUsers is the condition for memberships of users that are not deleted. A membership
// may remain after its user, because personal data is deleted later.
const ofExistingUsers = "EXISTS (SELECT 1 FROM users WHERE users.id = memberships.user_id AND users.status <> 'deleted')"

// Get implements identity.Members.
func (d members) Get(ctx context.Context, organizationID, userID string) (identity.Member, error) {
	r, err := takeRow[membershipRow](
		d.conn(ctx).Where("organization_id = ? AND user_id = ?", organizationID, userID),
		identity.ErrNotInTeam,
	)
	if err != nil {
		return identity.Member{}, err
	}

	found, err := d.members(ctx, []membershipRow{r})

	return list.First(found, err, identity.ErrNotInTeam)
}

// members returns the memberships with the names and e-mail addresses of their users. It leaves
// out deleted users.
func (d members) members(ctx context.Context, rows []membershipRow) ([]identity.Member, error) {
	team := make([]identity.Member, 0, len(rows))
	if len(rows) == 0 {
		return team, nil
	}

	found, err := users(d).GetByIDs(ctx, list.Map(rows, func(r membershipRow) string { return r.UserID }))

	userByID := list.ToMap(found, func(u identity.User) (string, identity.User) { return u.ID, u })
	for _, row := range rows {
		user, exists := userByID[row.UserID]
		if !exists { // the account was deleted between the two queries
			continue
		}

		member := identity.Member{Membership: identity.Membership(row), Name: user.Name, Email: user.Email}
		if member.Status == identity.MemberInvited {
			member.Name, member.Email = member.InvitedName, member.InvitedEmail
		}

		team = append(team, member)
	}

	return team, err
}

// GetByUser implements identity.Members.
func (d members) GetByUser(ctx context.Context, userID string) (*identity.Membership, error) {
	r, err := takeRow[membershipRow](d.conn(ctx).Where("user_id = ? AND status = 'active'", userID), nil)
	if err != nil || r.ID == "" {
		return nil, err //nolint:nilnil // the contract of the port: most users have no membership
	}

	m := identity.Membership(r)
	confirmed := d.conn(ctx).Model(&secondFactorRow{}).Select("1").Where("user_id = ? AND confirmed_at IS NOT NULL", userID)
	m.SecondFactorMissing, err = exists(d.conn(ctx).
		Model(&organizationRow{}).
		Where("id = ? AND require_second_factor", m.OrganizationID).
		Where("NOT EXISTS (?)", confirmed))

	return &m, err
}

// List implements identity.Members.
func (d members) List(
	ctx context.Context,
	organizationID string,
	f identity.MemberFilter,
	r page.Request,
) (page.Result[identity.Member], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		q = q.Where("organization_id = ? AND "+ofExistingUsers, organizationID)
		q = whereInIfSet(q, "user_id", f.UserIDs)
		q = whereEqual(q, "role", f.Role)

		return whereEqual(q, "status", f.Status)
	}

	rows, result, err := listRows[membershipRow, identity.Member](ctx, d.DB, r, listQuery{oldestFirst: true, where: selected})
	if err != nil {
		return result, err
	}

	result.Items, err = d.members(ctx, rows)

	return result, err
}

// Upsert implements identity.Members.
func (d members) Upsert(ctx context.Context, m *identity.Membership) error {
	row := membershipRow(*m)

	row.Version++
	if err := d.createOrUpdate(ctx, &row, m.Version); err != nil {
		return err
	}

	m.Version++

	return nil
}

// createOrUpdate stores the row. previousVersion is the version of the row that it replaces, or 0 for a
// new row.
func (d members) createOrUpdate(ctx context.Context, row *membershipRow, previousVersion int64) error {
	if previousVersion > 0 {
		previous := d.conn(ctx).Model(&membershipRow{}).
			Where("organization_id = ? AND user_id = ? AND version = ?", row.OrganizationID, row.UserID, previousVersion)
		return updateVersion(previous, row, "organization_id", "user_id", "founder")
	}

	res := createIfAbsent(d.conn(ctx), row, "organization_id", "user_id")
	if errors.Is(res.Error, gorm.ErrForeignKeyViolated) {
		return errStale // the invited user was deleted concurrently
	}

	return requireRow(res, errStale)
}

// Delete implements identity.Members.
func (d members) Delete(ctx context.Context, organizationID string, userIDs []string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		invited := whereIn(d.conn(ctx).Where("organization_id = ?", organizationID), "user_id", userIDs)
		if err := deleteFrom(invited, membershipRow{}, mailTokenRow{}); err != nil {
			return err
		}

		return d.deleteUninvited(ctx, userIDs)
	})
}

// deleteUninvited deletes those of the users who have the status invited but no invitation.
func (db *DB) deleteUninvited(ctx context.Context, ids []string) error {
	return wrap(db.conn(ctx).Where("? AND status = 'invited'", db.dialect.In("id", ids)).
		Where("NOT EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id)").Delete(&userRow{}).Error)
}

// MergeInvited implements identity.Members. It gives the invitations of an invited user to another user
// with an account, and deletes the invited one.
func (d members) MergeInvited(ctx context.Context, invitedID, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		invited, err := takeRow[userRow](d.locked(ctx).Select("id", "status").Where("id = ?", invitedID), nil)
		if err != nil || invited.Status != identity.UserInvited {
			return err
		}

		memberships := func() *gorm.DB { return d.conn(ctx).Model(&membershipRow{}) }

		// Move the invitations to teams of which the user is not a member yet.
		var own, moved, open []string // ids of organizations
		if err := memberships().Where("user_id = ?", userID).Pluck("organization_id", &own).Error; err != nil {
			return wrap(err)
		}

		toOthers := memberships().Where("user_id = ?", invitedID)
		if len(own) > 0 {
			toOthers = toOthers.Where("NOT ?", d.dialect.In("organization_id", own))
		}

		if err := toOthers.Pluck("organization_id", &moved).Error; err != nil {
			return wrap(err)
		}

		moving := whereIn(memberships().Where("user_id = ?", invitedID), "organization_id", moved)
		if err := moving.Update("user_id", userID).Error; err != nil {
			return wrap(err)
		}

		// Move the links in the mails of all invitations that the user can now accept.
		err = memberships().Where("user_id = ? AND status = 'invited'", userID).Pluck("organization_id", &open).Error
		if err != nil {
			return wrap(err)
		}

		tokens := whereIn(d.conn(ctx).Model(&mailTokenRow{}).Where("user_id = ?", invitedID), "organization_id", open)
		if err := tokens.Update("user_id", userID).Error; err != nil {
			return wrap(err)
		}

		// The remaining invitations are deleted with the user.
		return wrap(d.conn(ctx).Where("id = ?", invitedID).Delete(&userRow{}).Error)
	})
}
