package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Documents implements jobseeker.Documents.
type Documents struct{ *DB }

type documentRow struct {
	ID        string `gorm:"primaryKey"`
	UserID    string
	Type      string
	Title     string
	FileName  string
	IsDefault bool
	FileID    string
	// FileExtension is a copy of documentFileRow.Extension.
	FileExtension string
	Size          int64
	Form          string
	MediaType     string
	UploadedAt    time.Time
	UpdatedAt     time.Time `gorm:"autoUpdateTime:false"`
}

// TableName implements schema.Tabler.
func (documentRow) TableName() string { return "documents" }

func (r documentRow) key() string { return r.ID }

func toDocumentRow(d jobseeker.Document) documentRow {
	return documentRow{ID: d.ID, UserID: d.UserID, Type: string(d.Type), Title: d.Title, FileName: d.FileName, IsDefault: d.IsDefault,
		FileID: d.File.ID, FileExtension: d.File.Extension, Size: d.Size, Form: string(d.Form), MediaType: d.MediaType, UploadedAt: d.UploadedAt, UpdatedAt: d.UpdatedAt}
}

func (r documentRow) document() jobseeker.Document {
	return jobseeker.Document{ID: r.ID, UserID: r.UserID, Type: jobseeker.DocumentType(r.Type), Title: r.Title, FileName: r.FileName, IsDefault: r.IsDefault,
		Content: jobseeker.Content{File: jobseeker.DocumentFile{ID: r.FileID, Extension: r.FileExtension}, Size: r.Size, Form: jobseeker.Form(r.Form), MediaType: r.MediaType}, UploadedAt: r.UploadedAt, UpdatedAt: r.UpdatedAt}
}

var errFileNotReserved = errors.New("the file of the document is not reserved")

// Upsert implements jobseeker.Documents.
func (d Documents) Upsert(ctx context.Context, doc jobseeker.Document) error {
	return d.Do(ctx, func(ctx context.Context) error {
		before, err := d.find(ctx, doc.UserID, doc.ID)
		if err != nil {
			return err
		}
		if doc.IsDefault {
			others := d.q(ctx).Model(&documentRow{}).Where("user_id = ? AND type = ? AND is_default AND id <> ?", doc.UserID, string(doc.Type), doc.ID)
			if err := others.UpdateColumn("is_default", false).Error; err != nil {
				return wrap(err)
			}
		}
		if before == nil || before.FileID != doc.File.ID {
			reserved := d.q(ctx).Model(&documentFileRow{}).Where("id = ? AND user_id = ? AND free_at > ?", doc.File.ID, doc.UserID, doc.UpdatedAt)
			if err := one(reserved.Update("free_at", nil), errFileNotReserved); err != nil {
				return err
			}
		}
		r := toDocumentRow(doc)
		if before == nil {
			return wrap(d.q(ctx).Create(&r).Error)
		}
		if before.FileID != doc.File.ID {
			if err := releaseFile(d.q(ctx), before.FileID, doc.UserID, doc.UpdatedAt); err != nil {
				return err
			}
		}
		return wrap(d.q(ctx).Select("title", "file_name", "is_default", "file_id", "file_extension", "size", "form", "media_type", "updated_at").
			Where("id = ? AND user_id = ?", doc.ID, doc.UserID).Updates(&r).Error)
	})
}

// find returns a document of the user, or nil.
func (d Documents) find(ctx context.Context, userID, id string) (*documentRow, error) {
	var rows []documentRow
	if err := d.q(ctx).Where("id = ? AND user_id = ?", id, userID).Limit(1).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, wrap(err)
	}
	return &rows[0], nil
}

// List implements jobseeker.Documents.
func (d Documents) List(ctx context.Context, userID string, f jobseeker.DocumentFilter, r page.Request) (page.Result[jobseeker.Document], error) {
	rows, out, err := listOf[documentRow, jobseeker.Document](ctx, d.DB, r, list{where: func(q *gorm.DB) *gorm.DB {
		if q = q.Where("user_id = ?", userID); f.ID != "" {
			q = q.Where("id = ?", f.ID)
		}
		return q
	}})
	out.Items = make([]jobseeker.Document, len(rows))
	for i, r := range rows {
		out.Items[i] = r.document()
	}
	return out, err
}

// Delete implements jobseeker.Documents.
func (d Documents) Delete(ctx context.Context, userID, id string, now time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		r, err := d.find(ctx, userID, id)
		if err != nil {
			return err
		}
		if r == nil {
			return jobseeker.ErrDocumentNotFound
		}
		if err := releaseFile(d.q(ctx), r.FileID, userID, now); err != nil {
			return err
		}
		return one(d.q(ctx).Where("id = ? AND user_id = ?", id, userID).Delete(&documentRow{}), jobseeker.ErrDocumentNotFound)
	})
}

// DocumentFiles implements jobseeker.DocumentFiles.
type DocumentFiles struct{ *DB }

// documentFileRow is a file of a document if FreeAt is nil, otherwise a file that is
// reserved until then or has been released then.
type documentFileRow struct {
	ID        string
	UserID    string
	FreeAt    *time.Time
	Extension string
}

// TableName implements schema.Tabler.
func (documentFileRow) TableName() string { return "document_files" }

func releaseFile(q *gorm.DB, id, userID string, at time.Time) error {
	return wrap(q.Model(&documentFileRow{}).Where("id = ? AND user_id = ?", id, userID).Update("free_at", at).Error)
}

// Reserve implements jobseeker.DocumentFiles.
func (d DocumentFiles) Reserve(ctx context.Context, userID string, f jobseeker.DocumentFile, until time.Time) error {
	res := createNew(d.q(ctx), &documentFileRow{ID: f.ID, UserID: userID, FreeAt: &until, Extension: f.Extension}, "id")
	if res.Error != nil || res.RowsAffected > 0 {
		return wrap(res.Error)
	}
	return wrap(d.q(ctx).Model(&documentFileRow{}).Where("id = ? AND user_id = ? AND free_at IS NOT NULL", f.ID, userID).Update("free_at", until).Error)
}

// Claim implements jobseeker.DocumentFiles.
func (d DocumentFiles) Claim(ctx context.Context, n int, now, until time.Time) (claimed []jobseeker.DocumentFile, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		claimed = nil
		var rows []documentFileRow
		err := d.skipLocked(ctx).Select("id", "extension").Where("free_at IS NOT NULL AND free_at <= ?", now).Order("free_at, id").Limit(n).Find(&rows).Error
		if err != nil || len(rows) == 0 {
			return wrap(err)
		}
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i], claimed = r.ID, append(claimed, jobseeker.DocumentFile{ID: r.ID, Extension: r.Extension})
		}
		return wrap(d.q(ctx).Model(&documentFileRow{}).Where("?", d.dialect.In("id", ids)).Update("free_at", until).Error)
	})
	return claimed, err
}

// Delete implements jobseeker.DocumentFiles.
func (d DocumentFiles) Delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Where("free_at IS NOT NULL AND ?", d.dialect.In("id", ids)).Delete(&documentFileRow{}).Error)
}
