package gormdb

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/hiring"
)

// applicationDocuments implements hiring.Documents. A document of an application is a copy of the applicant's
// document, with a file of its own in the file store.
//
// A document is reserved before its file is copied, and attached to its application when the application is
// stored. It is released when the application does not need it any more. Claim returns the documents that
// are neither reserved nor attached, so that their files and then their rows are deleted.
type applicationDocuments struct{ *DB }

// applicationDocumentRow is a row of application_documents.
type applicationDocumentRow struct {
	hiring.Document
	// FreeAt is nil if the document is attached to an application. Otherwise the file can be
	// deleted from this time on: the end of the reservation, or the time of the release.
	FreeAt *time.Time
}

// TableName implements schema.Tabler.
func (applicationDocumentRow) TableName() string { return "application_documents" }

// errDocumentsNotReserved is the error of Attach if a reservation has ended.
var errDocumentsNotReserved = errors.New("the documents of the application are not reserved")

// Reserve implements hiring.Documents.
func (d applicationDocuments) Reserve(ctx context.Context, doc hiring.Document, until time.Time) error {
	return wrap(d.conn(ctx).Create(&applicationDocumentRow{Document: doc, FreeAt: &until}).Error)
}

// ofApplication returns a query for the documents of an application of the applicant.
func (d applicationDocuments) ofApplication(ctx context.Context, applicantID, applicationID string) *gorm.DB {
	return d.conn(ctx).Model(&applicationDocumentRow{}).Where("application_id = ? AND applicant_id = ?", applicationID, applicantID)
}

// Attach implements hiring.Documents. It attaches the n documents that were reserved for the application.
func (d applicationDocuments) Attach(ctx context.Context, applicantID, applicationID string, n int, now time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		attached := d.ofApplication(ctx, applicantID, applicationID).Where("free_at > ?", now).Update("free_at", nil)
		if attached.Error == nil && attached.RowsAffected != int64(n) {
			return errDocumentsNotReserved
		}

		return wrap(attached.Error)
	})
}

// List implements hiring.Documents. It lists the documents of an application that the user with the
// visibility v can see: that of the user's organization, or the user's own one.
func (d applicationDocuments) List(ctx context.Context, v hiring.Visibility, applicationID string) ([]hiring.Document, error) {
	visible := d.conn(ctx).Where("application_id = ? AND free_at IS NULL", applicationID)
	switch {
	case v.OrganizationID != "" && v.ApplicantID != "":
		visible = visible.Where("(organization_id = ? OR applicant_id = ?)", v.OrganizationID, v.ApplicantID)
	case v.OrganizationID != "":
		visible = visible.Where("organization_id = ?", v.OrganizationID)
	case v.ApplicantID != "":
		visible = visible.Where("applicant_id = ?", v.ApplicantID)
	default: // the user sees no application
		return []hiring.Document{}, nil
	}

	return findRows(visible.Order("id"), func(r applicationDocumentRow) hiring.Document { return r.Document })
}

// Release implements hiring.Documents. It erases the names of the documents at once. Claim then returns their files for
// deletion.
func (d applicationDocuments) Release(ctx context.Context, applicantID, applicationID string, now time.Time) (int, error) {
	res := d.ofApplication(ctx, applicantID, applicationID).Updates(map[string]any{"free_at": now, "title": "", "file_name": ""})
	return int(res.RowsAffected), wrap(res.Error)
}

// Claim implements hiring.Documents. It returns up to n documents that no application has, and sets their free_at to
// until, so that other calls do not return them before that time.
func (d applicationDocuments) Claim(ctx context.Context, n int, now, until time.Time) (claimed []hiring.Document, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		q := d.skipLocked(ctx).Select("id", "extension").Where("free_at IS NOT NULL AND free_at <= ?", now).Order("free_at, id").Limit(n)

		claimed, err = findRows(q, func(r applicationDocumentRow) hiring.Document { return r.Document })
		if err != nil || len(claimed) == 0 {
			return err
		}

		ids := list.Map(claimed, func(c hiring.Document) string { return c.ID })

		return wrap(whereIn(d.conn(ctx).Model(&applicationDocumentRow{}), "id", ids).Update("free_at", until).Error)
	})

	return claimed, err
}

// Delete implements hiring.Documents. It deletes the rows of documents whose files were deleted.
func (d applicationDocuments) Delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	return wrap(whereIn(d.conn(ctx).Where("free_at IS NOT NULL"), "id", ids).Delete(&applicationDocumentRow{}).Error)
}
