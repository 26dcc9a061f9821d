package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// grants implements integrations.Grants.
type grants struct{ *DB }

// oauthGrantRow is a grant (RFC 6749): the access to an account that its user has given to an app. The tokens
// of an app belong to a grant and end with it.
type oauthGrantRow struct {
	ID        string
	AppID     string
	UserID    string
	Scopes    []integrations.Scope `gorm:"serializer:scopes"`
	CreatedAt time.Time
	ExpiresAt time.Time
	EndedAt   *time.Time
}

// oauthTokenRow is an authorization code, an access token or a refresh token, stored as a hash.
type oauthTokenRow struct {
	Hash    string
	GrantID string
	Kind    integrations.TokenKind
	Scopes  []integrations.Scope `gorm:"serializer:scopes"`
	// RedirectURI and Challenge (RFC 7636) are those of the request for an authorization code.
	RedirectURI string `gorm:"column:redirect_uri"`
	Challenge   string
	IssuedAt    time.Time
	ExpiresAt   time.Time
	// UsedAt is when the code or refresh token was exchanged for new tokens, or when the access
	// token was replaced. A used token does not work any more.
	UsedAt *time.Time
}

// orAppDeleted translates a foreign key violation, which means that the app was deleted, to
// ErrAppNotFound.
func orAppDeleted(err error) error {
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		return integrations.ErrAppNotFound
	}

	return wrap(err)
}

// Create implements integrations.Grants. newGrant is nil if the token belongs to an existing grant.
func (d grants) Create(ctx context.Context, token integrations.Token, newGrant *integrations.Grant) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if newGrant != nil {
			if err := d.conn(ctx).Create((*oauthGrantRow)(newGrant)).Error; err != nil {
				return orAppDeleted(err)
			}
		}

		return orAppDeleted(d.conn(ctx).Create((*oauthTokenRow)(&token)).Error)
	})
}

// Get implements integrations.Grants. It reads the token, its grant and its app with a join.
//
// Inside a transaction, it locks the token and the grant. FOR UPDATE locks the rows of every table of the
// join: the app, which many tokens share, is therefore read separately.
func (d grants) Get(ctx context.Context, kind integrations.TokenKind, hash string) (integrations.IssuedToken, error) {
	type tokenWithApp struct {
		Token oauthTokenRow `gorm:"embedded;embeddedPrefix:token_of_"`
		Grant oauthGrantRow `gorm:"embedded;embeddedPrefix:grant_of_"`
		App   appRow        `gorm:"embedded;embeddedPrefix:app_of_"`
	}
	locksRows := d.currentTx(ctx) != nil
	columns := columnsAs[oauthTokenRow](d.DB, "t", "token_of_") + ", " + columnsAs[oauthGrantRow](d.DB, "g", "grant_of_")

	q := d.locked(ctx).Table("oauth_grants AS g").Joins("JOIN oauth_tokens AS t ON t.grant_id = g.id")
	if !locksRows {
		q = q.Joins("JOIN apps AS a ON a.id = g.app_id")
		columns += ", " + columnsAs[appRow](d.DB, "a", "app_of_")
	}

	selected := q.Select(columns).Where("t.hash = ? AND t.kind = ?", hash, kind)

	row, err := takeRow[tokenWithApp](selected, integrations.ErrTokenNotFound)
	if err == nil && locksRows {
		row.App, err = takeRow[appRow](d.conn(ctx).Where("id = ?", row.Grant.AppID), integrations.ErrTokenNotFound)
	}

	return integrations.IssuedToken{
		Token: integrations.Token(row.Token),
		Grant: integrations.Grant(row.Grant),
		App:   row.App.app(),
	}, err
}

// Use implements integrations.Grants. It marks the token as used, and with it the access tokens of the
// grant, which then no longer work. It reports whether the token was not used before.
func (d grants) Use(ctx context.Context, grantID, hash string, at time.Time) (isFirstUse bool, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		res := d.conn(ctx).
			Model(&oauthTokenRow{}).
			Where("hash = ? AND grant_id = ? AND used_at IS NULL", hash, grantID).
			Update("used_at", at)

		isFirstUse = res.RowsAffected == 1
		if res.Error != nil || !isFirstUse {
			return wrap(res.Error)
		}

		accessTokens := d.conn(ctx).
			Model(&oauthTokenRow{}).
			Where("grant_id = ? AND kind = 'access' AND used_at IS NULL", grantID)

		return wrap(accessTokens.Update("used_at", at).Error)
	})

	return isFirstUse, err
}

// End implements integrations.Grants. The tokens of a grant that has ended no longer work.
func (d grants) End(ctx context.Context, grantID string, at time.Time) error {
	return wrap(d.conn(ctx).Model(&oauthGrantRow{}).Where("id = ? AND ended_at IS NULL", grantID).Update("ended_at", at).Error)
}

// consents implements integrations.Consents.
type consents struct{ *DB }

// oauthConsentRow is the consent of a user: the scopes for which the app does not ask again.
type oauthConsentRow struct {
	UserID  string
	AppID   string
	Scopes  []integrations.Scope `gorm:"serializer:scopes"`
	GivenAt time.Time
}

// Upsert implements integrations.Consents.
func (d consents) Upsert(ctx context.Context, c integrations.Consent) error {
	replace := updateOnConflict([]string{"user_id", "app_id"}, "scopes", "given_at")
	return orAppDeleted(d.conn(ctx).Clauses(replace).Create((*oauthConsentRow)(&c)).Error)
}

// List implements integrations.Consents. It lists the consents of the users, each with the name and the
// description of its app. Inside a transaction, it locks the consents until the end.
func (d consents) List(
	ctx context.Context,
	userIDs []string,
	appID string,
	request page.Request,
) (result page.Result[integrations.AppConsent], err error) {
	// A cursor is the id of an app. Databases refuse an invalid one, which a client may have forged.
	if request.Cursor != "" && !id.Valid(request.Cursor) {
		return result, errCursor
	}

	selected := func(q *gorm.DB) *gorm.DB { return whereEqual(whereIn(q, "user_id", userIDs), "app_id", appID) }
	query := listQuery{orderedBy: "app_id", locksRows: true, where: selected}

	rows, result, err := listRows[oauthConsentRow, integrations.AppConsent](ctx, d.DB, request, query)
	if err != nil || len(rows) == 0 {
		return result, err
	}

	ids := list.Distinct(rows, func(r oauthConsentRow) string { return r.AppID })
	apps, err := findRows(whereIn(d.conn(ctx).Select("id", "name", "description"), "id", ids), appRow.app)
	appByID := list.ToMap(apps, func(a integrations.App) (string, integrations.App) { return a.ID, a })
	result.Items = list.Map(rows, func(r oauthConsentRow) integrations.AppConsent {
		app := appByID[r.AppID]
		return integrations.AppConsent{Consent: integrations.Consent(r), Name: app.Name, Description: app.Description}
	})

	return result, err
}

// Delete implements integrations.Consents. It also deletes the grants, so that the tokens end at once.
func (d consents) Delete(ctx context.Context, userID string, f integrations.ConsentFilter) (n int, err error) {
	selected := func(ctx context.Context, timeColumn string) *gorm.DB {
		q := whereEqual(d.conn(ctx).Where("user_id = ?", userID), "app_id", f.AppID)
		return whereIfSet(q, timeColumn+" < ?", f.Before)
	}

	err = d.Do(ctx, func(ctx context.Context) error {
		res := selected(ctx, "given_at").Delete(&oauthConsentRow{})

		n = int(res.RowsAffected)
		if res.Error != nil {
			return wrap(res.Error)
		}

		return wrap(selected(ctx, "created_at").Delete(&oauthGrantRow{}).Error)
	})

	return n, err
}
