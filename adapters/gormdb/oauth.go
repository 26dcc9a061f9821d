package gormdb

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Grants stores what was issued to applications in the name of users.
type Grants struct{ *DB }

type grantRow struct {
	ID        string
	AppID     string
	UserID    string
	Scopes    scopeList
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	ExpiresAt time.Time
	EndedAt   *time.Time
}

// TableName tells GORM the table.
func (grantRow) TableName() string { return "oauth_grants" }

func (r grantRow) grant() integrations.Grant {
	return integrations.Grant{ID: r.ID, AppID: r.AppID, UserID: r.UserID, Scopes: r.Scopes.scopes(), CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, EndedAt: r.EndedAt}
}

type oauthTokenRow struct {
	Hash        string
	GrantID     string
	Kind        string
	Scopes      scopeList
	RedirectURI string `gorm:"column:redirect_uri"`
	Challenge   string
	IssuedAt    time.Time
	ExpiresAt   time.Time
	UsedAt      *time.Time
}

// TableName tells GORM the table.
func (oauthTokenRow) TableName() string { return "oauth_tokens" }

func newOauthTokenRow(t integrations.Token) oauthTokenRow {
	return oauthTokenRow{Hash: t.Hash, GrantID: t.GrantID, Kind: string(t.Kind), Scopes: scopesOf(t.Scopes), RedirectURI: t.RedirectURI, Challenge: t.Challenge,
		IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt, UsedAt: t.UsedAt}
}

func (r oauthTokenRow) token() integrations.Token {
	return integrations.Token{Hash: r.Hash, GrantID: r.GrantID, Kind: integrations.TokenKind(r.Kind), Scopes: r.Scopes.scopes(), RedirectURI: r.RedirectURI, Challenge: r.Challenge,
		IssuedAt: r.IssuedAt, ExpiresAt: r.ExpiresAt, UsedAt: r.UsedAt}
}

// scopeList are scopes with spaces between them.
type scopeList string

func scopesOf(scopes []integrations.Scope) scopeList {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return scopeList(strings.Join(words, " "))
}

func (l scopeList) scopes() []integrations.Scope {
	words := strings.Fields(string(l))
	out := make([]integrations.Scope, len(words))
	for i, w := range words {
		out[i] = integrations.Scope(w)
	}
	return out
}

// orAppGone is err, or that the application or the user is not there any more.
func orAppGone(err error) error {
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		return integrations.ErrAppNotFound
	}
	return wrap(err)
}

// Add implements integrations.Grants.
func (d Grants) Add(ctx context.Context, g integrations.Grant, code integrations.Token) error {
	r := grantRow{ID: g.ID, AppID: g.AppID, UserID: g.UserID, Scopes: scopesOf(g.Scopes), CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt, EndedAt: g.EndedAt}
	if err := d.q(ctx).Create(&r).Error; err != nil {
		return orAppGone(err)
	}
	return d.AddToken(ctx, code)
}

// AddToken implements integrations.Grants.
func (d Grants) AddToken(ctx context.Context, t integrations.Token) error {
	r := newOauthTokenRow(t)
	return orAppGone(d.q(ctx).Create(&r).Error)
}

const issuedColumns = `t.hash, t.grant_id, t.kind, t.scopes, t.redirect_uri, t.challenge, t.issued_at, t.expires_at, t.used_at,
	g.id AS grant_of_id, g.app_id AS grant_of_app_id, g.user_id AS grant_of_user_id, g.scopes AS grant_of_scopes, g.created_at AS grant_of_created_at, g.expires_at AS grant_of_expires_at, g.ended_at AS grant_of_ended_at`

type issuedRow struct {
	Token oauthTokenRow `gorm:"embedded"`
	Grant grantRow      `gorm:"embedded;embeddedPrefix:grant_of_"`
}

// Find implements integrations.Grants.
func (d Grants) Find(ctx context.Context, kind integrations.TokenKind, hash string) (integrations.Token, integrations.Grant, error) {
	query := "SELECT " + issuedColumns + ` FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id JOIN users u ON u.id = g.user_id AND u.status = 'active' AND u.locked_at IS NULL
		WHERE t.hash = ? AND t.kind = ?`
	if d.pg() && d.current(ctx) != nil {
		query += " FOR UPDATE OF g, t"
	}
	var r issuedRow
	if err := d.q(ctx).Raw(query, hash, string(kind)).Take(&r).Error; err != nil {
		return integrations.Token{}, integrations.Grant{}, orNotFound(err, integrations.ErrTokenNotFound)
	}
	return r.Token.token(), r.Grant.grant(), nil
}

// Access implements integrations.Grants.
func (d Grants) Access(ctx context.Context, hash string) (t integrations.Token, g integrations.Grant, a integrations.App, err error) {
	var r struct {
		Issued issuedRow `gorm:"embedded"`
		App    appRow    `gorm:"embedded;embeddedPrefix:app_of_"`
	}
	err = d.q(ctx).Raw("SELECT "+issuedColumns+`, a.id AS app_of_id, a.owner_id AS app_of_owner_id, a.name AS app_of_name, a.description AS app_of_description, a.public AS app_of_public,
			a.secret_hash AS app_of_secret_hash, a.plan AS app_of_plan, a.redirect_uris AS app_of_redirect_uris, a.created_at AS app_of_created_at, a.updated_at AS app_of_updated_at, a.version AS app_of_version
		FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id JOIN apps a ON a.id = g.app_id JOIN users u ON u.id = g.user_id AND u.status = 'active' AND u.locked_at IS NULL
		WHERE t.hash = ? AND t.kind = 'access'`, hash).Take(&r).Error
	if err != nil {
		return t, g, a, orNotFound(err, integrations.ErrTokenNotFound)
	}
	a, err = r.App.app()
	return r.Issued.Token.token(), r.Issued.Grant.grant(), a, err
}

// Spend implements integrations.Grants.
func (d Grants) Spend(ctx context.Context, hash string, at time.Time) (bool, error) {
	res := d.q(ctx).Exec("UPDATE oauth_tokens SET used_at = ? WHERE hash = ? AND used_at IS NULL", at, hash)
	return res.RowsAffected == 1, wrap(res.Error)
}

// End implements integrations.Grants.
func (d Grants) End(ctx context.Context, grantID string, at time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE oauth_grants SET ended_at = ? WHERE id = ? AND ended_at IS NULL", at, grantID).Error)
}

// EndAccess implements integrations.Grants.
func (d Grants) EndAccess(ctx context.Context, grantID string, at time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE oauth_tokens SET used_at = ? WHERE grant_id = ? AND kind = 'access' AND used_at IS NULL", at, grantID).Error)
}

// Forget implements integrations.Grants.
func (d Grants) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	most := 0
	for _, statement := range []string{
		"DELETE FROM oauth_grants WHERE id " + d.dialect.InQuery("SELECT id FROM oauth_grants WHERE expires_at < ? ORDER BY expires_at LIMIT ?"),
		"DELETE FROM oauth_tokens WHERE hash " + d.dialect.InQuery("SELECT hash FROM oauth_tokens WHERE expires_at < ? ORDER BY expires_at LIMIT ?"),
	} {
		res := d.q(ctx).Exec(statement, before, n)
		if res.Error != nil {
			return 0, wrap(res.Error)
		}
		most = max(most, int(res.RowsAffected))
	}
	return most, nil
}

// Consents stores what users allow applications.
type Consents struct{ *DB }

type consentRow struct {
	UserID  string
	AppID   string
	Scopes  scopeList
	GivenAt time.Time
}

// TableName tells GORM the table.
func (consentRow) TableName() string { return "oauth_consents" }

func (r consentRow) consent() integrations.Consent {
	return integrations.Consent{UserID: r.UserID, AppID: r.AppID, Scopes: r.Scopes.scopes(), GivenAt: r.GivenAt}
}

// Give implements integrations.Consents.
func (d Consents) Give(ctx context.Context, c integrations.Consent) error {
	return orAppGone(d.q(ctx).Exec(`INSERT INTO oauth_consents (user_id, app_id, scopes, given_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (user_id, app_id) DO UPDATE SET scopes = excluded.scopes, given_at = excluded.given_at`, c.UserID, c.AppID, string(scopesOf(c.Scopes)), c.GivenAt).Error)
}

// Find implements integrations.Consents.
func (d Consents) Find(ctx context.Context, userID, appID string) (integrations.Consent, error) {
	var r consentRow
	err := d.locked(ctx).Where("user_id = ? AND app_id = ?", userID, appID).Take(&r).Error
	return r.consent(), orNotFound(err, integrations.ErrConsentNotFound)
}

// Page implements integrations.Consents.
func (d Consents) Page(ctx context.Context, userID string, r page.Request) (out page.Result[integrations.Allowed], err error) {
	query, args := "", []any{userID}
	if r.Cursor != "" {
		if !id.Valid(r.Cursor) {
			return out, errCursor
		}
		query, args = " AND c.app_id < ?", append(args, r.Cursor)
	}
	args = append(args, r.Size+1)
	if r.Cursor == "" {
		args = append(args, r.Offset())
	} else {
		args = append(args, 0)
	}
	var rows []struct {
		Consent     consentRow `gorm:"embedded"`
		Name        string
		Description string
	}
	err = d.q(ctx).Raw(`SELECT c.user_id, c.app_id, c.scopes, c.given_at, a.name, a.description
		FROM oauth_consents c JOIN apps a ON a.id = c.app_id WHERE c.user_id = ?`+query+" ORDER BY c.app_id DESC LIMIT ? OFFSET ?", args...).Scan(&rows).Error
	if err != nil {
		return out, wrap(err)
	}
	err = d.q(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM oauth_consents WHERE user_id = ? LIMIT ?) AS counted", userID, page.MaxExact+1).Scan(&out.Total).Error
	if out.Total > page.MaxExact {
		out.Total, out.TotalIsEstimate = page.MaxExact, true
	}
	if len(rows) > r.Size {
		rows = rows[:r.Size]
		out.NextCursor = rows[r.Size-1].Consent.AppID
	}
	out.Items = make([]integrations.Allowed, len(rows))
	for i, row := range rows {
		out.Items[i] = integrations.Allowed{Consent: row.Consent.consent(), Name: row.Name, Description: row.Description}
	}
	return out, wrap(err)
}

// Near implements integrations.Consents.
func (d Consents) Near(ctx context.Context, appID, organizationID, applicantID string, n int) ([]integrations.Consent, error) {
	var rows []consentRow
	err := d.q(ctx).Where("app_id = ? AND (user_id = ? OR user_id IN ("+colleagues+"))", appID, applicantID, organizationID).Order("user_id").Limit(n).Find(&rows).Error
	out := make([]integrations.Consent, len(rows))
	for i, r := range rows {
		out[i] = r.consent()
	}
	return out, wrap(err)
}

// Withdraw implements integrations.Consents.
func (d Consents) Withdraw(ctx context.Context, userID, appID string) error {
	res := d.q(ctx).Exec("DELETE FROM oauth_consents WHERE user_id = ? AND app_id = ?", userID, appID)
	if res.Error != nil {
		return wrap(res.Error)
	}
	if res.RowsAffected == 0 {
		return integrations.ErrConsentNotFound
	}
	return wrap(d.q(ctx).Exec("DELETE FROM oauth_grants WHERE user_id = ? AND app_id = ?", userID, appID).Error)
}

// DeleteOf implements integrations.Consents.
func (d Consents) DeleteOf(ctx context.Context, userID string) error {
	if err := d.q(ctx).Exec("DELETE FROM oauth_consents WHERE user_id = ?", userID).Error; err != nil {
		return wrap(err)
	}
	return wrap(d.q(ctx).Exec("DELETE FROM oauth_grants WHERE user_id = ?", userID).Error)
}
