package gormdb

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// sessions implements identity.Sessions.
type sessions struct{ *DB }

// sessionRow is the session of a user, from sign-in to sign-out.
type sessionRow struct {
	ID         string
	UserID     string
	Address    string // the IP address at the sign-in
	UserAgent  string
	CreatedAt  time.Time
	LastUsedAt time.Time
	ExpiresAt  time.Time
	EndedAt    time.Time `gorm:"serializer:nullable_time"`
	// CookieHash and Browser are not columns: a session in a browser has a browserSessionRow.
	CookieHash string `gorm:"-"`
	Browser    bool   `gorm:"-"`
}

// refreshTokenRow is a token that a client of the API exchanges once for new tokens. It is stored as a hash.
type refreshTokenRow struct {
	Hash      string
	SessionID string
	IssuedAt  time.Time
	ExpiresAt time.Time
	UsedAt    time.Time `gorm:"serializer:nullable_time"`
}

// browserSessionRow maps the hash of a session cookie to its session.
type browserSessionRow struct {
	Hash      string
	SessionID string
}

// Create implements identity.Sessions. A session with a CookieHash is one in a browser.
func (d sessions) Create(ctx context.Context, s identity.Session, tokens ...identity.RefreshToken) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := d.conn(ctx).Create((*sessionRow)(&s)).Error; err != nil {
			return wrap(err)
		}

		if s.CookieHash != "" {
			if err := d.conn(ctx).Create(&browserSessionRow{Hash: s.CookieHash, SessionID: s.ID}).Error; err != nil {
				return wrap(err)
			}
		}

		return d.upsertRefreshTokens(ctx, s.ID, tokens)
	})
}

// upsertRefreshTokens stores new tokens of a session, and UsedAt of existing tokens.
func (d sessions) upsertRefreshTokens(ctx context.Context, sessionID string, tokens []identity.RefreshToken) error {
	return createRows(
		d.conn(ctx).Clauses(updateOnConflict([]string{"hash"}, "used_at")),
		list.Map(tokens, func(t identity.RefreshToken) refreshTokenRow {
			t.SessionID = sessionID
			return refreshTokenRow(t)
		}),
	)
}

// principalColumns are the columns of a principalRow, from the tables that listPrincipals joins: a
// session (s) with its user (u), active membership (m), organization (o) and second factor (f).
const principalColumns = `s.id, s.user_id, s.address, s.user_agent, s.created_at, s.last_used_at, s.expires_at, s.ended_at,
	u.email AS account_email, u.name AS account_name, u.kind AS account_kind, u.status AS account_status, u.registered AS account_registered,
	u.email_verified_at AS account_email_verified_at, u.moderator_since AS account_moderator_since, u.created_at AS account_created_at,
	m.organization_id AS member_organization_id, m.role AS member_role, m.permissions AS member_permissions, m.founder AS member_founder,
	(o.id IS NOT NULL AND f.user_id IS NULL) AS unenrolled`

// GetPrincipal implements identity.Sessions. A principal is a session with its user and the user's active
// membership. The key is the id of the session, or the hash of its cookie.
func (d sessions) GetPrincipal(ctx context.Context, key identity.SessionKey) (identity.Principal, error) {
	if key.CookieHash == "" {
		principals, err := d.GetPrincipals(ctx, []string{key.ID})
		return list.First(principals, err, identity.ErrSessionNotFound)
	}

	principals, err := d.listPrincipals(ctx, func(q *gorm.DB) *gorm.DB {
		return q.Where("s.id = (SELECT session_id FROM browser_sessions WHERE hash = ?)", key.CookieHash)
	})

	return list.First(principals, err, identity.ErrSessionNotFound)
}

// GetPrincipals implements identity.Sessions. It returns the principals of those sessions that exist.
func (d sessions) GetPrincipals(ctx context.Context, sessionIDs []string) ([]identity.Principal, error) {
	return d.listPrincipals(ctx, func(q *gorm.DB) *gorm.DB { return whereIn(q, "s.id", sessionIDs) })
}

// listPrincipals reads the selected sessions with their users and memberships. It leaves out sessions of
// users who are locked or not active.
//
// It runs for every signed-in request. Its statement is therefore constant, and uses primary keys and the
// index of active memberships only.
func (d sessions) listPrincipals(ctx context.Context, selected func(*gorm.DB) *gorm.DB) ([]identity.Principal, error) {
	q := d.conn(ctx).Table("sessions AS s").Select(principalColumns).
		Joins("JOIN users u ON u.id = s.user_id AND u.status = 'active' AND u.locked_at IS NULL").
		Joins("LEFT JOIN memberships m ON m.user_id = s.user_id AND m.status = 'active'").
		Joins("LEFT JOIN organizations o ON o.id = m.organization_id AND o.require_second_factor").
		Joins("LEFT JOIN second_factors f ON f.user_id = s.user_id AND f.confirmed_at IS NOT NULL")

	var rows []principalRow
	if err := selected(q).Scan(&rows).Error; err != nil {
		return nil, wrap(err)
	}

	return list.Map(rows, principalRow.principal), nil
}

// principalRow is a row with the principalColumns.
type principalRow struct {
	Session    sessionRow    `gorm:"embedded"`
	User       userRow       `gorm:"embedded;embeddedPrefix:account_"`
	Member     membershipRow `gorm:"embedded;embeddedPrefix:member_"` // empty without a membership
	Unenrolled bool          // the organization requires two-step sign-in, and the user has not set it up
}

// principal returns the row as a session with its user and membership. It adds what the columns leave out,
// because it follows from the session and from the join.
func (r principalRow) principal() identity.Principal {
	p := identity.Principal{Session: identity.Session(r.Session), User: identity.User(r.User)}
	p.User.ID = r.Session.UserID

	if hasMembership := r.Member.OrganizationID != ""; hasMembership {
		m := identity.Membership(r.Member)
		m.UserID = r.Session.UserID
		m.Status = identity.MemberActive
		m.SecondFactorMissing = r.Unenrolled
		p.Membership = &m
	}

	return p
}

// List implements identity.Sessions. It lists the sessions that can still be used: sessions in browsers end sooner
// without use than those of API clients.
func (d sessions) List(
	ctx context.Context,
	userID string,
	now time.Time,
	request page.Request,
) (page.Result[identity.Session], error) {
	const isBrowser = "EXISTS (SELECT 1 FROM browser_sessions b WHERE b.session_id = sessions.id)"

	// Sessions that were last used before these times have ended. That of browsers is the later one, so
	// that any session that was used after it can still be used.
	apiCutoff, browserCutoff := identity.LiveCutoffs(now)

	live := func(q *gorm.DB) *gorm.DB {
		return q.Where("user_id = ? AND ended_at IS NULL AND expires_at > ?", userID, now).
			Where("(last_used_at > ? OR last_used_at > ? AND NOT "+isBrowser+")", browserCutoff, apiCutoff)
	}

	result, err := listPage(ctx, d.DB, request, listQuery{where: live},
		func(r sessionRow) identity.Session { return identity.Session(r) })
	if err != nil || len(result.Items) == 0 {
		return result, err
	}

	// Set Session.Browser, which is not a column of the sessions.
	ids := list.Map(result.Items, func(s identity.Session) string { return s.ID })

	var browserIDs []string
	err = whereIn(d.conn(ctx).Model(&browserSessionRow{}), "session_id", ids).Pluck("session_id", &browserIDs).Error

	for i, id := range ids {
		result.Items[i].Browser = slices.Contains(browserIDs, id)
	}

	return result, wrap(err)
}

// Update implements identity.Sessions. It also stores new refresh tokens of the session, and the use of existing
// ones. A session that has ended cannot be updated.
func (d sessions) Update(ctx context.Context, s identity.Session, tokens ...identity.RefreshToken) error {
	return d.Do(ctx, func(ctx context.Context) error {
		active := d.conn(ctx).Where("id = ? AND user_id = ? AND ended_at IS NULL", s.ID, s.UserID)

		res := active.Select("last_used_at", "ended_at").Updates((*sessionRow)(&s))
		if err := requireRow(res, identity.ErrSessionNotFound); err != nil {
			return err
		}

		return d.upsertRefreshTokens(ctx, s.ID, tokens)
	})
}

// EndByUsers implements identity.Sessions. It ends all sessions of the users but the one with exceptID, which may be
// empty.
func (d sessions) EndByUsers(ctx context.Context, userIDs []string, exceptID string, at time.Time) error {
	q := whereIn(d.conn(ctx).Model(&sessionRow{}).Where("ended_at IS NULL"), "user_id", userIDs)
	return wrap(whereIfSet(q, "id <> ?", exceptID).Update("ended_at", at).Error)
}

// GetRefreshToken implements identity.Sessions.
func (d sessions) GetRefreshToken(ctx context.Context, hash string) (identity.RefreshToken, error) {
	r, err := takeRow[refreshTokenRow](d.conn(ctx).Where("hash = ?", hash), identity.ErrSessionNotFound)
	return identity.RefreshToken(r), err
}

// mailTokens implements identity.MailTokens.
type mailTokens struct{ *DB }

// mailTokenRow is the token of a link in an e-mail, stored as a hash. OrganizationID is set for invitations.
type mailTokenRow struct {
	Hash           string
	UserID         string
	Purpose        identity.Purpose
	OrganizationID string `gorm:"serializer:nullable_string"`
	Email          string
	CreatedAt      time.Time
	ExpiresAt      time.Time
	UsedAt         time.Time `gorm:"serializer:nullable_time"`
}

// TableName implements schema.Tabler.
func (mailTokenRow) TableName() string { return "user_tokens" }

// Create implements identity.MailTokens. It locks the user, so that a user who is being deleted gets no new
// token.
func (d mailTokens) Create(ctx context.Context, t identity.MailToken) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if _, err := users(d).GetForUpdate(ctx, t.UserID); err != nil {
			return err
		}

		return wrap(d.conn(ctx).Create((*mailTokenRow)(&t)).Error)
	})
}

// Get implements identity.MailTokens.
func (d mailTokens) Get(ctx context.Context, hash string, p identity.Purpose) (identity.MailToken, error) {
	r, err := takeRow[mailTokenRow](d.conn(ctx).Where("hash = ? AND purpose = ?", hash, p), identity.ErrTokenNotFound)
	return identity.MailToken(r), err
}

// MarkUsed implements identity.MailTokens. It returns the number of tokens that were not used before.
func (d mailTokens) MarkUsed(ctx context.Context, userID string, f identity.MailTokenFilter, at time.Time) (int, error) {
	q := d.conn(ctx).Model(&mailTokenRow{}).Where("user_id = ? AND used_at IS NULL", userID)
	q = whereEqual(q, "hash", f.Hash)
	q = whereEqual(q, "purpose", f.Purpose)
	q = whereEqual(q, "organization_id", f.OrganizationID)
	res := q.Update("used_at", at)

	return int(res.RowsAffected), wrap(res.Error)
}

// secondFactors implements identity.SecondFactors.
type secondFactors struct{ *DB }

// secondFactorRow is the authenticator app of a user.
type secondFactorRow struct {
	UserID        string
	Secret        string
	CreatedAt     time.Time
	ConfirmedAt   time.Time `gorm:"serializer:nullable_time"` // by a first code of the app
	LastStep      int64     // the time step of the last accepted code, so that no code is accepted twice
	RecoveryCodes []string  `gorm:"-"` // stored as rows of their own
}

// recoveryCodeRow is the hash of a code with which the user can sign in once without the app.
type recoveryCodeRow struct {
	UserID string
	Hash   string
}

// Get implements identity.SecondFactors. Inside a transaction, it locks the factor until the end.
func (d secondFactors) Get(ctx context.Context, userID string) (identity.SecondFactor, error) {
	r, err := takeRow[secondFactorRow](d.locked(ctx).Where("user_id = ?", userID), identity.ErrNoSecondFactor)
	if err != nil {
		return identity.SecondFactor{}, err
	}

	r.RecoveryCodes, err = d.recoveryCodes(ctx, userID)

	return identity.SecondFactor(r), err
}

// recoveryCodes returns the hashes of the recovery codes that are not used yet.
func (d secondFactors) recoveryCodes(ctx context.Context, userID string) (hashes []string, err error) {
	err = d.conn(ctx).Model(&recoveryCodeRow{}).Where("user_id = ?", userID).Order("hash").Pluck("hash", &hashes).Error
	return hashes, wrap(err)
}

// Upsert implements identity.SecondFactors. Stored recovery codes that are missing in the factor are
// deleted.
func (d secondFactors) Upsert(ctx context.Context, factor identity.SecondFactor) error {
	return d.Do(ctx, func(ctx context.Context) error {
		replace := updateOnConflict([]string{"user_id"}, "secret", "created_at", "confirmed_at", "last_step")
		if err := d.conn(ctx).Clauses(replace).Create((*secondFactorRow)(&factor)).Error; err != nil {
			return wrap(err)
		}

		stored, err := d.recoveryCodes(ctx, factor.UserID)
		if err != nil {
			return err
		}

		if used := without(stored, factor.RecoveryCodes); len(used) > 0 {
			usedCodes := d.conn(ctx).Where("user_id = ? AND hash IN ?", factor.UserID, used)
			if err := usedCodes.Delete(&recoveryCodeRow{}).Error; err != nil {
				return wrap(err)
			}
		}

		added := without(factor.RecoveryCodes, stored)

		return createRows(d.conn(ctx), list.Map(added, func(hash string) recoveryCodeRow {
			return recoveryCodeRow{UserID: factor.UserID, Hash: hash}
		}))
	})
}

// without returns the values that are not in others.
func without(values, others []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(others, v) })
}

// Delete implements identity.SecondFactors.
func (d secondFactors) Delete(ctx context.Context, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		return deleteFrom(d.conn(ctx).Where("user_id = ?", userID), recoveryCodeRow{}, secondFactorRow{})
	})
}
