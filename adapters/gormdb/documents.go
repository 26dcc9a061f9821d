package gormdb

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Documents stores what is known of documents.
type Documents struct{ *DB }

type documentRow struct {
	ID        string `gorm:"primaryKey"`
	UserID    string
	Type      string
	Title     string
	FileName  string
	IsDefault bool
	FileID    string
	// FileExtension is that of the row of document_files.
	FileExtension string
	Size          int64
	Form          string
	MediaType     string
	UploadedAt    time.Time
	UpdatedAt     time.Time `gorm:"autoUpdateTime:false"`
}

// TableName tells GORM the table.
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

// Add implements jobseeker.Documents.
func (d Documents) Add(ctx context.Context, doc jobseeker.Document) error {
	r := toDocumentRow(doc)
	return wrap(d.q(ctx).Create(&r).Error)
}

// Save implements jobseeker.Documents.
func (d Documents) Save(ctx context.Context, doc jobseeker.Document) error {
	r := toDocumentRow(doc)
	res := d.q(ctx).Select("title", "file_name", "is_default", "file_id", "file_extension", "size", "form", "media_type", "updated_at").
		Where("id = ? AND user_id = ?", doc.ID, doc.UserID).Updates(&r)
	return one(res, jobseeker.ErrDocumentNotFound)
}

// ClearDefault implements jobseeker.Documents.
func (d Documents) ClearDefault(ctx context.Context, userID string, t jobseeker.DocumentType) error {
	return wrap(d.q(ctx).Exec("UPDATE documents SET is_default = FALSE WHERE user_id = ? AND type = ? AND is_default", userID, string(t)).Error)
}

// Find implements jobseeker.Documents.
func (d Documents) Find(ctx context.Context, userID, id string) (jobseeker.Document, error) {
	var r documentRow
	err := d.q(ctx).Where("id = ? AND user_id = ?", id, userID).Take(&r).Error
	return r.document(), orNotFound(err, jobseeker.ErrDocumentNotFound)
}

// Page implements jobseeker.Documents.
func (d Documents) Page(ctx context.Context, userID string, r page.Request) (page.Result[jobseeker.Document], error) {
	rows, out, err := pageOf[documentRow, jobseeker.Document](ctx, d.DB, nil, r, "user_id = ?", userID)
	out.Items = make([]jobseeker.Document, len(rows))
	for i, r := range rows {
		out.Items[i] = r.document()
	}
	return out, err
}

// Delete implements jobseeker.Documents.
func (d Documents) Delete(ctx context.Context, userID, id string) error {
	return one(d.q(ctx).Exec("DELETE FROM documents WHERE id = ? AND user_id = ?", id, userID), jobseeker.ErrDocumentNotFound)
}

// Usage implements jobseeker.Documents.
func (d Documents) Usage(ctx context.Context, userID string) (jobseeker.Usage, error) {
	var u struct {
		Documents int
		Bytes     int64
		CVs       int `gorm:"column:cvs"`
	}
	err := d.q(ctx).Raw(`SELECT COUNT(*) AS documents, COALESCE(SUM(size), 0) AS bytes, COUNT(CASE WHEN type = 'cv' THEN 1 END) AS cvs
		FROM documents WHERE user_id = ?`, userID).Scan(&u).Error
	return jobseeker.Usage{Documents: u.Documents, Bytes: u.Bytes, CVs: u.CVs}, wrap(err)
}

// DocumentFiles stores which files documents have and had.
type DocumentFiles struct{ *DB }

// Reserve implements jobseeker.DocumentFiles.
func (d DocumentFiles) Reserve(ctx context.Context, userID string, f jobseeker.DocumentFile, until time.Time) error {
	return wrap(d.q(ctx).Exec("INSERT INTO document_files (id, extension, user_id, free_at) VALUES (?, ?, ?, ?)", f.ID, f.Extension, userID, until).Error)
}

// Use implements jobseeker.DocumentFiles.
func (d DocumentFiles) Use(ctx context.Context, userID, id string, now time.Time) error {
	res := d.q(ctx).Exec("UPDATE document_files SET free_at = NULL WHERE id = ? AND user_id = ? AND free_at > ?", id, userID, now)
	return one(res, errNotFound)
}

// Free implements jobseeker.DocumentFiles.
func (d DocumentFiles) Free(ctx context.Context, userID, id string, at time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE document_files SET free_at = ? WHERE id = ? AND user_id = ?", at, id, userID).Error)
}

// FreeAll implements jobseeker.DocumentFiles.
func (d DocumentFiles) FreeAll(ctx context.Context, userID string, at time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE document_files SET free_at = ? WHERE user_id = ?", at, userID).Error)
}

// Due implements jobseeker.DocumentFiles.
func (d DocumentFiles) Due(ctx context.Context, now time.Time, n int) (due []jobseeker.DocumentFile, err error) {
	err = d.q(ctx).Raw("SELECT id, extension FROM document_files WHERE free_at IS NOT NULL AND free_at <= ? ORDER BY free_at, id LIMIT ?", now, n).Scan(&due).Error
	return due, wrap(err)
}

// PutOff implements jobseeker.DocumentFiles.
func (d DocumentFiles) PutOff(ctx context.Context, ids []string, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Exec("UPDATE document_files SET free_at = ? WHERE free_at IS NOT NULL AND ?", at, d.dialect.In("id", ids)).Error)
}

// Remove implements jobseeker.DocumentFiles.
func (d DocumentFiles) Remove(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Exec("DELETE FROM document_files WHERE free_at IS NOT NULL AND ?", d.dialect.In("id", ids)).Error)
}
