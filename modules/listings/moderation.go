package listings

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// ReportReason is why a visitor reported a listing.
type ReportReason string

// The reasons of reports.
const (
	ReportFraud          ReportReason = "fraud"
	ReportFees           ReportReason = "fees"
	ReportMisleading     ReportReason = "misleading"
	ReportDiscrimination ReportReason = "discrimination"
	ReportFilled         ReportReason = "filled"
	ReportOther          ReportReason = "other"
)

// ReportReasons returns all reasons.
func ReportReasons() []ReportReason {
	return []ReportReason{ReportFraud, ReportFees, ReportMisleading, ReportDiscrimination, ReportFilled, ReportOther}
}

// JobReport is a report of a listing by a visitor or a user.
type JobReport struct {
	ID        string
	ListingID string
	// ReporterID is the user who reported the listing, empty for a guest.
	ReporterID string
	Reason     ReportReason
	Text       string
	// Email is the address at which moderators can reach the reporter, or empty.
	Email     string
	CreatedAt time.Time
}

// CaseState is the state of a Case.
type CaseState string

// The states of a case. A new report opens a case again.
const (
	CaseOpen      CaseState = "open"
	CaseKept      CaseState = "kept"
	CaseTakenDown CaseState = "taken-down"
)

// Case is the record of the moderation of a listing. A listing gets a case when it is reported,
// found suspicious or held (hidden because of its organization), or when a moderator or
// operator decides about it.
type Case struct {
	// ID orders the queue of open cases. A case gets a new id whenever it is opened.
	ID             string
	ListingID      string
	OrganizationID string
	State          CaseState
	// Reports is the number of reports since the last decision.
	Reports int
	// Score is the suspicion score of the last version of the listing that was suspicious.
	Score int
	// Held is true if the listing is hidden because of the state of its organization. It ends
	// when a moderator decides about the listing or about the organization.
	Held bool
	// Note is the message to the employer with the last decision.
	Note string
	// DecidedBy is the moderator of the last decision. It is empty for an operator, and before the
	// first decision.
	DecidedBy string
	DecidedAt *time.Time
	OpenedAt  time.Time
}

// open puts the case into the queue, unless it is there already.
func (c *Case) open(id string, now time.Time) {
	if c.State != CaseOpen {
		c.ID = id
		c.State = CaseOpen
		c.OpenedAt = now
		c.Reports = 0
	}
}

// decidedByOperator is the value of DecidedBy after a decision of an operator, who has no account.
const decidedByOperator = ""

// decide ends the case with a decision.
func (c *Case) decide(state CaseState, by, note string, now time.Time) {
	c.State = state
	c.DecidedBy = by
	c.Note = note
	c.DecidedAt = &now
	c.Reports = 0
	c.Held = false
}

// isHiddenByOperator reports whether the listing of the case is hidden by the decision of an
// operator. Operators manage the installation, and only they can reverse their decisions.
func (c *Case) isHiddenByOperator(l *Listing) bool {
	isHiddenByDecision := l.HiddenAt != nil && !c.Held && c.DecidedAt != nil
	return isHiddenByDecision && c.DecidedBy == decidedByOperator
}

// CaseFilter selects cases; a zero field selects all.
type CaseFilter struct {
	State          CaseState
	OrganizationID string
	// ListingIDs are at most 100.
	ListingIDs []string
	// Held selects cases that are Held.
	Held bool
}

// Cases stores reports and cases.
type Cases interface {
	// CreateReport stores a report.
	CreateReport(ctx context.Context, r JobReport) error
	// ListReports returns the newest n reports of the listing, the newest first.
	ListReports(ctx context.Context, listingID string, n int) ([]JobReport, error)
	// EraseReporter removes the user id and the e-mail address from the user's reports.
	EraseReporter(ctx context.Context, userID string) error
	// Get returns the case of the listing, or a zero Case if there is none.
	Get(ctx context.Context, listingID string) (Case, error)
	// Upsert stores the case. The transaction must have locked the listing
	// (Repository.ListBySelection).
	Upsert(ctx context.Context, c Case) error
	// List returns cases in ascending order of id. The cursor is the id of the last
	// case.
	List(ctx context.Context, f CaseFilter, r page.Request) (page.Result[Case], error)
}

// ReportKind is the retention kind of reports. Their age is counted from CreatedAt.
const ReportKind retention.Kind = "listings.reports"

// reportLifetime is the time after which reports are deleted.
const reportLifetime = 365 * 24 * time.Hour

// ReportInput is a report.
type ReportInput struct {
	Reason string `json:"reason" validate:"required,oneof=fraud fees misleading discrimination filled other" sample:"fees"`
	Text   string `json:"text" validate:"max=2000" sample:"They ask for a registration fee."`
	Email  string `json:"email" validate:"omitzero,max=254,email"`
}

// ReportJob reports a public listing to the moderators. Guests can report, too.
func (s *Service) ReportJob(ctx context.Context, by auth.Actor, listingID string, in ReportInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	if by.AppID != "" { // only people report listings
		return auth.ErrScope
	}

	listing, err := s.GetPublic(ctx, listingID)
	if err != nil {
		return err
	}

	email, _ := text.ParseEmail(in.Email) // empty without an address; the input has been checked
	now := s.Clock.Now()
	report := JobReport{
		ID:         s.NewID(),
		ListingID:  listing.ID,
		ReporterID: by.UserID,
		Reason:     ReportReason(in.Reason),
		Text:       strings.TrimSpace(in.Text),
		Email:      email,
		CreatedAt:  now,
	}

	addToCase := func(c *Case) {
		c.open(s.NewID(), now)
		c.Reports++
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.changeCase(ctx, listing.OrganizationID, listing.ID, addToCase); err != nil {
			return err
		}

		return s.Cases.CreateReport(ctx, report)
	})
}

// changeCase changes the case of a listing with fn, in the transaction of ctx. It locks the
// listing, so that concurrent changes of the case wait.
func (s *Service) changeCase(ctx context.Context, organizationID, listingID string, fn func(c *Case)) error {
	if _, err := s.get(ctx, organizationID, listingID); err != nil {
		return asPublicError(err)
	}

	c, err := s.caseOf(ctx, organizationID, listingID)
	if err != nil {
		return err
	}

	fn(&c)

	return s.Cases.Upsert(ctx, c)
}

// caseOf returns the case of the listing. If none is stored, it returns a new case in the state
// CaseKept, so that Case.open puts it into the queue.
func (s *Service) caseOf(ctx context.Context, organizationID, listingID string) (Case, error) {
	c, err := s.Cases.Get(ctx, listingID)

	isMissing := err == nil && c.ListingID == ""
	if isMissing {
		c = Case{ID: s.NewID(), ListingID: listingID, OrganizationID: organizationID, State: CaseKept, OpenedAt: s.Clock.Now()}
	}

	return c, err
}

// screenForFraud opens a case if the listing, which was stored in the transaction of ctx, is
// suspicious. It ignores drafts, and changes that affect neither the status nor public
// fields.
func (s *Service) screenForFraud(ctx context.Context, before, l *Listing) error {
	isUnchanged := before.Status == l.Status && samePublicFields(before, l)
	if l.Status == Draft || isUnchanged {
		return nil
	}

	score, _ := Suspicion(l)
	if score < suspicionThreshold {
		return nil
	}

	c, err := s.caseOf(ctx, l.OrganizationID, l.ID)
	if err != nil {
		return err
	}

	// A moderator sees this suspicion in the queue already, or has decided about it.
	isKnownSuspicion := c.Score == score && !changesSuspicion(before, l)
	if isKnownSuspicion {
		return nil
	}

	c.Score = score
	c.open(s.NewID(), s.Clock.Now())

	return s.Cases.Upsert(ctx, c)
}

// DecisionInput is a moderator's decision.
type DecisionInput struct {
	// Message is for the employer.
	Message string `json:"message" validate:"max=2000" sample:"Employers must not ask applicants for fees."`
}

// Hide takes down a listing of any organization. It is for operators and authorizes no
// caller.
func (s *Service) Hide(ctx context.Context, listingID string) (Listing, error) {
	return s.moderate(ctx, listingID, decision{state: CaseTakenDown, actor: audit.Operator})
}

// Show makes a listing that was hidden visible again. It is for operators and authorizes no caller.
func (s *Service) Show(ctx context.Context, listingID string) (Listing, error) {
	return s.moderate(ctx, listingID, decision{state: CaseKept, actor: audit.Operator})
}

// TakeDown makes a listing of any organization not public, whatever its employer does
// afterwards. The employer and the applicants are notified. It requires a moderator.
func (s *Service) TakeDown(ctx context.Context, by auth.Actor, listingID string, in DecisionInput) (Listing, error) {
	if err := cmp.Or(by.RequireModerator(), valid.Check("", in)); err != nil {
		return Listing{}, err
	}

	return s.moderate(ctx, listingID, decision{state: CaseTakenDown, actor: by.UserID, note: strings.TrimSpace(in.Message)})
}

// Keep ends the case of a listing. If the listing was hidden, Keep makes it visible again, and the
// employer is notified. It fails if an operator has hidden the listing. It requires a moderator.
func (s *Service) Keep(ctx context.Context, by auth.Actor, listingID string, in DecisionInput) (Listing, error) {
	if err := cmp.Or(by.RequireModerator(), valid.Check("", in)); err != nil {
		return Listing{}, err
	}

	return s.moderate(ctx, listingID, decision{state: CaseKept, actor: by.UserID, note: strings.TrimSpace(in.Message)})
}

// decision is a decision about a listing.
type decision struct {
	state CaseState // CaseTakenDown or CaseKept
	actor string    // the id of the moderator, or audit.Operator
	note  string    // the message to the employer, may be empty
}

// auditEntry returns the entry of the decision for the audit log.
func (d decision) auditEntry(organizationID, listingID string) audit.Entry {
	action := audit.ListingShown
	if d.state == CaseTakenDown {
		action = audit.ListingHidden
	}

	return audit.Entry{Action: action, Actor: d.actor, OrganizationID: organizationID, Object: listingID}
}

// errHiddenByOperator is returned to a moderator who would reverse the decision of an operator.
var errHiddenByOperator = fault.New(fault.Conflict, "job_hidden_by_operator",
	"An operator has hidden the job; only an operator can show it")

// moderate hides or shows a listing of any organization, decides its case, and records the decision.
func (s *Service) moderate(ctx context.Context, listingID string, d decision) (listing Listing, err error) {
	organizationID, err := s.ownerOf(ctx, listingID)
	if err != nil {
		return listing, err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		var before visibility
		if listing, before, err = s.setVisibility(ctx, organizationID, listingID, d); err != nil {
			return err
		}

		// The change of the listing may have stored its case, so the case is read afterwards.
		c, err := s.caseOf(ctx, organizationID, listing.ID)
		if err != nil {
			return err
		}

		// A moderator who confirms the decision of an operator does not become its author.
		author := d.actor
		if d.actor == audit.Operator || before.isHiddenByOperator {
			author = decidedByOperator
		}

		now := s.Clock.Now()
		c.decide(d.state, author, d.note, now)

		if err := s.Cases.Upsert(ctx, c); err != nil {
			return err
		}

		if err := s.Audit.Record(ctx, d.auditEntry(organizationID, listing.ID)); err != nil {
			return err
		}

		// The event notifies the employer and the applicants of a change.
		if !before.isChangedBy(d) {
			return nil
		}

		return s.Events.Record(ctx, event.JobModerated{
			JobID:          listing.ID,
			OrganizationID: organizationID,
			Decision:       string(d.state),
			Message:        d.note,
			Reverses:       before.isTakenDown() && d.state == CaseKept,
			Public:         listing.Open,
			DecidedAt:      now,
		})
	})

	return listing, err
}

// visibility is whether, and why, a listing was hidden before a decision.
type visibility struct {
	isHidden           bool
	isHiddenByOperator bool // by a decision of an operator
	isHeld             bool // because of its organization
}

// isTakenDown reports whether a decision about the listing has hidden it.
func (v visibility) isTakenDown() bool { return v.isHidden && !v.isHeld }

// isChangedBy reports whether the decision hides or shows the listing. A held listing was not hidden by
// a decision about it, so that a decision to hide it counts as a change, too.
func (v visibility) isChangedBy(d decision) bool {
	return v.isHeld || v.isHidden != (d.state == CaseTakenDown)
}

// setVisibility hides or shows the listing, as the decision says. It returns the listing, and its
// visibility before the decision. It fails if a moderator would show a listing that an operator has
// hidden.
func (s *Service) setVisibility(
	ctx context.Context,
	organizationID, listingID string,
	d decision,
) (listing Listing, before visibility, err error) {
	listing, err = s.changeListingOf(ctx, organizationID, listingID, func(l *Listing, now time.Time) error {
		c, err := s.caseOf(ctx, organizationID, l.ID)
		if err != nil {
			return err
		}

		before = visibility{isHidden: l.HiddenAt != nil, isHiddenByOperator: c.isHiddenByOperator(l), isHeld: c.Held}

		isModerator := d.actor != audit.Operator
		if before.isHiddenByOperator && isModerator && d.state == CaseKept {
			return errHiddenByOperator
		}

		l.Unhide() // so that Hide sets the time of this decision

		if d.state == CaseTakenDown {
			l.Hide(now)
		}

		return nil
	})

	return listing, before, err
}

// ownerOf returns the organization of a listing in any state.
func (s *Service) ownerOf(ctx context.Context, listingID string) (string, error) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return "", ErrJobNotFound
	}

	found, err := s.Public.ListBriefs(ctx, []string{listingID}, s.Clock.Now())
	brief, err := list.First(found, err, ErrJobNotFound)

	return brief.OrganizationID, err
}

// ModeratedCase is a case with its listing. Score and Reasons are the result of Suspicion for the
// listing as it is now.
type ModeratedCase struct {
	Case
	Listing Listing
	Reasons []string
}

// Queue lists cases with their listings, in the order in which the cases were opened. It
// requires a moderator.
func (s *Service) Queue(ctx context.Context, by auth.Actor, f CaseFilter, r page.Request) (page.Result[ModeratedCase], error) {
	var none page.Result[ModeratedCase]
	if err := cmp.Or(by.RequireModerator(), r.CheckID()); err != nil {
		return none, err
	}

	if f.OrganizationID != "" {
		organizationID, isID := id.Canonical(f.OrganizationID)
		if !isID {
			return none, fault.InvalidField("organizationId", "must be the id of an organization")
		}

		f.OrganizationID = organizationID
	}

	cases, err := s.Cases.List(ctx, f, r)
	if err != nil {
		return none, err
	}

	listingsByID, err := s.listingsOf(ctx, cases.Items)
	if err != nil {
		return none, err
	}

	return page.WithItems(cases, list.Map(cases.Items, func(c Case) ModeratedCase {
		m := ModeratedCase{Case: c, Listing: listingsByID[c.ListingID]}
		m.Score, m.Reasons = Suspicion(&m.Listing)
		return m
	})), nil
}

// listingsOf returns the listings of the cases by their ids, with one query per organization.
func (s *Service) listingsOf(ctx context.Context, cases []Case) (map[string]Listing, error) {
	idsByOrganization := map[string][]string{}
	for _, c := range cases {
		idsByOrganization[c.OrganizationID] = append(idsByOrganization[c.OrganizationID], c.ListingID)
	}

	listingsByID := map[string]Listing{}
	for organizationID, ids := range idsByOrganization {
		ls, err := s.Listings.ListBySelection(ctx, organizationID, Selection{IDs: ids}, len(ids))
		if err != nil {
			return nil, err
		}

		for _, l := range ls {
			listingsByID[l.ID] = l
		}
	}

	return listingsByID, nil
}

// CaseDetail is a case with the newest reports of its listing.
type CaseDetail struct {
	ModeratedCase
	ReportList []JobReport
	// Duplicates are public listings of other organizations with the same text.
	Duplicates []Listing
}

const (
	// maxShownReports is the maximum number of reports of a CaseDetail.
	maxShownReports = 100
	// maxDuplicateTitle is the number of characters of a title with which duplicates are
	// searched. A longer text could exceed the limit of a search.
	maxDuplicateTitle = 80
)

// GetCase returns a listing in any state with its case and its reports. It requires a
// moderator.
func (s *Service) GetCase(ctx context.Context, by auth.Actor, listingID string) (out CaseDetail, err error) {
	if err := by.RequireModerator(); err != nil {
		return out, err
	}

	organizationID, err := s.ownerOf(ctx, listingID)
	if err != nil {
		return out, err
	}

	if out.Listing, err = s.get(ctx, organizationID, listingID); err != nil {
		return out, err
	}

	if out.Case, err = s.caseOf(ctx, organizationID, out.Listing.ID); err != nil {
		return out, err
	}

	out.Score, out.Reasons = Suspicion(&out.Listing)
	if out.Duplicates, err = s.duplicates(ctx, by, &out.Listing); err != nil {
		return out, err
	}

	for _, d := range out.Duplicates {
		out.Score = min(out.Score+duplicateScore, maxScore)
		out.Reasons = append(out.Reasons, "It has the text of a job of "+d.Company)
	}

	out.ReportList, err = s.Cases.ListReports(ctx, out.Listing.ID, maxShownReports)

	return out, err
}

// duplicates returns public listings of other organizations that have the same description. It
// searches for the title, and compares the descriptions of the results. If the search fails,
// it returns none, so that moderators can work without the search.
func (s *Service) duplicates(ctx context.Context, by auth.Actor, listing *Listing) ([]Listing, error) {
	title := []rune(listing.Title)

	searchText := string(title[:min(len(title), maxDuplicateTitle)])

	found, err := s.Find(ctx, by, FindInput{Text: searchText, Page: page.Request{Number: 1, Size: MaxBatch}})
	if err != nil {
		return nil, nil //nolint:nilerr // the moderator only misses a sign of fraud
	}

	isOwn := func(h Hit) bool { return h.Listing.OrganizationID == listing.OrganizationID }
	others := slices.DeleteFunc(found.Items, isOwn)

	if len(others) == 0 {
		return nil, nil
	}

	// The results of a search may lack descriptions.
	ids := list.Map(others, func(h Hit) string { return h.Listing.ID })
	candidates, err := s.Public.ListPublic(ctx, ids, s.Clock.Now())

	description := normalizedText(listing.Description)
	hasOtherText := func(other Listing) bool { return normalizedText(other.Description) != description }

	return slices.DeleteFunc(candidates, hasOtherText), err
}

// OnAccountDeleted removes the personal data of a user from their reports.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Cases.EraseReporter(ctx, e.UserID)
}

// Forget deletes reports that have expired.
func (s *Service) Forget(ctx context.Context) error {
	const batchSize = 1000
	return retention.DeleteAllBefore(ctx, s.Retention, ReportKind, s.Clock.Now().Add(-reportLifetime), batchSize)
}
