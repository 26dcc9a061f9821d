package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// documents implements jobseeker.Documents. A document describes a file that a jobseeker has
// uploaded. The file itself is in a file store; its id and extension are the key in that store.
//
// A file is reserved for a user before it is uploaded. Upsert then assigns it to a document. A file that
// its document does not need any more is released: documentFiles.Claim returns it for deletion.
type documents struct{ *DB }

// documentRow is a row of documents.
type documentRow struct {
	ID        string
	UserID    string
	Type      jobseeker.DocumentType
	Title     string
	FileName  string
	IsDefault bool
	// File identifies the documentFileRow of the file. File.Extension is a copy of its Extension.
	File       jobseeker.DocumentFile `gorm:"embedded;embeddedPrefix:file_"`
	Size       int64
	Form       jobseeker.Form
	MediaType  string
	UploadedAt time.Time
	UpdatedAt  time.Time
}

// newDocumentRow returns the row that stores the document.
func newDocumentRow(document jobseeker.Document) documentRow {
	return documentRow{
		ID:         document.ID,
		UserID:     document.UserID,
		Type:       document.Type,
		Title:      document.Title,
		FileName:   document.FileName,
		IsDefault:  document.IsDefault,
		File:       document.File,
		Size:       document.Size,
		Form:       document.Form,
		MediaType:  document.MediaType,
		UploadedAt: document.UploadedAt,
		UpdatedAt:  document.UpdatedAt,
	}
}

// document returns the document of the row.
func (r documentRow) document() jobseeker.Document {
	return jobseeker.Document{
		ID:        r.ID,
		UserID:    r.UserID,
		Type:      r.Type,
		Title:     r.Title,
		FileName:  r.FileName,
		IsDefault: r.IsDefault,
		Content: jobseeker.Content{
			File:      r.File,
			Size:      r.Size,
			Form:      r.Form,
			MediaType: r.MediaType,
		},
		UploadedAt: r.UploadedAt,
		UpdatedAt:  r.UpdatedAt,
	}
}

// errFileNotReserved is the error of Upsert if the reservation of a file has ended.
var errFileNotReserved = errors.New("the file of the document is not reserved")

// Upsert implements jobseeker.Documents. A new file of the document must have been reserved for the
// user, else Upsert returns errFileNotReserved. The previous file is released.
func (d documents) Upsert(ctx context.Context, doc jobseeker.Document) error {
	return d.Do(ctx, func(ctx context.Context) error {
		stored := func() *gorm.DB { return d.conn(ctx).Where("id = ? AND user_id = ?", doc.ID, doc.UserID) }

		previous, err := takeRowIfAny[documentRow](stored()) // a zero row for a new document
		if err != nil {
			return err
		}

		isNew := previous.ID == ""
		hasNewFile := previous.File.ID != doc.File.ID

		// There is one default document of each type.
		if doc.IsDefault {
			others := d.conn(ctx).
				Model(&documentRow{}).
				Where("user_id = ? AND type = ? AND is_default AND id <> ?", doc.UserID, doc.Type, doc.ID)
			if err := others.UpdateColumn("is_default", false).Error; err != nil {
				return wrap(err)
			}
		}

		// Take the file out of its reservation: a file with free_at NULL belongs to a document.
		if hasNewFile {
			reserved := d.conn(ctx).
				Model(&documentFileRow{}).
				Where("id = ? AND user_id = ? AND free_at > ?", doc.File.ID, doc.UserID, doc.UpdatedAt)
			if err := requireRow(reserved.Update("free_at", nil), errFileNotReserved); err != nil {
				return err
			}
		}

		row := newDocumentRow(doc)
		if isNew {
			return wrap(d.conn(ctx).Create(&row).Error)
		}

		if hasNewFile {
			if err := releaseFile(d.conn(ctx), previous.File.ID, doc.UserID, doc.UpdatedAt); err != nil {
				return err
			}
		}

		// A document never changes its type, nor the time of its first upload. Without Select("*"),
		// GORM would not store zero values, such as IsDefault false.
		unchanged := []string{"id", "user_id", "type", "uploaded_at"}

		return wrap(stored().Select("*").Omit(unchanged...).Updates(&row).Error)
	})
}

// List implements jobseeker.Documents. It lists the documents of the user, newest first.
func (d documents) List(
	ctx context.Context,
	userID string,
	f jobseeker.DocumentFilter,
	request page.Request,
) (page.Result[jobseeker.Document], error) {
	selected := func(q *gorm.DB) *gorm.DB { return whereEqual(q.Where("user_id = ?", userID), "id", f.ID) }
	return listPage(ctx, d.DB, request, listQuery{where: selected}, documentRow.document)
}

// Delete implements jobseeker.Documents. It also releases the file of the document.
func (d documents) Delete(ctx context.Context, userID, id string, now time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		stored := func() *gorm.DB { return d.conn(ctx).Where("id = ? AND user_id = ?", id, userID) }

		document, err := takeRow[documentRow](stored(), jobseeker.ErrDocumentNotFound)
		if err != nil {
			return err
		}

		if err := releaseFile(d.conn(ctx), document.File.ID, userID, now); err != nil {
			return err
		}

		return requireRow(stored().Delete(&documentRow{}), jobseeker.ErrDocumentNotFound)
	})
}

// documentFiles implements jobseeker.DocumentFiles. Each file in the file store has a row, so that
// files that no document uses can be found and deleted.
type documentFiles struct{ *DB }

// documentFileRow is a row of document_files.
type documentFileRow struct {
	jobseeker.DocumentFile
	UserID string
	// FreeAt is nil if the file belongs to a document. Otherwise the file can be deleted from this
	// time on: the end of its reservation, or the time of its release.
	FreeAt *time.Time
}

// releaseFile marks a file of the user as unused since the given time. Claim then returns it for
// deletion.
func releaseFile(q *gorm.DB, id, userID string, at time.Time) error {
	return wrap(q.Model(&documentFileRow{}).Where("id = ? AND user_id = ?", id, userID).Update("free_at", at).Error)
}

// Reserve implements jobseeker.DocumentFiles. If the file has a row already, it extends the reservation,
// unless a document uses the file.
func (d documentFiles) Reserve(ctx context.Context, userID string, f jobseeker.DocumentFile, until time.Time) error {
	created := createIfAbsent(d.conn(ctx), &documentFileRow{DocumentFile: f, UserID: userID, FreeAt: &until}, "id")
	if created.Error != nil || created.RowsAffected > 0 {
		return wrap(created.Error)
	}

	unused := d.conn(ctx).Model(&documentFileRow{}).Where("id = ? AND user_id = ? AND free_at IS NOT NULL", f.ID, userID)

	return wrap(unused.Update("free_at", until).Error)
}

// Claim implements jobseeker.DocumentFiles. It returns up to n files that no document uses, and sets
// their free_at to until, so that other calls do not return them before that time.
func (d documentFiles) Claim(ctx context.Context, n int, now, until time.Time) (claimed []jobseeker.DocumentFile, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		q := d.skipLocked(ctx).Select("id", "extension").Where("free_at IS NOT NULL AND free_at <= ?", now).Order("free_at, id").Limit(n)

		claimed, err = findRows(q, func(r documentFileRow) jobseeker.DocumentFile { return r.DocumentFile })
		if err != nil || len(claimed) == 0 {
			return err
		}

		ids := list.Map(claimed, func(f jobseeker.DocumentFile) string { return f.ID })

		return wrap(whereIn(d.conn(ctx).Model(&documentFileRow{}), "id", ids).Update("free_at", until).Error)
	})

	return claimed, err
}

// Delete implements jobseeker.DocumentFiles. It deletes the rows of files that were deleted from the file store,
// unless a document uses them.
func (d documentFiles) Delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	return wrap(whereIn(d.conn(ctx).Where("free_at IS NOT NULL"), "id", ids).Delete(&documentFileRow{}).Error)
}
