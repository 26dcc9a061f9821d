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

// Subscriber is a person without an account who gets job alerts by e-mail. The searches of a
// subscriber are stored like the saved searches of a user, with the id of the subscriber as
// the user id.
type Subscriber struct {
	ID    string
	Email string
	// Mailbox is a key that is the same for all spellings of the address.
	Mailbox   string
	CreatedAt time.Time
}

// AlertInput requests alerts about new matches of a search.
type AlertInput struct {
	Email        string `json:"email" validate:"required,max=254,email"`
	Query        string `json:"query" validate:"max=200"`
	Location     string `json:"location" validate:"max=200"`
	ContractType string `json:"contractType" validate:"oneof='' permanent temporary contract"`
}

// Problems returns an error if no term is set: an alert needs at least one.
func (in AlertInput) Problems() []fault.Field { return in.asSearch().Problems() }

// asSearch returns the terms of the alert as a saved search.
func (in AlertInput) asSearch() SaveSearchInput {
	return SaveSearchInput{Query: in.Query, Location: in.Location, ContractType: in.ContractType}
}

const (
	confirmAlertTaskKind = "jobseeker.confirm-alert"
	// confirmationLifetime is the lifetime of the link that confirms an alert. The e-mail
	// mentions it.
	confirmationLifetime = 48 * time.Hour
	// maxAlertsPerSubscriber is the maximum number of alerts of a subscriber.
	maxAlertsPerSubscriber = 10
)

// The rate limits of requests for alerts. Without them, clients could flood a mailbox with
// confirmation e-mails that its owner has not asked for.
var (
	alertsPerClient      = limit.Rule{Name: "job-alerts.client", Max: 20, Per: time.Hour}
	alertsPerMailbox     = limit.Rule{Name: "job-alerts", Max: 3, Per: time.Hour}
	alertsPerMailboxWeek = limit.Rule{Name: "job-alerts.week", Max: 10, Per: 7 * 24 * time.Hour}
)

// RequestAlert sends an e-mail with a link that confirms the alert. Nothing is stored until
// the owner of the address follows the link, which contains the search. clientIP is the IP
// address of the client, for the rate limit.
func (s *SearchService) RequestAlert(ctx context.Context, in AlertInput, clientIP string) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	email, _ := text.ParseEmail(in.Email)

	in.Email = email
	if err := s.checkAlertLimits(ctx, email, clientIP); err != nil {
		return err
	}

	return s.Tasks.Add(
		ctx,
		task.New(
			confirmAlertTaskKind,
			task.Mail,
			confirmAlertTaskKind+"/"+s.NewID(),
			alertRequest{AlertInput: in, ID: s.NewID(), At: s.Clock.Now()},
		),
	)
}

// checkAlertLimits counts a request for an alert, and returns an error if the client or the
// mailbox has reached its rate limit.
func (s *SearchService) checkAlertLimits(ctx context.Context, email, clientIP string) error {
	mailbox := s.Mailboxes.Key(withoutTag(email))

	// An internet subscriber has one IPv4 address, and may have an IPv6 network of the size /56.
	client := audit.Prefix(clientIP, 32, 56)
	for _, taken := range []struct {
		rule limit.Rule
		key  string
	}{
		{rule: alertsPerClient, key: client},
		{rule: alertsPerMailbox, key: mailbox},
		{rule: alertsPerMailboxWeek, key: mailbox},
	} {
		decision, err := s.Limiter.Take(ctx, taken.rule, taken.key)
		if err = cmp.Or(err, decision.Err()); err != nil {
			return err
		}
	}

	return nil
}

// withoutTag returns the address without a tag: many servers deliver jo+jobs@example.org to
// jo@example.org.
func withoutTag(email string) string {
	local, domain, _ := strings.Cut(email, "@")
	name, _, _ := strings.Cut(local, "+")
	return name + "@" + domain
}

// alertRequest is the payload of the task that sends the confirmation link.
type alertRequest struct {
	AlertInput
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// sendConfirmationLink sends the e-mail with the link that confirms an alert.
func (s *SearchService) sendConfirmationLink(ctx context.Context, r alertRequest) error {
	subject, err := json.Marshal(r.AlertInput)
	if err != nil {
		return task.Permanent(err)
	}

	token, err := s.Sealer.Seal(auth.ForAlert, base64.RawURLEncoding.EncodeToString(subject), r.At.Add(confirmationLifetime))
	if err != nil {
		return err
	}

	link := s.PublicURL + "/job-alerts/confirm?token=" + url.QueryEscape(token)

	// Anyone can ask for this e-mail, so that the search must not contain a link.
	search := mail.SafeName(r.asSearch().terms().Label(), "the jobs that you have chosen")

	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID: "confirm-alert-" + r.ID, To: mail.Address{Email: r.Email}, Subject: "Confirm your job alert",
		Body: []mail.Block{
			{Text: "You asked for e-mails about new jobs for this search: " + search + "."},
			{Link: &mail.Link{Label: "Confirm your job alert", URL: link}},
			{Text: "The link is valid for two days. If you did not ask for this, you can ignore this e-mail: alerts begin only with the link."},
		},
		Home: s.PublicURL,
	})
}

// ConfirmAlert stores the alert that the token of a confirmation link contains. A second use
// of the link changes nothing. It returns fault.ErrUnauthorized for a token that is invalid
// or has expired.
func (s *SearchService) ConfirmAlert(ctx context.Context, token string) (search Search, err error) {
	in, err := s.parseAlertToken(token)
	if err != nil {
		return search, err
	}

	search = Search{Name: in.asSearch().terms().Label(), Terms: in.asSearch().terms(), EmailAlerts: true}
	if search.Resolved, err = s.resolve(ctx, search.Query); err != nil {
		return search, err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()

		subscriber, err := s.Subscribers.GetOrCreate(
			ctx,
			Subscriber{ID: s.NewID(), Email: in.Email, Mailbox: s.Mailboxes.Key(in.Email), CreatedAt: now},
		)
		if err != nil {
			return err
		}

		if err := s.lock(ctx, subscriber.ID); err != nil {
			return err
		}

		existing, err := s.Searches.ListByUser(ctx, subscriber.ID, MaxSearches)
		if err != nil {
			return err
		}

		isConfirmed := slices.ContainsFunc(existing, func(saved Search) bool { return saved.Terms == search.Terms })
		if isConfirmed { // the link was used before
			return nil
		}

		if len(existing) >= maxAlertsPerSubscriber {
			return ErrTooManyAlerts
		}

		search.ID = s.NewID()
		search.UserID = subscriber.ID
		search.CreatedAt = now

		return s.Searches.Replace(ctx, subscriber.ID, append(existing, search))
	})

	return search, err
}

// parseAlertToken returns the request for an alert that a token contains.
func (s *SearchService) parseAlertToken(token string) (in AlertInput, err error) {
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

// EndAlerts deletes the subscriber whom the token identifies, with all alerts. It returns
// fault.ErrUnauthorized for a token that is invalid or has expired.
func (s *SearchService) EndAlerts(ctx context.Context, token string) error {
	subscriberID, err := s.Sealer.Unseal(auth.ForAlertsEnd, token)
	if err != nil {
		return err
	}

	return s.Subscribers.Delete(ctx, subscriberID)
}

// digestRecipient is the person who gets a digest, an e-mail about new matches of saved searches.
type digestRecipient struct {
	Person
	// purpose and parameter are those of the token in the unsubscribe link.
	purpose   auth.Purpose
	parameter string
	// searches is what the person calls the searches.
	searches string
}

// digestRecipient returns the subscriber or the user with the id. The address is empty if
// neither exists any more.
func (s *SearchService) digestRecipient(ctx context.Context, userID string) (r digestRecipient, err error) {
	ids := []string{userID}

	subscribers, err := s.Subscribers.GetByIDs(ctx, ids)
	if subscriber, ok := subscribers[userID]; ok || err != nil {
		person := Person{Email: subscriber.Email}
		return digestRecipient{Person: person, purpose: auth.ForAlertsEnd, parameter: "alerts", searches: "job alerts"}, err
	}

	people, err := s.Account.People.ByIDs(ctx, ids)
	person := people[userID]

	return digestRecipient{Person: person, purpose: auth.ForUnsubscribe, parameter: "token", searches: "saved searches"}, err
}

// Label returns the terms that are set, separated by commas.
func (t Terms) Label() string {
	return strings.Join(slices.DeleteFunc([]string{t.Query, t.Location, t.ContractType}, isEmpty), ", ")
}
