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

// emailChanges implements identity.EmailChanges. It stores the history of a user's e-mail address in two
// tables. One has the requested change, which the user has to confirm at the new address. The other one
// has the undos: an undo allows the owner of a previous address to restore it for some time.
type emailChanges struct{ *DB }

// emailChangeRow is the requested change of a user.
type emailChangeRow struct {
	UserID string
	identity.EmailChange
}

// emailUndoRow is the undo of one change of a user's address: the address before the change, and until when
// it can be restored. The user and the time of the change identify the row.
type emailUndoRow struct {
	UserID    string
	ChangedAt time.Time
	Email     string // the previous address
	EmailKey  string // the same for all spellings of the address
	ExpiresAt time.Time
}

// Get implements identity.EmailChanges. It reads the requested change, if there is one, and all undos, in
// the order of the changes. The history is empty if the user has neither.
func (d emailChanges) Get(ctx context.Context, userID string) (identity.EmailHistory, error) {
	history := identity.EmailHistory{UserID: userID}

	requested, err := takeRowIfAny[emailChangeRow](d.conn(ctx).Where("user_id = ?", userID))
	if err != nil {
		return history, err
	}

	if hasRow := requested.UserID != ""; hasRow {
		history.Requested = &requested.EmailChange
	}

	undoRows := d.conn(ctx).Where("user_id = ?", userID).Order("changed_at")
	undos, err := findRows(undoRows, func(r emailUndoRow) identity.EmailUndo {
		return identity.EmailUndo{Email: r.Email, Key: r.EmailKey, ChangedAt: r.ChangedAt, ExpiresAt: r.ExpiresAt}
	})
	history.Undos = append(history.Undos, undos...)

	return history, err
}

// Upsert implements identity.EmailChanges. It replaces all rows of the user.
func (d emailChanges) Upsert(ctx context.Context, history identity.EmailHistory) error {
	userID := history.UserID

	return d.Do(ctx, func(ctx context.Context) error {
		if err := deleteFrom(d.conn(ctx).Where("user_id = ?", userID), emailChangeRow{}, emailUndoRow{}); err != nil {
			return err
		}

		if history.Requested != nil {
			requested := emailChangeRow{UserID: userID, EmailChange: *history.Requested}
			if err := d.conn(ctx).Create(&requested).Error; err != nil {
				return wrap(err)
			}
		}

		undos := list.Map(history.Undos, func(u identity.EmailUndo) emailUndoRow {
			return emailUndoRow{UserID: userID, ChangedAt: u.ChangedAt, Email: u.Email, EmailKey: u.Key, ExpiresAt: u.ExpiresAt}
		})

		return createRows(d.conn(ctx), undos)
	})
}

// IsReserved implements identity.EmailChanges. It reports whether the address is reserved for another user
// than the given one. An address is reserved for the user who can still restore it.
func (d emailChanges) IsReserved(ctx context.Context, emailKey, userID string, now time.Time) (bool, error) {
	ofOthers := d.conn(ctx).
		Model(&emailUndoRow{}).
		Where("email_key = ? AND user_id <> ? AND expires_at > ?", emailKey, userID, now)

	return exists(ofOthers)
}

// employerSettings implements identity.EmployerSettingsStore.
type employerSettings struct{ *DB }

// employerSettingsRow contains the settings of a user who works for an employer.
type employerSettingsRow struct {
	UserID      string
	JobTitle    string
	Contact     identity.Contact `gorm:"embedded;embeddedPrefix:contact_"`
	EmailAlerts bool
	UpdatedAt   time.Time
	Version     int64
}

// Get implements identity.EmployerSettingsStore. Without a row, it returns the default settings.
func (d employerSettings) Get(ctx context.Context, userID string) (identity.EmployerSettings, error) {
	row, err := takeRowIfAny[employerSettingsRow](d.conn(ctx).Where("user_id = ?", userID))
	if isAbsent := row.UserID == ""; isAbsent {
		return identity.DefaultSettings(userID), err
	}

	return identity.EmployerSettings(row), err
}

// Upsert implements identity.EmployerSettingsStore. It increments the version of the settings. It returns
// errStale if another transaction has changed or created them since they were read.
func (d employerSettings) Upsert(ctx context.Context, s *identity.EmployerSettings) (err error) {
	row := employerSettingsRow(*s)
	row.Version++

	if isNew := s.Version == 0; isNew {
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

// invitationOptOutRow is a mailbox, a normalized e-mail address, that must not get invitations any more.
type invitationOptOutRow struct {
	Mailbox   string
	CreatedAt time.Time
}

// Create implements identity.OptOuts. If the mailbox has opted out already, the stored row remains.
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

// identityExpiry maps the kinds of data of module identity that expire to functions that delete them.
var identityExpiry = map[retention.Kind]expiry{
	identity.SessionKind:      deleteExpiredBy[sessionRow]("expires_at", "id"),
	identity.RefreshTokenKind: deleteExpiredBy[refreshTokenRow]("expires_at", "hash"),
	identity.MailTokenKind:    deleteExpiredBy[mailTokenRow]("expires_at", "hash"),
	identity.EmailChangeKind:  deleteExpiredBy[emailChangeRow]("requested_at", "user_id"),
	identity.EmailUndoKind:    deleteExpiredBy[emailUndoRow]("expires_at", "user_id", "changed_at"),
	identity.InvitationKind:   expireInvitations,
}

// expireInvitations deletes at most n invitations that expired before the time, and returns the number of
// deleted ones. An invitation to an address without an account has created a user with the status invited.
// expireInvitations deletes such a user, too, if it has no other invitation.
func expireInvitations(ctx context.Context, db *DB, before time.Time, n int) (deleted int, err error) {
	err = db.Do(ctx, func(ctx context.Context) error {
		var expired []membershipRow

		err := db.locked(ctx).
			Select("id", "organization_id", "user_id").
			Where("status = 'invited' AND invited_until < ?", before).
			Order("invited_until").
			Limit(n).
			Find(&expired).Error

		deleted = len(expired)
		if err != nil || deleted == 0 {
			return wrap(err)
		}

		ids := list.Map(expired, func(m membershipRow) string { return m.ID })
		userIDs := list.Map(expired, func(m membershipRow) string { return m.UserID })

		// The ids alone select the right rows. The condition on the users selects the same rows and no others. It
		// is added because the database finds rows by user_id in an index.
		invitations := db.conn(ctx).Where("? AND ?", db.dialect.In("user_id", userIDs), db.dialect.In("id", ids))
		if err := invitations.Delete(&membershipRow{}).Error; err != nil {
			return wrap(err)
		}

		return db.deleteUninvited(ctx, userIDs)
	})

	return deleted, err
}

// auditLog implements audit.Recorder and audit.Log.
type auditLog struct{ *DB }

// auditEntryRow is an entry of the audit log: Actor has done Action with Object.
type auditEntryRow struct {
	ID             string
	At             time.Time
	Action         audit.Action
	Actor          string
	OrganizationID string `gorm:"serializer:nullable_string"`
	Network        string // the part of the actor's IP address that is stored
	Object         string
	Detail         string
}

// Record implements audit.Recorder. It stores the entry, and sets the id, the time and the network of an
// entry without an id. An entry that has an id comes from an event and is already complete. The event may be
// handled twice, so an entry whose id is stored already is ignored.
func (d auditLog) Record(ctx context.Context, e audit.Entry) error {
	if e.ID == "" {
		e.ID = d.newID()
		e.At = d.clock.Now()
		e.Network = audit.NetworkOf(ctx)
	}

	return wrap(d.conn(ctx).Clauses(ignoreOnConflict([]string{"id"})).Create((*auditEntryRow)(&e)).Error)
}

// List implements audit.Log. It lists the entries that the filter selects, newest first. A field of the
// filter that is not set adds no condition.
func (d auditLog) List(ctx context.Context, f audit.Filter, request page.Request) (page.Result[audit.Entry], error) {
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

	// The list is ordered by id, which contains the time. Without a filter, the primary key is the best index
	// for that. The query may use it only because orderedBy is set: lists without orderedBy get a hint for the
	// database that excludes the primary key.
	return listPage(ctx, d.DB, request, listQuery{orderedBy: "id", where: selected},
		func(r auditEntryRow) audit.Entry { return audit.Entry(r) })
}
