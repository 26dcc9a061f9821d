package hiring

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
)

// DeletedName replaces the name of an applicant who has deleted their account.
const DeletedName = "Deleted user"

// erasedAtOnce is the maximum number of applications that are withdrawn per
// transaction.
const erasedAtOnce = 20

// OnAccountDeleted removes the personal data of an applicant. Employers keep the
// applications and their outcomes. Applications without a decision are withdrawn and
// their interviews cancelled. The applicant's texts, the notes about interviews, the
// messages to the applicant and the export files that may mention the applicant are
// deleted.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	err := tx.DoBatches(ctx, s.Tx, erasedAtOnce, func(ctx context.Context) (int, error) { return s.abandon(ctx, e.UserID) })
	if err != nil {
		return err
	}
	if err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.PersonalData.EraseByApplicant(ctx, e.UserID) }); err != nil {
		return err
	}
	return s.deleteExportsMentioning(ctx, e.UserID, e.DeletedAt)
}

// abandon withdraws some of the applications that are not withdrawn and returns their
// number.
func (s *Service) abandon(ctx context.Context, applicantID string) (int, error) {
	active, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{}, page.After("", erasedAtOnce))
	if err != nil {
		return 0, err
	}
	by := auth.Actor{UserID: applicantID}
	for i := range active.Items {
		a := &active.Items[i]
		if err := s.cancelInterview(ctx, by, a); err != nil {
			return 0, err
		}
		from := a.Status
		if err := s.storeWithdrawal(ctx, by, a, from, a.Abandon(s.Clock.Now())); err != nil {
			return 0, err
		}
	}
	return len(active.Items), nil
}

// deleteExportsMentioning deletes the exports of applications, begun by the given time,
// of every organization that the person has applied to. An export that is being written
// finds no row at its end and deletes its own file.
func (s *Service) deleteExportsMentioning(ctx context.Context, applicantID string, begun time.Time) error {
	const atOnce = 1_000
	for r := page.After("", atOnce); ; {
		applied, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{Withdrawn: OnlyWithdrawn}, r)
		if err != nil || len(applied.Items) == 0 {
			return err
		}
		f := ExportFilter{OrganizationIDs: list.Distinct(applied.Items, func(a Application) string { return a.OrganizationID }), Kind: "applications",
			Begun: true, CreatedBefore: begun.Add(time.Microsecond)}
		if err := s.deleteExports(ctx, f); err != nil {
			return err
		}
		if r.Cursor = applied.NextCursor; r.Cursor == "" {
			return nil
		}
	}
}

// deleteExports deletes the exports that the filter selects, with their files.
func (s *Service) deleteExports(ctx context.Context, f ExportFilter) error {
	const atOnce = 100
	for {
		found, err := s.Exports.List(ctx, f, atOnce)
		if err != nil || len(found) == 0 {
			return err
		}
		ids := make([]string, len(found))
		for i, e := range found {
			// The file is deleted first, because without its row it is not found.
			if err := s.Files.Delete(ctx, e.key()); err != nil {
				return err
			}
			ids[i] = e.ID
		}
		if err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.Exports.Delete(ctx, ids) }); err != nil {
			return err
		}
	}
}
