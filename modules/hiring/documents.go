package hiring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/task"
)

// The documents of an application are copies, so that later changes of the originals do not change
// the application. Each copy has a row and a file. The row is stored (reserved) before the file is
// written, so that the file can be found and deleted if the application is never stored. A task
// deletes the file and the row of a released document.
//
//	reserved ──▶ written ──▶ attached to the application ──▶ released ──▶ deleted
//	    └────────────┴────── no application within an hour ─────▲

// MaxDocuments is the maximum number of documents of an application.
const MaxDocuments = 5

// Document is a copy of an applicant's document.
type Document struct {
	ID             string
	ApplicationID  string
	OrganizationID string // of the application
	ApplicantID    string
	Type           string
	Title          string
	// FileName is the name under which a client saves the file.
	FileName  string
	MediaType string
	// Extension is the extension for the media type, with its dot.
	Extension  string
	Size       int64 // in bytes
	AttachedAt time.Time
}

// key returns the key of the document's file in the file store.
func (d Document) key() string { return "applications/" + d.ID + d.Extension }

const (
	// reservedFor is the time within which a file must be attached to its application.
	reservedFor = time.Hour
	// discardTimeout is the timeout for releasing the documents of a refused application.
	discardTimeout = 2 * time.Second
	// filesRetryAfter is the Retry-After value while the file store is unavailable.
	filesRetryAfter = 10 * time.Second
)

const (
	// kindRemoveFiles is the kind of the task that deletes the files of released documents.
	kindRemoveFiles = "hiring.remove-files"
	// removeTimeout is the timeout of the task that deletes the files.
	removeTimeout = 5 * time.Minute
	// removeBatch is the maximum number of documents that the task claims at a time.
	removeBatch = 100
	// removeRetryAfter is the delay after a failed deletion of a file.
	removeRetryAfter = 10 * time.Minute
)

// copyDocuments copies documents of the applicant for an application that the caller is about
// to store. If one cannot be copied, it discards the others.
func (s *Service) copyDocuments(ctx context.Context, a Application, documentIDs []string) error {
	for _, documentID := range documentIDs {
		if err := s.copyDocument(ctx, a, documentID); err != nil {
			s.discardDocuments(ctx, a)
			return err
		}
	}

	return nil
}

// discardDocuments releases the copies for an application that will not be stored. It ignores errors,
// because a reservation that is not attached is released later anyway.
func (s *Service) discardDocuments(ctx context.Context, a Application) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()

	_ = s.Tx.Do(ctx, func(ctx context.Context) error { return s.releaseDocuments(ctx, &a) })
}

// copyDocument reserves a copy of the document and writes its file. A failure after the reservation
// leaves the row. By this row, the file is found and deleted later.
func (s *Service) copyDocument(ctx context.Context, application Application, documentID string) error {
	original, err := s.ApplicantDocuments.Read(ctx, application.ApplicantID, documentID)
	if err != nil {
		return err
	}

	document := Document{
		ID:             s.NewID(),
		ApplicationID:  application.ID,
		OrganizationID: application.OrganizationID,
		ApplicantID:    application.ApplicantID,
		Type:           original.Type,
		Title:          original.Title,
		FileName:       original.FileName,
		MediaType:      original.MediaType,
		Extension:      original.Extension,
		Size:           int64(len(original.Body)),
		AttachedAt:     application.AppliedAt,
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Documents.Reserve(ctx, document, s.Clock.Now().Add(reservedFor))
	})
	if err != nil {
		return err
	}

	err = s.Files.Put(ctx, document.key(), func(w io.Writer) error {
		_, err := w.Write(original.Body)
		return err
	})

	return filesUnavailable(err)
}

// filesUnavailable returns fault.ErrUnavailable for an error of the file store that is not
// a fault. It returns a fault, and nil, unchanged.
func filesUnavailable(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}

	return fault.ErrUnavailable.WithReason("files").WithCause(err).WithRetryAfter(filesRetryAfter)
}

// releaseDocuments releases the documents of an application, and adds a task that deletes
// their files.
func (s *Service) releaseDocuments(ctx context.Context, a *Application) error {
	released, err := s.Documents.Release(ctx, a.ApplicantID, a.ID, s.Clock.Now())
	if err != nil || released == 0 {
		return err
	}

	return s.Tasks.Add(ctx, task.New(kindRemoveFiles, task.Maintenance, kindRemoveFiles+"/"+a.ID, struct{}{}))
}

// removeFiles deletes the files of released documents, and then the documents themselves. A document
// whose file cannot be deleted is claimed again after removeRetryAfter and does not delay the others.
func (s *Service) removeFiles(ctx context.Context) error {
	var errs []error
	for {
		now := s.Clock.Now()

		claimed, err := s.Documents.Claim(ctx, removeBatch, now, now.Add(removeRetryAfter))
		if err != nil {
			return errors.Join(append(errs, err)...)
		}

		var deletedIDs []string
		for _, d := range claimed {
			if err := s.Files.Delete(ctx, d.key()); err != nil {
				errs = append(errs, err)
			} else {
				deletedIDs = append(deletedIDs, d.ID)
			}
		}

		if err := s.Documents.Delete(ctx, deletedIDs); err != nil {
			return errors.Join(append(errs, err)...)
		}

		wasLastBatch := len(claimed) < removeBatch
		if wasLastBatch {
			return errors.Join(errs...)
		}
	}
}

// parseDocumentIDs returns the ids in their stored form, without duplicates. It returns a
// fault for an invalid id and for more than MaxDocuments.
func parseDocumentIDs(texts []string) ([]string, error) {
	var ids []string
	for _, text := range texts {
		documentID, err := canonical(text, ErrDocumentNotFound)
		if err != nil {
			return nil, err
		}

		if !slices.Contains(ids, documentID) {
			ids = append(ids, documentID)
		}
	}

	if len(ids) > MaxDocuments {
		return nil, fault.InvalidField("documentIds", fmt.Sprintf("must have at most %d items", MaxDocuments))
	}

	return ids, nil
}

// ReceivedDocuments lists the documents of an application to the organization.
func (s *Service) ReceivedDocuments(ctx context.Context, by auth.Actor, applicationID string) ([]Document, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return nil, err
	}

	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return nil, err
	}

	return s.Documents.List(ctx, Visibility{OrganizationID: by.OrganizationID}, application.ID)
}

// OpenReceivedDocument opens the file of a document of an application to the organization.
// The caller closes its body.
func (s *Service) OpenReceivedDocument(
	ctx context.Context,
	by auth.Actor,
	applicationID, documentID string,
) (document Document, body io.ReadCloser, err error) {
	documents, err := s.ReceivedDocuments(ctx, by, applicationID)
	if err != nil {
		return Document{}, nil, err
	}

	return s.openDocument(ctx, documents, documentID)
}

// OpenMyDocument opens the file of a document that the caller has sent with an application.
// The caller closes its body.
func (s *Service) OpenMyDocument(
	ctx context.Context,
	by auth.Actor,
	applicationID, documentID string,
) (document Document, body io.ReadCloser, err error) {
	application, err := s.getOwn(ctx, by, applicationID)
	if err != nil {
		return Document{}, nil, err
	}

	documents, err := s.Documents.List(ctx, Visibility{ApplicantID: by.UserID}, application.ID)
	if err != nil {
		return Document{}, nil, err
	}

	return s.openDocument(ctx, documents, documentID)
}

// openDocument opens the file of the document with the id among the given documents.
func (s *Service) openDocument(ctx context.Context, documents []Document, documentID string) (Document, io.ReadCloser, error) {
	documentID, err := canonical(documentID, ErrDocumentNotFound)
	if err != nil {
		return Document{}, nil, err
	}

	i := slices.IndexFunc(documents, func(d Document) bool { return d.ID == documentID })
	if i < 0 {
		return Document{}, nil, ErrDocumentNotFound
	}

	document := documents[i]

	body, _, err := s.Files.Open(ctx, document.key())
	switch {
	case errors.Is(err, files.ErrNotFound):
		return Document{}, nil, ErrDocumentNotFound // the document was released meanwhile
	case err != nil:
		return Document{}, nil, filesUnavailable(err)
	}

	return document, body, nil
}
