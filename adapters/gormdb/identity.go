package gormdb

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
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

// TableName tells GORM the table.
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

// keyOf is identity.User.Key, which is empty where the address says it.
func keyOf(email, key string) string {
	if key == identity.EmailKey(email) {
		return ""
	}
	return key
}

// Add implements identity.Users.
func (d Users) Add(ctx context.Context, u *identity.User) error {
	r := toUserRow(*u)
	var got struct {
		ID      string
		Version int64
	}
	err := d.q(ctx).Raw(`INSERT INTO users (id, email, email_key, name, kind, status, registered, password_hash, created_at, updated_at, version)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (email_key) DO UPDATE SET email = excluded.email, name = excluded.name, kind = excluded.kind, status = excluded.status,
			registered = excluded.registered, password_hash = excluded.password_hash, created_at = excluded.created_at, updated_at = excluded.updated_at, version = users.version + 1
			WHERE users.status = 'invited'
		RETURNING id, version`,
		r.ID, r.Email, r.EmailKey, r.Name, r.Kind, r.Status, r.Registered, r.PasswordHash, r.CreatedAt, r.UpdatedAt, r.Version).Scan(&got).Error
	if err != nil {
		return wrap(err)
	}
	if got.ID == "" {
		return identity.ErrEmailTaken
	}
	u.ID, u.Version = got.ID, got.Version
	return nil
}

// Invite implements identity.Users.
func (d Users) Invite(ctx context.Context, u identity.User) (string, error) {
	r := toUserRow(u)
	if err := d.q(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email_key"}}, DoNothing: true}).Create(&r).Error; err != nil {
		return "", wrap(err)
	}
	var id string
	return id, wrap(d.q(ctx).Raw(`SELECT id FROM users WHERE email_key = ?`, u.EmailKey()).Scan(&id).Error)
}

// Exist implements identity.Users.
func (d Users) Exist(ctx context.Context) (bool, error) {
	var ids []string
	err := d.q(ctx).Model(&userRow{}).Limit(1).Pluck("id", &ids).Error
	return len(ids) > 0, wrap(err)
}

// Find implements identity.Users.
func (d Users) Find(ctx context.Context, id string) (identity.User, error) {
	return d.first(ctx, "id = ? AND status <> 'deleted'", id)
}

// FindByEmail implements identity.Users.
func (d Users) FindByEmail(ctx context.Context, emailKey string) (identity.User, error) {
	return d.first(ctx, "email_key = ? AND status <> 'deleted'", emailKey)
}

func (d Users) first(ctx context.Context, where, arg string) (identity.User, error) {
	var r userRow
	err := d.q(ctx).Where(where, arg).Take(&r).Error
	return r.user(), orNotFound(err, identity.ErrUserNotFound)
}

// Save implements identity.Users.
func (d Users) Save(ctx context.Context, u *identity.User) error {
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

// SignIn implements identity.Users.
func (d Users) SignIn(ctx context.Context, id, verifier, newVerifier string, at time.Time) (bool, error) {
	res := d.q(ctx).Exec(`UPDATE users SET last_login_at = ?, password_hash = ? WHERE id = ? AND password_hash = ? AND status = 'active' AND locked_at IS NULL`,
		at, newVerifier, id, verifier)
	return res.RowsAffected == 1, wrap(res.Error)
}

// People implements identity.Users.
func (d Users) People(ctx context.Context, ids []string) ([]identity.User, error) {
	var rows []userRow
	if err := d.q(ctx).Where("? AND status <> 'deleted'", d.dialect.In("id", ids)).Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	out := make([]identity.User, len(rows))
	for i, r := range rows {
		out[i] = r.user()
	}
	return out, nil
}

// Organizations stores employers and their members.
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

// TableName tells GORM the table.
func (organizationRow) TableName() string { return "organizations" }

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

// TableName tells GORM the table.
func (membershipRow) TableName() string { return "memberships" }

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

// Found implements identity.Organizations.
func (d Organizations) Found(ctx context.Context, o identity.Organization, founder identity.Membership) error {
	or, mr := organizationRow(o), toMembershipRow(founder)
	if err := d.q(ctx).Create(&or).Error; err != nil {
		return wrap(err)
	}
	return wrap(d.q(ctx).Create(&mr).Error)
}

// Find implements identity.Organizations.
func (d Organizations) Find(ctx context.Context, id string) (identity.Organization, error) {
	var r organizationRow
	err := d.q(ctx).Where("id = ?", id).Take(&r).Error
	return identity.Organization(r), orNotFound(err, identity.ErrOrganizationNotFound)
}

// Many implements identity.Organizations.
func (d Organizations) Many(ctx context.Context, ids []string) ([]identity.Organization, error) {
	var rows []organizationRow
	err := d.q(ctx).Where("?", d.dialect.In("id", ids)).Find(&rows).Error
	out := make([]identity.Organization, len(rows))
	for i, r := range rows {
		out[i] = identity.Organization(r)
	}
	return out, wrap(err)
}

// Lock implements identity.Organizations.
func (d Organizations) Lock(ctx context.Context, id string) error {
	var found string
	return wrap(d.locked(ctx).Model(&organizationRow{}).Select("id").Where("id = ?", id).Scan(&found).Error)
}

// Invite implements identity.Organizations.
func (d Organizations) Invite(ctx context.Context, m identity.Membership, now time.Time) (bool, error) {
	r := toMembershipRow(m)
	res := d.q(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "organization_id"}, {Name: "user_id"}},
		DoUpdates: clause.AssignmentColumns([]string{"id", "role", "permissions", "invited_name", "invited_email", "invited_until", "created_at", "updated_at"}),
		Where:     clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "memberships.status = 'invited' AND memberships.invited_until <= ?", Vars: []any{now}}}},
	}).Create(&r)
	if errors.Is(res.Error, gorm.ErrForeignKeyViolated) {
		return false, errStale // the invited person was forgotten since they were looked up
	}
	return res.RowsAffected == 1, wrap(res.Error)
}

const memberQuery = `SELECT m.organization_id, m.user_id, m.id, m.role, m.permissions, m.founder, m.status, m.invited_name, m.invited_email,
		m.invited_until, m.created_at, m.updated_at, m.version, u.name AS user_name, u.email AS user_email
	FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.organization_id = ? AND u.status <> 'deleted' `

type memberRow struct {
	Membership membershipRow `gorm:"embedded"`
	UserName   string
	UserEmail  string
}

func (r memberRow) member() identity.Member {
	m := identity.Member{Membership: r.Membership.membership(), Name: r.UserName, Email: r.UserEmail}
	if m.Status == identity.MemberInvited { // what the account calls itself is not the organization's yet
		m.Name, m.Email = m.InvitedName, m.InvitedEmail
	}
	return m
}

// Member implements identity.Organizations.
func (d Organizations) Member(ctx context.Context, organizationID, userID string) (identity.Member, error) {
	var r memberRow
	if err := d.q(ctx).Raw(memberQuery+"AND m.user_id = ?", organizationID, userID).Scan(&r).Error; err != nil {
		return identity.Member{}, wrap(err)
	}
	if r.Membership.ID == "" {
		return identity.Member{}, identity.ErrNotInTeam
	}
	return r.member(), nil
}

// Members implements identity.Organizations.
func (d Organizations) Members(ctx context.Context, organizationID string, userIDs []string) ([]identity.Member, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	var rows []memberRow
	if err := d.q(ctx).Raw(memberQuery+"AND m.user_id IN ?", organizationID, userIDs).Scan(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	out := make([]identity.Member, len(rows))
	for i, r := range rows {
		out[i] = r.member()
	}
	return out, nil
}

// MembershipOf implements identity.Organizations.
func (d Organizations) MembershipOf(ctx context.Context, userID string) (*identity.Membership, error) {
	var r membershipRow
	err := wrap(d.q(ctx).Where("user_id = ? AND status = 'active'", userID).Take(&r).Error)
	if errors.Is(err, errNotFound) {
		return nil, nil //nolint:nilnil // the port says so: most people work for nobody here
	}
	m := r.membership()
	if err != nil {
		return &m, err
	}
	err = d.q(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM organizations WHERE id = ? AND require_second_factor)
		AND NOT EXISTS (SELECT 1 FROM second_factors WHERE user_id = ? AND confirmed_at IS NOT NULL)`, m.OrganizationID, userID).Scan(&m.SecondFactorMissing).Error
	return &m, wrap(err)
}

// SaveMember implements identity.Organizations.
func (d Organizations) SaveMember(ctx context.Context, m *identity.Membership) error {
	r := toMembershipRow(*m)
	r.Version++
	res := d.q(ctx).Model(&membershipRow{}).Where("organization_id = ? AND user_id = ? AND version = ?", m.OrganizationID, m.UserID, m.Version).
		Select("role", "permissions", "status", "invited_until", "updated_at", "version").Updates(&r)
	if err := saved(res); err != nil {
		return err
	}
	m.Version++
	return nil
}

// RemoveMember implements identity.Organizations.
func (d Organizations) RemoveMember(ctx context.Context, organizationID, userID string) error {
	return wrap(d.q(ctx).Exec(`DELETE FROM memberships WHERE organization_id = ? AND user_id = ?`, organizationID, userID).Error)
}

// HasOtherAdmin implements identity.Organizations.
func (d Organizations) HasOtherAdmin(ctx context.Context, organizationID, userID string) (bool, error) {
	var found bool
	err := d.q(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM memberships
		WHERE organization_id = ? AND user_id <> ? AND role = 'admin' AND status = 'active')`, organizationID, userID).Scan(&found).Error
	return found, wrap(err)
}

// Admins implements identity.Organizations.
func (d Organizations) Admins(ctx context.Context, organizationID string, n int) (ids []string, err error) {
	err = d.q(ctx).Raw(`SELECT user_id FROM memberships WHERE organization_id = ? AND role = 'admin' AND status = 'active' ORDER BY id LIMIT ?`, organizationID, n).Scan(&ids).Error
	return ids, wrap(err)
}

// Team implements identity.Organizations.
func (d Organizations) Team(ctx context.Context, organizationID string, p page.Request) (page.Result[identity.Member], error) {
	var out page.Result[identity.Member]
	var rows []memberRow
	query, args := memberQuery, []any{organizationID}
	if p.Cursor != "" {
		query, args = query+"AND m.id > ? ORDER BY m.id LIMIT ?", append(args, p.Cursor, p.Size+1)
	} else {
		query, args = query+"ORDER BY m.id LIMIT ? OFFSET ?", append(args, p.Size+1, p.Offset())
	}
	if err := d.q(ctx).Raw(query, args...).Scan(&rows).Error; err != nil {
		return out, wrap(err)
	}
	err := d.q(ctx).Raw(`SELECT COUNT(*) FROM (SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.organization_id = ? AND u.status <> 'deleted' LIMIT ?) AS counted`, organizationID, page.MaxExact+1).Scan(&out.Total).Error
	if err != nil {
		return out, wrap(err)
	}
	out.TotalIsEstimate = out.Total > page.MaxExact
	if len(rows) > p.Size {
		rows = rows[:p.Size]
		out.NextCursor = rows[p.Size-1].Membership.ID
	}
	out.Items = make([]identity.Member, len(rows))
	for i, r := range rows {
		out.Items[i] = r.member()
	}
	return out, nil
}

// nilIfZero and orZero carry a value that may be missing over to SQL's NULL and
// back.
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
