package gormdb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Grants implements integrations.Grants.
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

// TableName implements schema.Tabler.
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

// TableName implements schema.Tabler.
func (oauthTokenRow) TableName() string { return "oauth_tokens" }

func newOauthTokenRow(t integrations.Token) oauthTokenRow {
	return oauthTokenRow{Hash: t.Hash, GrantID: t.GrantID, Kind: string(t.Kind), Scopes: scopesOf(t.Scopes), RedirectURI: t.RedirectURI, Challenge: t.Challenge,
		IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt, UsedAt: t.UsedAt}
}

func (r oauthTokenRow) token() integrations.Token {
	return integrations.Token{Hash: r.Hash, GrantID: r.GrantID, Kind: integrations.TokenKind(r.Kind), Scopes: r.Scopes.scopes(), RedirectURI: r.RedirectURI, Challenge: r.Challenge,
		IssuedAt: r.IssuedAt, ExpiresAt: r.ExpiresAt, UsedAt: r.UsedAt}
}

// scopeList is a list of scopes, separated by spaces.
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

// orAppDeleted replaces a foreign key violation by ErrAppNotFound.
func orAppDeleted(err error) error {
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		return integrations.ErrAppNotFound
	}
	return wrap(err)
}

// Create implements integrations.Grants.
func (d Grants) Create(ctx context.Context, t integrations.Token, g *integrations.Grant) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if g != nil {
			r := grantRow{ID: g.ID, AppID: g.AppID, UserID: g.UserID, Scopes: scopesOf(g.Scopes), CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt, EndedAt: g.EndedAt}
			if err := d.q(ctx).Create(&r).Error; err != nil {
				return orAppDeleted(err)
			}
		}
		r := newOauthTokenRow(t)
		return orAppDeleted(d.q(ctx).Create(&r).Error)
	})
}

// issuedRow is a token with its authorization and application.
type issuedRow struct {
	Token oauthTokenRow `gorm:"embedded;embeddedPrefix:token_of_"`
	Grant grantRow      `gorm:"embedded;embeddedPrefix:grant_of_"`
	App   appRow        `gorm:"embedded;embeddedPrefix:app_of_"`
}

// Get implements integrations.Grants. Inside a transaction the application is read
// separately, since FOR UPDATE locks the rows of every table of a join.
func (d Grants) Get(ctx context.Context, kind integrations.TokenKind, hash string) (out integrations.IssuedToken, err error) {
	locks := d.current(ctx) != nil
	columns := columnsAs[oauthTokenRow](d.DB, "t", "token_of_") + ", " + columnsAs[grantRow](d.DB, "g", "grant_of_")
	q := d.locked(ctx).Table("oauth_grants AS g").Joins("JOIN oauth_tokens AS t ON t.grant_id = g.id")
	if !locks {
		q, columns = q.Joins("JOIN apps AS a ON a.id = g.app_id"), columns+", "+columnsAs[appRow](d.DB, "a", "app_of_")
	}
	var r issuedRow
	if err := q.Select(columns).Where("t.hash = ? AND t.kind = ?", hash, string(kind)).Take(&r).Error; err != nil {
		return out, orNotFound(err, integrations.ErrTokenNotFound)
	}
	if locks {
		if err := d.q(ctx).Where("id = ?", r.Grant.AppID).Take(&r.App).Error; err != nil {
			return out, orNotFound(err, integrations.ErrTokenNotFound)
		}
	}
	out.Token, out.Grant = r.Token.token(), r.Grant.grant()
	out.App = r.App.app()
	return out, err
}

// Use implements integrations.Grants.
func (d Grants) Use(ctx context.Context, grantID, hash string, at time.Time) (used bool, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		res := d.q(ctx).Model(&oauthTokenRow{}).Where("hash = ? AND grant_id = ? AND used_at IS NULL", hash, grantID).Update("used_at", at)
		if used = res.RowsAffected == 1; res.Error != nil || !used {
			return wrap(res.Error)
		}
		return wrap(d.q(ctx).Model(&oauthTokenRow{}).Where("grant_id = ? AND kind = 'access' AND used_at IS NULL", grantID).Update("used_at", at).Error)
	})
	return used, err
}

// End implements integrations.Grants.
func (d Grants) End(ctx context.Context, grantID string, at time.Time) error {
	return wrap(d.q(ctx).Model(&grantRow{}).Where("id = ? AND ended_at IS NULL", grantID).Update("ended_at", at).Error)
}

// Consents implements integrations.Consents.
type Consents struct{ *DB }

type consentRow struct {
	UserID  string `gorm:"primaryKey"`
	AppID   string `gorm:"primaryKey"`
	Scopes  scopeList
	GivenAt time.Time
}

// TableName implements schema.Tabler.
func (consentRow) TableName() string { return "oauth_consents" }

func (r consentRow) consent() integrations.Consent {
	return integrations.Consent{UserID: r.UserID, AppID: r.AppID, Scopes: r.Scopes.scopes(), GivenAt: r.GivenAt}
}

// Upsert implements integrations.Consents.
func (d Consents) Upsert(ctx context.Context, c integrations.Consent) error {
	r := consentRow{UserID: c.UserID, AppID: c.AppID, Scopes: scopesOf(c.Scopes), GivenAt: c.GivenAt}
	replace := clause.OnConflict{Columns: columnsOf([]string{"user_id", "app_id"}), DoUpdates: clause.AssignmentColumns([]string{"scopes", "given_at"})}
	return orAppDeleted(d.q(ctx).Clauses(replace).Create(&r).Error)
}

// List implements integrations.Consents.
func (d Consents) List(ctx context.Context, userIDs []string, appID string, r page.Request) (out page.Result[integrations.Allowed], err error) {
	if r.Cursor != "" && !id.Valid(r.Cursor) {
		return out, errCursor
	}
	rows, out, err := listOf[consentRow, integrations.Allowed](ctx, d.DB, r, list{orderedBy: "app_id", locked: true, where: func(q *gorm.DB) *gorm.DB {
		if len(userIDs) == 1 {
			q = q.Where("user_id = ?", userIDs[0]) // in the order of the primary key
		} else {
			q = q.Where(d.dialect.In("user_id", userIDs))
		}
		if appID != "" {
			q = q.Where("app_id = ?", appID)
		}
		return q
	}})
	if err != nil || len(rows) == 0 {
		return out, err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.AppID
	}
	slices.Sort(ids)
	var apps []appRow
	if err := d.q(ctx).Select("id", "name", "description").Where("?", d.dialect.In("id", slices.Compact(ids))).Find(&apps).Error; err != nil {
		return out, wrap(err)
	}
	named := make(map[string]appRow, len(apps))
	for _, a := range apps {
		named[a.ID] = a
	}
	for _, row := range rows {
		a := named[row.AppID]
		out.Items = append(out.Items, integrations.Allowed{Consent: row.consent(), Name: a.Name, Description: a.Description})
	}
	return out, nil
}

// Delete implements integrations.Consents.
func (d Consents) Delete(ctx context.Context, userID string, f integrations.ConsentFilter) (n int, err error) {
	of := func(ctx context.Context, created string) *gorm.DB {
		q := d.q(ctx).Where("user_id = ?", userID)
		if f.AppID != "" {
			q = q.Where("app_id = ?", f.AppID)
		}
		if !f.Before.IsZero() {
			q = q.Where(created+" < ?", f.Before)
		}
		return q
	}
	err = d.Do(ctx, func(ctx context.Context) error {
		res := of(ctx, "given_at").Delete(&consentRow{})
		if n = int(res.RowsAffected); res.Error != nil {
			return wrap(res.Error)
		}
		return wrap(of(ctx, "created_at").Delete(&grantRow{}).Error)
	})
	return n, err
}
