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

// members implements identity.Members. A member is a user in the team of an organization. An
// invitation is a membership with the status invited. Its user has an account already, or is a row of
// users that also has the status invited, for a person who has not registered yet.
type members struct{ *DB }

// membershipRow is a row of memberships. It has no SecondFactorMissing: GetByUser computes that field
// from the settings of the organization and of the user.
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
	row, err := takeRow[membershipRow](
		d.conn(ctx).Where("organization_id = ? AND user_id = ?", organizationID, userID),
		identity.ErrNotInTeam,
	)
	if err != nil {
		return identity.Member{}, err
	}

	found, err := d.addNames(ctx, []membershipRow{row}) // empty if the user was deleted

	return list.First(found, err, identity.ErrNotInTeam)
}

// addNames returns the memberships with names and e-mail addresses: those of the user, or for an
// invitation those that the invitation contains. It leaves out memberships of deleted users.
func (d members) addNames(ctx context.Context, rows []membershipRow) ([]identity.Member, error) {
	team := make([]identity.Member, 0, len(rows))
	if len(rows) == 0 {
		return team, nil
	}

	usersOfTeam, err := users(d).GetByIDs(ctx, list.Map(rows, func(r membershipRow) string { return r.UserID }))
	if err != nil {
		return team, err
	}

	userByID := list.ToMap(usersOfTeam, func(u identity.User) (string, identity.User) { return u.ID, u })
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

	return team, nil
}

// GetByUser implements identity.Members. It returns the active membership of the user, or nil if
// there is none. SecondFactorMissing is true if the organization requires two-step sign-in and the
// user has not confirmed a second factor.
func (d members) GetByUser(ctx context.Context, userID string) (*identity.Membership, error) {
	row, err := takeRowIfAny[membershipRow](d.conn(ctx).Where("user_id = ? AND status = 'active'", userID))
	if err != nil || row.ID == "" {
		return nil, err //nolint:nilnil // the contract of the port: most users have no membership
	}

	membership := identity.Membership(row)

	confirmedFactor := d.conn(ctx).Model(&secondFactorRow{}).Select("1").Where("user_id = ? AND confirmed_at IS NOT NULL", userID)
	requiringOrganization := d.conn(ctx).
		Model(&organizationRow{}).
		Where("id = ? AND require_second_factor", membership.OrganizationID)
	membership.SecondFactorMissing, err = exists(requiringOrganization.Where("NOT EXISTS (?)", confirmedFactor))

	return &membership, err
}

// List implements identity.Members. It lists the members of the team, the oldest first.
func (d members) List(
	ctx context.Context,
	organizationID string,
	f identity.MemberFilter,
	request page.Request,
) (page.Result[identity.Member], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		q = q.Where("organization_id = ? AND "+ofExistingUsers, organizationID)
		q = whereInIfSet(q, "user_id", f.UserIDs)
		q = whereEqual(q, "role", f.Role)

		return whereEqual(q, "status", f.Status)
	}

	query := listQuery{oldestFirst: true, where: selected}

	rows, result, err := listRows[membershipRow, identity.Member](ctx, d.DB, request, query)
	if err != nil {
		return result, err
	}

	result.Items, err = d.addNames(ctx, rows)

	return result, err
}

// Upsert implements identity.Members. It increments the version of the membership, which is 0 for a new
// one. It returns errStale if another transaction has changed or created the membership in the meantime.
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
		return updateVersion(previous, row, except{"organization_id", "user_id", "founder"})
	}

	created := createIfAbsent(d.conn(ctx), row, "organization_id", "user_id")
	if errors.Is(created.Error, gorm.ErrForeignKeyViolated) {
		return errStale // the invited user was deleted concurrently
	}

	return requireRow(created, errStale)
}

// Delete implements identity.Members. It deletes active members as well as invitations, with the links
// of their e-mails. Users who were only invited are deleted with their last invitation.
func (d members) Delete(ctx context.Context, organizationID string, userIDs []string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		ofMembers := whereIn(d.conn(ctx).Where("organization_id = ?", organizationID), "user_id", userIDs)
		if err := deleteFrom(ofMembers, membershipRow{}, mailTokenRow{}); err != nil {
			return err
		}

		return d.deleteUninvited(ctx, userIDs)
	})
}

// deleteUninvited deletes those of the users who have the status invited but no invitation any more.
// Users with an account have another status and remain.
func (db *DB) deleteUninvited(ctx context.Context, ids []string) error {
	return wrap(db.conn(ctx).Where("? AND status = 'invited'", db.dialect.In("id", ids)).
		Where("NOT EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id)").Delete(&userRow{}).Error)
}

// MergeInvited implements identity.Members. It gives the invitations of a user with the status invited
// to another user, who has an account, and deletes the invited one. It does nothing if the
// first user does not exist or has an account.
func (d members) MergeInvited(ctx context.Context, invitedID, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		invitedUser, err := takeRowIfAny[userRow](d.locked(ctx).Select("id", "status").Where("id = ?", invitedID))
		if err != nil || invitedUser.Status != identity.UserInvited {
			return err
		}

		memberships := func() *gorm.DB { return d.conn(ctx).Model(&membershipRow{}) }

		// Find the organizations of which the user has a membership or an invitation already.
		var ownOrganizationIDs []string
		if err := memberships().Where("user_id = ?", userID).Pluck("organization_id", &ownOrganizationIDs).Error; err != nil {
			return wrap(err)
		}

		// Move the invitations to other organizations.
		toOtherTeams := memberships().Where("user_id = ?", invitedID)
		if len(ownOrganizationIDs) > 0 {
			toOtherTeams = toOtherTeams.Where("NOT ?", d.dialect.In("organization_id", ownOrganizationIDs))
		}

		var newOrganizationIDs []string
		if err := toOtherTeams.Pluck("organization_id", &newOrganizationIDs).Error; err != nil {
			return wrap(err)
		}

		moved := whereIn(memberships().Where("user_id = ?", invitedID), "organization_id", newOrganizationIDs)
		if err := moved.Update("user_id", userID).Error; err != nil {
			return wrap(err)
		}

		// Move the tokens of the links in the e-mails of all invitations that the user can now accept.
		openInvitations := memberships().Where("user_id = ? AND status = 'invited'", userID)

		var invitingOrganizationIDs []string
		if err := openInvitations.Pluck("organization_id", &invitingOrganizationIDs).Error; err != nil {
			return wrap(err)
		}

		invitedTokens := d.conn(ctx).Model(&mailTokenRow{}).Where("user_id = ?", invitedID)

		acceptable := whereIn(invitedTokens, "organization_id", invitingOrganizationIDs)
		if err := acceptable.Update("user_id", userID).Error; err != nil {
			return wrap(err)
		}

		// The remaining invitations are deleted with the user.
		return wrap(d.conn(ctx).Where("id = ?", invitedID).Delete(&userRow{}).Error)
	})
}
