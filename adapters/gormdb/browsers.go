package gormdb

import (
	"context"

	"github.com/locumhq/locum/modules/identity"
)

// Browsers stores sign-ins by cookies.
type Browsers struct{ *DB }

// Open implements identity.Browsers.
func (d Browsers) Open(ctx context.Context, s identity.Session, hash string) error {
	r := newSessionRow(s)
	if err := d.q(ctx).Create(&r).Error; err != nil {
		return wrap(err)
	}
	return wrap(d.q(ctx).Exec("INSERT INTO browser_sessions (hash, session_id) VALUES (?, ?)", hash, s.ID).Error)
}

// Principal implements identity.Browsers.
func (d Browsers) Principal(ctx context.Context, hash string) (identity.Principal, error) {
	return d.principal(ctx, "s.id = (SELECT session_id FROM browser_sessions WHERE hash = ?)", hash)
}
