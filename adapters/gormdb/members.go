package gormdb

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// Members stores memberships and invitations.
type Members struct{ *DB }

type membershipRow struct {
	OrganizationID string
	UserID         string
	ID             string
	Role           string
	Permissions    string
	Founder        bool
	Status         string
	InvitedName    string
	InvitedEmail   string
	InvitedUntil   *time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time `gorm:"autoUpdateTime:false"`
	Version        int64
}

// TableName implements schema.Tabler.
func (membershipRow) TableName() string { return "memberships" }

func (r membershipRow) key() string { return r.ID }

func toMembershipRow(m identity.Membership) membershipRow {
	var names []string
	for _, p := range m.Permissions.List() {
		names = append(names, string(p))
	}
	return membershipRow{
		OrganizationID: m.OrganizationID, UserID: m.UserID, ID: m.ID, Role: string(m.Role), Permissions: strings.Join(names, " "),
		Founder: m.Founder, Status: string(m.Status), InvitedName: m.InvitedName, InvitedEmail: m.InvitedEmail,
		InvitedUntil: nilIfZero(m.InvitedUntil), CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Version: m.Version,
	}
}

func (r membershipRow) membership() identity.Membership {
	return identity.Membership{
		ID: r.ID, OrganizationID: r.OrganizationID, UserID: r.UserID, Role: identity.OrgRole(r.Role), Permissions: permissionsOf(r.Permissions),
		Founder: r.Founder, Status: identity.MemberStatus(r.Status), InvitedName: r.InvitedName, InvitedEmail: r.InvitedEmail,
		InvitedUntil: orZero(r.InvitedUntil), CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version,
	}
}

func permissionsOf(names string) identity.Permissions {
	var list []auth.Permission
	for _, n := range strings.Fields(names) {
		list = append(list, auth.Permission(n))
	}
	return identity.PermissionsOf(list)
}

// ofExistingUsers is the condition on memberships whose users are not deleted. Personal
// data is deleted after the user: until then a membership may remain.
const ofExistingUsers = "EXISTS (SELECT 1 FROM users WHERE users.id = memberships.user_id AND users.status <> 'deleted')"

// Get implements identity.Members.
func (d Members) Get(ctx context.Context, organizationID, userID string) (identity.Member, error) {
	var r membershipRow
	err := d.q(ctx).Where("organization_id = ? AND user_id = ?", organizationID, userID).Take(&r).Error
	if err := orNotFound(err, identity.ErrNotInTeam); err != nil {
		return identity.Member{}, err
	}
	found, err := d.members(ctx, []membershipRow{r})
	if err == nil && len(found) == 0 {
		err = identity.ErrNotInTeam
	}
	if err != nil {
		return identity.Member{}, err
	}
	return found[0], nil
}

// members adds the names and addresses to memberships, except those of deleted users.
func (d Members) members(ctx context.Context, rows []membershipRow) ([]identity.Member, error) {
	out := make([]identity.Member, 0, len(rows))
	if len(rows) == 0 {
		return out, nil
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.UserID
	}
	users, err := Users(d).GetByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]identity.User, len(users))
	for _, u := range users {
		byID[u.ID] = u
	}
	for _, r := range rows {
		u, ok := byID[r.UserID]
		if !ok {
			continue
		}
		m := identity.Member{Membership: r.membership(), Name: u.Name, Email: u.Email}
		if m.Status == identity.MemberInvited {
			m.Name, m.Email = m.InvitedName, m.InvitedEmail
		}
		out = append(out, m)
	}
	return out, nil
}

// GetByUser implements identity.Members.
func (d Members) GetByUser(ctx context.Context, userID string) (*identity.Membership, error) {
	var r membershipRow
	err := wrap(d.q(ctx).Where("user_id = ? AND status = 'active'", userID).Take(&r).Error)
	if errors.Is(err, errNotFound) {
		return nil, nil //nolint:nilnil // the contract of the port: most users have no membership
	} else if err != nil {
		return nil, err
	}
	m := r.membership()
	var missing int64
	err = d.q(ctx).Model(&organizationRow{}).Where("id = ? AND require_second_factor", m.OrganizationID).
		Where("NOT EXISTS (?)", d.q(ctx).Model(&secondFactorRow{}).Select("1").Where("user_id = ? AND confirmed_at IS NOT NULL", userID)).
		Count(&missing).Error
	m.SecondFactorMissing = missing > 0
	return &m, wrap(err)
}

// List implements identity.Members.
func (d Members) List(ctx context.Context, organizationID string, f identity.MemberFilter, r page.Request) (page.Result[identity.Member], error) {
	where, args := "organization_id = ? AND "+ofExistingUsers, []any{organizationID}
	if len(f.UserIDs) > 0 {
		where, args = where+" AND ?", append(args, d.dialect.In("user_id", f.UserIDs))
	}
	if f.Role != "" {
		where, args = where+" AND role = ?", append(args, string(f.Role))
	}
	if f.Status != "" {
		where, args = where+" AND status = ?", append(args, string(f.Status))
	}
	rows, out, err := listOf[membershipRow, identity.Member](ctx, d.DB, r, list{oldestFirst: true, where: func(q *gorm.DB) *gorm.DB { return q.Where(where, args...) }})
	if err != nil {
		return out, err
	}
	out.Items, err = d.members(ctx, rows)
	return out, err
}

// Upsert implements identity.Members.
func (d Members) Upsert(ctx context.Context, m *identity.Membership) error {
	r := toMembershipRow(*m)
	r.Version++
	var res *gorm.DB
	if m.Version == 0 {
		res = createNew(d.q(ctx), &r, "organization_id", "user_id")
	} else {
		res = d.q(ctx).Model(&membershipRow{}).Where("organization_id = ? AND user_id = ? AND version = ?", m.OrganizationID, m.UserID, m.Version).
			Select("*").Omit("organization_id", "user_id", "founder").Updates(&r)
	}
	if errors.Is(res.Error, gorm.ErrForeignKeyViolated) {
		return errStale // the invited user was deleted concurrently
	}
	if err := saved(res); err != nil {
		return err
	}
	m.Version++
	return nil
}

// Delete implements identity.Members.
func (d Members) Delete(ctx context.Context, organizationID string, userIDs []string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		users := d.dialect.In("user_id", userIDs)
		for _, row := range []any{&membershipRow{}, &mailTokenRow{}} {
			if err := d.q(ctx).Where("organization_id = ? AND ?", organizationID, users).Delete(row).Error; err != nil {
				return wrap(err)
			}
		}
		return d.deleteUninvited(ctx, userIDs)
	})
}

// deleteUninvited deletes those of the users with the status invited who have no
// invitation.
func (db *DB) deleteUninvited(ctx context.Context, ids []string) error {
	return wrap(db.q(ctx).Where("? AND status = 'invited'", db.dialect.In("id", ids)).
		Where("NOT EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id)").Delete(&userRow{}).Error)
}

// MergeInvited implements identity.Members.
func (d Members) MergeInvited(ctx context.Context, invitedID, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		var invited userRow
		err := wrap(d.locked(ctx).Select("id", "status").Where("id = ?", invitedID).Take(&invited).Error)
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		if invited.Status != string(identity.UserInvited) {
			return nil
		}
		memberships := func() *gorm.DB { return d.q(ctx).Model(&membershipRow{}) }
		var own, moved, open []string
		if err := memberships().Where("user_id = ?", userID).Pluck("organization_id", &own).Error; err != nil {
			return wrap(err)
		}
		rest := memberships().Where("user_id = ?", invitedID)
		if len(own) > 0 {
			rest = rest.Where("NOT ?", d.dialect.In("organization_id", own))
		}
		if err := rest.Pluck("organization_id", &moved).Error; err != nil {
			return wrap(err)
		}
		if err := memberships().Where("user_id = ? AND ?", invitedID, d.dialect.In("organization_id", moved)).Update("user_id", userID).Error; err != nil {
			return wrap(err)
		}
		if err := memberships().Where("user_id = ? AND status = 'invited'", userID).Pluck("organization_id", &open).Error; err != nil {
			return wrap(err)
		}
		tokens := d.q(ctx).Model(&mailTokenRow{}).Where("user_id = ? AND ?", invitedID, d.dialect.In("organization_id", open))
		if err := tokens.Update("user_id", userID).Error; err != nil {
			return wrap(err)
		}
		// The remaining invitations are deleted with the user.
		return wrap(d.q(ctx).Where("id = ?", invitedID).Delete(&userRow{}).Error)
	})
}
