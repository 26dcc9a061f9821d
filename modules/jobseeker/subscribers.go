package jobseeker

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// Subscriber is an e-mail address without an account that gets alerts about new jobs. Its
// searches are stored as those of a user with the id of the subscriber.
type Subscriber struct {
	ID    string
	Email string
	// Mailbox is equal for all spellings of the address.
	Mailbox   string
	CreatedAt time.Time
}

// AlertInput is a search whose new matches are to be sent to an e-mail address.
type AlertInput struct {
	Email        string `json:"email" validate:"required,max=254,email"`
	Query        string `json:"query" validate:"max=200"`
	Location     string `json:"location" validate:"max=200"`
	ContractType string `json:"contractType" validate:"oneof='' permanent temporary contract"`
}

// Problems returns that an alert needs one of the terms.
func (in AlertInput) Problems() []fault.Field { return in.search().Problems() }

func (in AlertInput) search() SaveSearchInput {
	return SaveSearchInput{Query: in.Query, Location: in.Location, ContractType: in.ContractType}
}

const (
	confirmAlertKind = "jobseeker.confirm-alert"
	// confirmWithin is the lifetime of the link that confirms an alert.
	confirmWithin = 48 * time.Hour
	// maxAlerts is the maximum number of alerts of a subscriber.
	maxAlerts = 10
)

// The limits of requests for alerts: a mailbox must not be flooded with mails that its
// owner did not ask for.
var (
	alertsPerMailbox = limit.Rule{Name: "job-alerts", Max: 3, Per: time.Hour}
	alertsPerClient  = limit.Rule{Name: "job-alerts.client", Max: 20, Per: time.Hour}
)

// RequestAlert mails a link to the address with which its owner confirms the alert. Nothing
// is stored until then: the link contains the search. clientIP is the address of the
// client.
func (s *SearchService) RequestAlert(ctx context.Context, in AlertInput, clientIP string) error {
	if err := valid.Check("", in); err != nil {
		return err
	}
	email, _ := text.ParseEmail(in.Email)
	in.Email = email
	if err := s.takeAlertLimits(ctx, email, clientIP); err != nil {
		return err
	}
	return s.Tasks.Add(ctx, task.New(confirmAlertKind, task.Mail, confirmAlertKind+"/"+s.NewID(), alertRequest{in, s.NewID(), s.Clock.Now()}))
}

func (s *SearchService) takeAlertLimits(ctx context.Context, email, clientIP string) error {
	decision, err := s.Limiter.Take(ctx, alertsPerClient, audit.Prefix(clientIP, 32, 64))
	if err = cmp.Or(err, decision.Err()); err != nil {
		return err
	}
	decision, err = s.Limiter.Take(ctx, alertsPerMailbox, s.Mailboxes.Key(email))
	return cmp.Or(err, decision.Err())
}

// alertRequest is the payload of the task that mails the link of an alert.
type alertRequest struct {
	AlertInput
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// sendAlertLink mails the link that confirms an alert.
func (s *SearchService) sendAlertLink(ctx context.Context, r alertRequest) error {
	subject, err := json.Marshal(r.AlertInput)
	if err != nil {
		return task.Permanent(err)
	}
	token, err := s.Sealer.Seal(auth.ForAlert, base64.RawURLEncoding.EncodeToString(subject), r.At.Add(confirmWithin))
	if err != nil {
		return err
	}
	link := s.PublicURL + "/job-alerts/confirm?token=" + url.QueryEscape(token)
	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID: "confirm-alert-" + r.ID, To: mail.Address{Email: r.Email}, Subject: "Confirm your job alert",
		Body: []mail.Block{
			{Text: "You asked for e-mails about new jobs for this search: " + oneLine(r.search().terms().String()) + "."},
			{Link: &mail.Link{Label: "Confirm your job alert", URL: link}},
			{Text: "The link is valid for two days. If you did not ask for this, ignore this e-mail: you will not get another one."},
		},
		Home: s.PublicURL,
	})
}

// ConfirmAlert stores the alert of a link. A second use of the link changes nothing. It
// returns fault.ErrUnauthorized for a token that is invalid or has expired.
func (s *SearchService) ConfirmAlert(ctx context.Context, token string) (search Search, err error) {
	in, err := s.openAlertLink(token)
	if err != nil {
		return search, err
	}
	search = Search{Name: in.search().terms().String(), Terms: in.search().terms(), EmailAlerts: true}
	if search.Resolved, err = s.resolve(ctx, search.Query); err != nil {
		return search, err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		subscriber, err := s.Subscribers.GetOrCreate(ctx, Subscriber{ID: s.NewID(), Email: in.Email, Mailbox: s.Mailboxes.Key(in.Email), CreatedAt: now})
		if err != nil {
			return err
		}
		if err := s.lock(ctx, subscriber.ID); err != nil {
			return err
		}
		have, err := s.Searches.ListByUser(ctx, subscriber.ID, MaxSearches)
		if err != nil || slices.ContainsFunc(have, func(h Search) bool { return h.Terms == search.Terms }) {
			return err
		}
		if len(have) >= maxAlerts {
			return ErrTooManyAlerts
		}
		search.ID, search.UserID, search.CreatedAt = s.NewID(), subscriber.ID, now
		return s.Searches.Replace(ctx, subscriber.ID, append(have, search))
	})
	return search, err
}

// openAlertLink returns the request for an alert in a token.
func (s *SearchService) openAlertLink(token string) (in AlertInput, err error) {
	subject, err := s.Sealer.Unseal(auth.ForAlert, token)
	if err != nil {
		return in, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(subject)
	if err == nil {
		err = json.Unmarshal(raw, &in)
	}
	return in, err
}

// EndAlerts deletes the subscriber of the token with all alerts. It returns
// fault.ErrUnauthorized for a token that is invalid or has expired.
func (s *SearchService) EndAlerts(ctx context.Context, token string) error {
	subscriberID, err := s.Sealer.Unseal(auth.ForAlertsEnd, token)
	if err != nil {
		return err
	}
	return s.Subscribers.Delete(ctx, subscriberID)
}

// recipient returns the person who gets a digest and the purpose and the parameter of the
// link that ends the digests. The address is empty if the person does not exist any more.
func (s *SearchService) recipient(ctx context.Context, userID string) (person Person, purpose auth.Purpose, parameter string, err error) {
	ids := []string{userID}
	subscribers, err := s.Subscribers.GetByIDs(ctx, ids)
	if subscriber, ok := subscribers[userID]; ok || err != nil {
		return Person{Email: subscriber.Email}, auth.ForAlertsEnd, "alerts", err
	}
	people, err := s.Account.People.ByIDs(ctx, ids)
	return people[userID], auth.ForUnsubscribe, "token", err
}

// String returns the terms for a sentence.
func (t Terms) String() string {
	return strings.Join(slices.DeleteFunc([]string{t.Query, t.Location, t.ContractType}, isEmpty), ", ")
}
