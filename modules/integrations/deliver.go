package integrations

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/job"
)

const (
	// deliverKind is the kind of job that attempts a delivery. The row says what
	// is due; a job only makes somebody look, so that one too many does no harm.
	deliverKind = "integrations.deliver"
	// inFlight is how many attempts for one endpoint go on at once, and
	// inFlightFailing how many while none succeeds: who does not answer holds a
	// worker for as long as we wait.
	inFlight        = 5
	inFlightFailing = 1
	// claimedFor is longer than an attempt can take.
	claimedFor = time.Minute
	// warnAfter and disableAfter are how long an endpoint may fail. The twelve
	// hours that have to be between two failures for that are within the days.
	warnAfter    = 24 * time.Hour
	disableAfter = 5 * 24 * time.Hour
	// overdueAfter is when somebody looks for a delivery whose job was lost.
	overdueAfter = 30 * time.Second
	sweepEvery   = 30 * time.Second
	sweepAtOnce  = 500
)

// look names what is due: a delivery, or without one whatever of the endpoint.
type look struct {
	Endpoint string `json:"endpoint"`
	Delivery string `json:"delivery"`
}

func lookAt(endpointID, deliveryID, key string, at time.Time) job.Job {
	j := job.New(deliverKind, job.Webhooks, "whd:"+key, look{endpointID, deliveryID})
	j.RunAt = at
	return j
}

// deliver attempts one delivery that is due.
func (s *Service) deliver(ctx context.Context, due look) error {
	e, c, err := s.claim(ctx, due, false)
	if err != nil || c == nil {
		return err
	}
	_, err = s.attempt(ctx, e, *c)
	return err
}

// attempt sends what was claimed, unless it is not to be sent, and writes down
// what became of it. It returns the attempt if there was one.
func (s *Service) attempt(ctx context.Context, e Endpoint, c Claimed) (*attempted, error) {
	if c.Status != Pending {
		return nil, s.settle(ctx, c, nil)
	}
	now := s.Clock.Now()
	signature, err := s.signature(e, c, now)
	if err != nil {
		// An operator is told, and it is tried again when it would be anyway.
		return nil, errors.Join(job.Permanent(err), s.settle(ctx, c, &attempted{at: now, Answer: Answer{Error: "not_signed"}}))
	}
	answer := s.Sender.Post(ctx, Post{URL: e.URL, Body: c.Message.Body, Headers: map[string]string{
		"webhook-id": c.EventID, "webhook-timestamp": strconv.FormatInt(now.Unix(), 10), "webhook-signature": signature,
		"webhook-attempt": strconv.Itoa(c.Attempt), "content-type": "application/json", "user-agent": "locum-webhooks/1",
	}})
	if ctx.Err() != nil && answer.Status == 0 {
		return nil, ctx.Err() // it was we who did not wait
	}
	a := &attempted{at: now, Answer: answer}
	return a, s.settle(ctx, c, a)
}

func (s *Service) signature(e Endpoint, c Claimed, now time.Time) (string, error) {
	secrets, err := s.secrets(e, now)
	if err != nil {
		return "", err
	}
	return sign(secrets, c.EventID, now, c.Message.Body)
}

// claim takes a delivery that is due for the endpoint, as the endpoint is now;
// nil if there is none, or no room for it. What waits for room is taken by
// whoever makes room. One that is not to be sent after all comes back as failed.
// What is for a listener is taken by that alone, and by it nothing else.
func (s *Service) claim(ctx context.Context, due look, listener bool) (e Endpoint, c *Claimed, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		c = nil
		now := s.Clock.Now()
		if e, err = s.Webhooks.Lock(ctx, due.Endpoint); fault.KindOf(err) == fault.NotFound {
			return nil // deleted meanwhile, with all that was to be sent there
		} else if err != nil {
			return err
		}
		if listener != (e.ListeningUntil != nil) {
			return nil
		}
		most := inFlight
		if e.FailingSince != nil {
			most = inFlightFailing
		}
		n, err := s.Webhooks.InFlight(ctx, e.ID, now)
		if err != nil || n >= most {
			return err
		}
		c, err = s.Webhooks.Claim(ctx, e.ID, due.Delivery, now, now.Add(claimedFor))
		return err
	})
	if err != nil || c == nil {
		return e, nil, err
	}
	if e.Status != EndpointActive {
		c.Status = Failed
		return e, c, nil
	}
	if c.Message.OrganizationID != "" {
		// An attempt may come days after the event.
		may, err := s.mayHear(ctx, e, c.Message.OrganizationID, c.Message.ApplicantID)
		if err != nil {
			return e, nil, err
		}
		if !may {
			c.Status = Failed
		}
	}
	return e, c, nil
}

type attempted struct {
	at time.Time
	Answer
}

// settle writes down what became of an attempt, nil if none was made, and says
// what is next.
func (s *Service) settle(ctx context.Context, c Claimed, a *attempted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		e, err := s.Webhooks.Lock(ctx, c.EndpointID)
		if fault.KindOf(err) == fault.NotFound {
			return nil
		} else if err != nil {
			return err
		}
		now := s.Clock.Now()
		d := c.Delivery
		d.Attempts = slices.Clone(d.Attempts)
		d.NextAt = nil
		before := e
		var next []job.Job
		if a == nil {
			d.Status = Failed
		} else {
			d.judge(&e, *a, now)
			next = s.health(before, &e, now)
		}
		if e.Status != EndpointActive && d.Status == Pending {
			d.Status, d.NextAt = Failed, nil
		}
		newest, err := s.Webhooks.Settle(ctx, d)
		if err != nil || !newest {
			return err
		}
		if e.changed(before) {
			if err := s.Webhooks.Save(ctx, e); err != nil {
				return err
			}
			if e.Status == EndpointDisabled {
				if err := s.Webhooks.Abandon(ctx, e.ID, now); err != nil {
					return err
				}
			}
		}
		if d.NextAt != nil {
			next = append(next, lookAt(e.ID, d.ID, d.ID+":"+strconv.Itoa(d.Attempt+1), *d.NextAt))
		}
		more, err := s.Webhooks.Due(ctx, e.ID, now)
		if err != nil {
			return err
		}
		for range successors(more, before, e) {
			next = append(next, lookAt(e.ID, "", e.ID+":next:"+s.NewID(), now))
		}
		if len(next) == 0 {
			return nil
		}
		return s.Jobs.Add(ctx, next...)
	})
}

// successors says how many are to look for more: each makes room for one, and for
// all when the endpoint works again.
func successors(more bool, before, e Endpoint) int {
	switch {
	case !more:
		return 0
	case before.FailingSince != nil && e.FailingSince == nil:
		return inFlight
	}
	return 1
}

// judge notes the attempt with the delivery, and with the endpoint that it failed
// or did not.
func (d *Delivery) judge(e *Endpoint, a attempted, now time.Time) {
	ok := a.Status >= 200 && a.Status < 300 && a.Error == ""
	if !ok && a.Error == "" {
		a.Error = "status"
	}
	d.add(Attempt{At: a.at, ResponseStatus: a.Status, Error: a.Error, DurationMs: a.Took.Milliseconds(), Answer: a.Body})
	if ok {
		d.Status, e.FailingSince, e.WarnedAt = Succeeded, nil, nil
		return
	}
	if e.FailingSince == nil {
		e.FailingSince = &now
	}
	if a.Status == gone && e.Status == EndpointActive && e.ListeningUntil == nil {
		e.Status = EndpointDisabled
	}
	d.Status = Failed
	if wait, more := pause(d.Tries, a.asked()); more {
		at := now.Add(wait)
		d.Status, d.NextAt = Pending, &at
	}
}

// What answers mean (RFC 9110 §15).
const (
	gone            = 410
	tooManyRequests = 429
	unavailable     = 503
)

// asked is how long the receiver wants to be left alone.
func (a attempted) asked() time.Duration {
	if a.Status == tooManyRequests || a.Status == unavailable {
		return a.RetryAfter
	}
	return 0
}

// health disables an endpoint that has failed for days, and has its owner told.
func (s *Service) health(before Endpoint, e *Endpoint, now time.Time) []job.Job {
	if e.FailingSince == nil || before.Status != EndpointActive || e.ListeningUntil != nil {
		return nil
	}
	failing := now.Sub(*e.FailingSince)
	if failing >= disableAfter {
		e.Status = EndpointDisabled
	}
	switch {
	case e.Status == EndpointDisabled:
	case failing >= warnAfter && e.WarnedAt == nil:
	default:
		return nil
	}
	e.WarnedAt = &now
	return []job.Job{job.New(warnKind, job.Mail, "whm:"+e.ID+":"+s.NewID(), warning{Endpoint: e.ID, URL: e.URL, Disabled: e.Status == EndpointDisabled, Since: *e.FailingSince})}
}

// changed reports whether an attempt has changed the endpoint.
func (e Endpoint) changed(before Endpoint) bool {
	return e.Status != before.Status || e.FailingSince != before.FailingSince || e.WarnedAt != before.WarnedAt
}

// sweepDeliveries has somebody look at endpoints whose deliveries are overdue
// because a worker was lost.
func (s *Service) sweepDeliveries(ctx context.Context) error {
	now := s.Clock.Now()
	for last := ""; ; {
		ids, err := s.Webhooks.Overdue(ctx, now.Add(-overdueAfter), last, sweepAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		jobs := make([]job.Job, len(ids))
		for i, endpointID := range ids {
			jobs[i] = lookAt(endpointID, "", endpointID+":sweep:"+now.Truncate(sweepEvery).Format(time.RFC3339), now)
		}
		if err := s.Jobs.Add(ctx, jobs...); err != nil || len(ids) < sweepAtOnce {
			return err
		}
		last = ids[len(ids)-1]
	}
}

const messagesAtOnce = 1_000

// forgetMessages ends the log of what is older than 30 days.
func (s *Service) forgetMessages(ctx context.Context) error {
	before := s.Clock.Now().Add(-logKept)
	for {
		n, err := s.Webhooks.Forget(ctx, before, messagesAtOnce)
		if err != nil || n < messagesAtOnce {
			return err
		}
	}
}
