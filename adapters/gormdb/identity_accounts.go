package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/identity"
)

// emailChanges implements identity.EmailChanges. The history of a user's e-mail address consists of a
// requested change, which has to be confirmed at the new address, and of undos, with which the
// owner of a previous address can restore it for some time.
type emailChanges struct{ *DB }

// emailChangeRow is the requested change of a user.
type emailChangeRow struct {
	UserID string
	identity.EmailChange
}

// emailUndoRow is the undo of a change. Email is the previous address, and EmailKey its unique form.
type emailUndoRow struct {
	UserID    string
	ChangedAt time.Time
	Email     string
	EmailKey  string
	ExpiresAt time.Time
}

// Get implements identity.EmailChanges.
func (d emailChanges) Get(ctx context.Context, userID string) (identity.EmailHistory, error) {
	h := identity.EmailHistory{UserID: userID}

	requested, err := takeRowIfAny[emailChangeRow](d.conn(ctx).Where("user_id = ?", userID))
	if err != nil {
		return h, err
	}

	if requested.UserID != "" { // there is a row
		h.Requested = &requested.EmailChange
	}

	undos, err := findRows(d.conn(ctx).Where("user_id = ?", userID).Order("changed_at"), func(r emailUndoRow) identity.EmailUndo {
		return identity.EmailUndo{Email: r.Email, Key: r.EmailKey, ChangedAt: r.ChangedAt, ExpiresAt: r.ExpiresAt}
	})
	h.Undos = append(h.Undos, undos...)

	return h, err
}

// Upsert implements identity.EmailChanges. It replaces all rows of the user.
func (d emailChanges) Upsert(ctx context.Context, h identity.EmailHistory) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := deleteFrom(d.conn(ctx).Where("user_id = ?", h.UserID), emailChangeRow{}, emailUndoRow{}); err != nil {
			return err
		}

		if h.Requested != nil {
			if err := d.conn(ctx).Create(&emailChangeRow{h.UserID, *h.Requested}).Error; err != nil {
				return wrap(err)
			}
		}

		undos := list.Map(h.Undos, func(u identity.EmailUndo) emailUndoRow {
			return emailUndoRow{UserID: h.UserID, ChangedAt: u.ChangedAt, Email: u.Email, EmailKey: u.Key, ExpiresAt: u.ExpiresAt}
		})

		return createRows(d.conn(ctx), undos)
	})
}

// IsReserved implements identity.EmailChanges. An address is reserved for the user who can still restore it.
func (d emailChanges) IsReserved(ctx context.Context, emailKey, userID string, now time.Time) (bool, error) {
	ofOthers := d.conn(ctx).
		Model(&emailUndoRow{}).
		Where("email_key = ? AND user_id <> ? AND expires_at > ?", emailKey, userID, now)

	return exists(ofOthers)
}

// employerSettings implements identity.EmployerSettingsStore.
type employerSettings struct{ *DB }

type employerSettingsRow struct {
	UserID      string
	JobTitle    string
	Contact     identity.Contact `gorm:"embedded;embeddedPrefix:contact_"`
	EmailAlerts bool
	UpdatedAt   time.Time
	Version     int64
}

// Get implements identity.EmployerSettingsStore.
func (d employerSettings) Get(ctx context.Context, userID string) (identity.EmployerSettings, error) {
	r, err := takeRowIfAny[employerSettingsRow](d.conn(ctx).Where("user_id = ?", userID))
	if r.UserID == "" { // there is no row
		return identity.DefaultSettings(userID), err
	}

	return identity.EmployerSettings(r), err
}

// Upsert implements identity.EmployerSettingsStore. Settings with the version 0 have no row yet.
func (d employerSettings) Upsert(ctx context.Context, s *identity.EmployerSettings) (err error) {
	row := employerSettingsRow(*s)

	row.Version++
	if s.Version == 0 {
		err = requireRow(createIfAbsent(d.conn(ctx), &row, "user_id"), errStale)
	} else {
		previous := d.conn(ctx).Model(&employerSettingsRow{}).Where("user_id = ? AND version = ?", s.UserID, s.Version)
		err = updateVersion(previous, &row, except{"user_id"})
	}

	if err == nil {
		s.Version++
	}

	return err
}

// optOuts implements identity.OptOuts.
type optOuts struct{ *DB }

// invitationOptOutRow is a mailbox that must not get invitations any more.
type invitationOptOutRow struct {
	Mailbox   string
	CreatedAt time.Time
}

// Create implements identity.OptOuts.
func (d optOuts) Create(ctx context.Context, mailbox string, at time.Time) error {
	row := invitationOptOutRow{Mailbox: mailbox, CreatedAt: at}
	return wrap(d.conn(ctx).Clauses(ignoreOnConflict([]string{"mailbox"})).Create(&row).Error)
}

// Exists implements identity.OptOuts.
func (d optOuts) Exists(ctx context.Context, mailbox string) (bool, error) {
	return exists(d.conn(ctx).Model(&invitationOptOutRow{}).Where("mailbox = ?", mailbox))
}

// personalData implements identity.PersonalData.
type personalData struct{ *DB }

// DeleteByUser implements identity.PersonalData. Refresh tokens and cookies are deleted
// with their sessions.
func (d personalData) DeleteByUser(ctx context.Context, userID string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		return deleteFrom(
			d.conn(ctx).Where("user_id = ?", userID),
			membershipRow{},
			sessionRow{},
			mailTokenRow{},
			emailChangeRow{},
			emailUndoRow{},
			employerSettingsRow{},
			recoveryCodeRow{},
			secondFactorRow{},
		)
	})
}

// identityExpiry contains the kinds of expiring rows of module identity.
var identityExpiry = map[retention.Kind]expiry{
	identity.SessionKind:      deleteExpiredBy[sessionRow]("expires_at", "id"),
	identity.RefreshTokenKind: deleteExpiredBy[refreshTokenRow]("expires_at", "hash"),
	identity.MailTokenKind:    deleteExpiredBy[mailTokenRow]("expires_at", "hash"),
	identity.EmailChangeKind:  deleteExpiredBy[emailChangeRow]("requested_at", "user_id"),
	identity.EmailUndoKind:    deleteExpiredBy[emailUndoRow]("expires_at", "user_id", "changed_at"),
	identity.InvitationKind:   expireInvitations,
}

// expireInvitations deletes at most n invitations that expired before the time, and invited users who
// have no other invitation. It returns the number of deleted invitations.
func expireInvitations(ctx context.Context, db *DB, before time.Time, n int) (total int, err error) {
	err = db.Do(ctx, func(ctx context.Context) error {
		var expired []membershipRow

		err := db.locked(ctx).
			Select("id", "organization_id", "user_id").
			Where("status = 'invited' AND invited_until < ?", before).
			Order("invited_until").
			Limit(n).
			Find(&expired).Error

		total = len(expired)
		if err != nil || total == 0 {
			return wrap(err)
		}

		ids := list.Map(expired, func(m membershipRow) string { return m.ID })
		userIDs := list.Map(expired, func(m membershipRow) string { return m.UserID })

		invitations := db.conn(ctx).Where("? AND ?", db.dialect.In("user_id", userIDs), db.dialect.In("id", ids))
		if err := invitations.Delete(&membershipRow{}).Error; err != nil {
			return wrap(err)
		}

		return db.deleteUninvited(ctx, userIDs)
	})

	return total, err
}

// auditLog implements audit.Recorder and audit.Log.
type auditLog struct{ *DB }

// auditEntryRow is an entry of the audit log: Actor has done Action with Object. Network is the part of the
// actor's IP address that is stored.
type auditEntryRow struct {
	ID             string
	At             time.Time
	Action         audit.Action
	Actor          string
	OrganizationID string `gorm:"serializer:nullable_string"`
	Network        string
	Object         string
	Detail         string
}

// Record implements audit.Recorder.
func (d auditLog) Record(ctx context.Context, e audit.Entry) error {
	if e.ID == "" {
		e.ID = d.newID()
		e.At = d.clock.Now()
		e.Network = audit.NetworkOf(ctx)
	}

	return wrap(d.conn(ctx).Clauses(ignoreOnConflict([]string{"id"})).Create((*auditEntryRow)(&e)).Error)
}

// List implements audit.Log.
func (d auditLog) List(ctx context.Context, f audit.Filter, r page.Request) (page.Result[audit.Entry], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		q = whereEqual(q, "organization_id", f.OrganizationID)

		q = whereEqual(q, "actor", f.Actor)
		if f.About != "" {
			q = q.Where("(actor = ? OR object = ?)", f.About, f.About)
		}

		q = whereEqual(q, "action", f.Action)
		q = whereIfSet(q, "at >= ?", f.From)

		return whereIfSet(q, "at < ?", f.To)
	}

	return listPage(ctx, d.DB, r, listQuery{orderedBy: "id", where: selected},
		func(r auditEntryRow) audit.Entry { return audit.Entry(r) })
}
