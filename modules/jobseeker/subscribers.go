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
	// Mailbox is a key that is the same for all spellings of the address, for example in
	// upper and lower case.
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

	in.Email, _ = text.ParseEmail(in.Email) // validated above
	if err := s.takeAlertLimits(ctx, in.Email, clientIP); err != nil {
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

// The prefixes, in bits, that identify a client by its IP address. An internet connection
// usually has one IPv4 address, and may have all IPv6 addresses of a /56.
const (
	clientIPv4Bits = 32
	clientIPv6Bits = 56
)

// takeAlertLimits counts a request for an alert against the rate limits, and returns an error
// if the client or the mailbox has reached one of them.
func (s *SearchService) takeAlertLimits(ctx context.Context, email, clientIP string) error {
	mailbox := s.Mailboxes.Key(withoutTag(email))
	client := audit.Prefix(clientIP, clientIPv4Bits, clientIPv6Bits)

	for _, counter := range []struct {
		rule limit.Rule
		key  string
	}{
		{rule: alertsPerClient, key: client},
		{rule: alertsPerMailbox, key: mailbox},
		{rule: alertsPerMailboxWeek, key: mailbox},
	} {
		decision, err := s.Limiter.Take(ctx, counter.rule, counter.key)
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

// sendConfirmationLink sends the e-mail with the link that confirms an alert. The token of
// the link contains the whole request, because nothing is stored until it is confirmed.
func (s *SearchService) sendConfirmationLink(ctx context.Context, r alertRequest) error {
	request, err := json.Marshal(r.AlertInput)
	if err != nil {
		return task.Permanent(err)
	}

	token, err := s.Sealer.Seal(auth.ForAlert, base64.RawURLEncoding.EncodeToString(request), r.At.Add(confirmationLifetime))
	if err != nil {
		return err
	}

	link := s.PublicURL + "/job-alerts/confirm?token=" + url.QueryEscape(token)

	// Anyone can request this e-mail for any address. SafeName replaces a search that
	// contains a link by the general words.
	search := mail.SafeName(r.asSearch().terms().Label(), "the jobs that you have chosen")

	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID:      "confirm-alert-" + r.ID,
		To:      mail.Address{Email: r.Email},
		Subject: "Confirm your job alert",
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

	terms := in.asSearch().terms()
	search = Search{Name: terms.Label(), Terms: terms, EmailAlerts: true}

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

		wasConfirmedBefore := slices.ContainsFunc(existing, func(saved Search) bool { return saved.Terms == search.Terms })
		if wasConfirmedBefore {
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
	encodedRequest, err := s.Sealer.Unseal(auth.ForAlert, token)
	if err != nil {
		return in, err
	}

	request, err := base64.RawURLEncoding.DecodeString(encodedRequest)
	if err != nil {
		return in, err
	}

	err = json.Unmarshal(request, &in)

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
	// purpose is what the token of the unsubscribe link is valid for, and parameter the
	// query parameter of the link that contains the token.
	purpose   auth.Purpose
	parameter string
	// searches is the term for the person's searches in the text of the e-mail.
	searches string
}

// findDigestRecipient returns the subscriber or the user with the id. The address is empty if
// neither exists any more.
func (s *SearchService) findDigestRecipient(ctx context.Context, id string) (digestRecipient, error) {
	subscribers, err := s.Subscribers.GetByIDs(ctx, []string{id})
	if err != nil {
		return digestRecipient{}, err
	}

	if subscriber, isSubscriber := subscribers[id]; isSubscriber {
		person := Person{Email: subscriber.Email} // a subscriber has no name
		return digestRecipient{Person: person, purpose: auth.ForAlertsEnd, parameter: "alerts", searches: "job alerts"}, nil
	}

	people, err := s.Account.People.ByIDs(ctx, []string{id})
	if err != nil {
		return digestRecipient{}, err
	}

	return digestRecipient{Person: people[id], purpose: auth.ForUnsubscribe, parameter: "token", searches: "saved searches"}, nil
}

// Label returns the terms that are set, separated by commas.
func (t Terms) Label() string {
	return strings.Join(slices.DeleteFunc([]string{t.Query, t.Location, t.ContractType}, isEmpty), ", ")
}
