package integrations

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
)

const (
	// deliverKind is the kind of job that looks after an endpoint. The rows say what
	// is due; a job only makes somebody look, so that one too many does no harm.
	deliverKind = "integrations.deliver"
	// putOffFor is when something is tried again that went wrong before there was
	// an attempt.
	putOffFor = 30 * time.Second
	// warnAfter and disableAfter are how long an endpoint may fail. The twelve
	// hours that have to be between two failures for that are within the days.
	warnAfter    = 24 * time.Hour
	disableAfter = 5 * 24 * time.Hour
	// overdueAfter is when somebody looks for a delivery that nobody looks after:
	// its job or its worker was lost.
	overdueAfter = 15 * time.Second
	sweepEvery   = 15 * time.Second
	sweepAtOnce  = 500
)

// look names an endpoint for which something is due, from the moment on.
type look struct {
	Endpoint string    `json:"endpoint"`
	At       time.Time `json:"at"`
}

func lookAt(endpointID, key string, at time.Time) task.Task {
	j := task.New(deliverKind, task.Webhooks, "whd:"+key, look{endpointID, at})
	j.RunAt = at
	return j
}

// outcome is what became of a delivery: an attempt, or none if it is not to be sent
// after all, or not now.
type outcome struct {
	Outgoing
	to      string // the URL
	attempt *Attempt
	asked   time.Duration
	putOff  bool
}

// deliver attempts what is due for an endpoint, if nobody else does and endpoints like
// it do not keep enough workers waiting already.
func (s *Service) deliver(ctx context.Context, due look) error {
	v := s.visit(due.Endpoint)
	v.seen = due.At
	e, err := s.Webhooks.ByID(ctx, due.Endpoint)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	} else if err != nil {
		return err
	}
	now := s.Clock.Now()
	if e.leased(now) {
		// Before they leave they look once more. But they may have been killed.
		return s.Tasks.Add(ctx, lookAt(e.ID, e.ID+":after:"+e.Lease, *e.LeasedUntil))
	}
	leave, in := s.admit(ctx, e)
	if !in {
		// Many who come for the same endpoint become one.
		at := now.Truncate(crowdedFor).Add(2 * crowdedFor)
		return s.Tasks.Add(ctx, lookAt(e.ID, e.ID+":crowd:"+strconv.FormatInt(at.Unix(), 10), at))
	}
	defer leave()
	return v.attend(ctx)
}

// attempt sends a delivery, unless it is not to be sent any more. With an error it
// is put off.
func (s *Service) attempt(ctx context.Context, e Endpoint, c Outgoing) (o outcome, err error) {
	o = outcome{Outgoing: c, putOff: true}
	if c.Message.OrganizationID != "" {
		// An attempt may come days after the event.
		may, err := s.mayHear(ctx, e, c.Message.OrganizationID, c.Message.ApplicantID)
		if err != nil {
			return o, err
		}
		if !may {
			return outcome{Outgoing: c}, nil
		}
	}
	now := s.Clock.Now()
	signature, err := s.signature(e, c, now)
	if err != nil {
		// An operator is told, and it is tried again when it would be anyway.
		return outcome{Outgoing: c, to: e.URL, attempt: &Attempt{At: now, Error: "not_signed"}}, task.Permanent(err)
	}
	next := c
	next.Attempt++
	a := s.Sender.Post(ctx, Post{URL: e.URL, Body: c.Message.Body, Headers: headers(next, now, signature)})
	if ctx.Err() != nil && a.Status == 0 {
		return outcome{}, ctx.Err() // it was we who did not wait
	}
	if (a.Status < 200 || a.Status >= 300) && a.Error == "" {
		a.Error = "status"
	}
	o = outcome{Outgoing: c, to: e.URL, attempt: &Attempt{At: now, ResponseStatus: a.Status, Error: a.Error, DurationMs: a.Took.Milliseconds(), Answer: a.Body}}
	if a.Status == tooManyRequests || a.Status == unavailable {
		o.asked = a.RetryAfter
	}
	return o, nil
}

// headers are what a receiver gets with the body (Standard Webhooks), and the number
// of the attempt.
func headers(c Outgoing, at time.Time, signature string) map[string]string {
	return map[string]string{
		"webhook-id": c.EventID, "webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": signature,
		"webhook-attempt": strconv.Itoa(c.Attempt), "content-type": "application/json", "user-agent": "locum-webhooks/1",
	}
}

func (s *Service) signature(e Endpoint, c Outgoing, now time.Time) (string, error) {
	secrets, err := s.secrets(e, now)
	if err != nil {
		return "", err
	}
	return sign(secrets, c.EventID, now, c.Message.Body)
}

// settle writes down what became of deliveries, and says who is to be told.
func (s *Service) settle(ctx context.Context, e *Endpoint, ended []outcome, now time.Time) ([]task.Task, error) {
	if len(ended) == 0 {
		return nil, nil
	}
	ds := make([]Delivery, len(ended))
	for i, o := range ended {
		ds[i] = o.judged(*e, now)
	}
	settled, err := s.Webhooks.Settle(ctx, e.ID, ds)
	if err != nil {
		return nil, err
	}
	before := *e
	for _, o := range ended {
		if o.attempt != nil && o.to == e.URL && (len(settled) == len(ended) || slices.Contains(settled, o.ID)) {
			e.judge(*o.attempt, now)
		}
	}
	mails := s.health(before, e, now)
	if e.changed(before) {
		err = s.Webhooks.Save(ctx, *e)
		e.Version++
	}
	return mails, err
}

// judged is the delivery with what became of it.
func (o outcome) judged(e Endpoint, now time.Time) Delivery {
	d := o.Delivery
	d.Attempt++
	d.Status, d.NextAt, d.FailedAt = Failed, nil, &now
	if o.putOff && e.Status == EndpointActive {
		at := now.Add(putOffFor)
		d.Status, d.NextAt, d.FailedAt = Pending, &at, nil
	}
	if o.attempt == nil {
		return d
	}
	d.Tries++
	d.Attempts = slices.Clone(d.Attempts)
	d.add(*o.attempt)
	if o.attempt.Error == "" {
		d.Status, d.FailedAt = Succeeded, nil
	} else if wait, more := pause(d.Tries, o.asked); more && e.Status == EndpointActive {
		at := now.Add(wait)
		d.Status, d.NextAt, d.FailedAt = Pending, &at, nil
	}
	return d
}

// judge notes with the endpoint how an attempt ended.
func (e *Endpoint) judge(a Attempt, now time.Time) {
	switch {
	case a.Error == "":
		e.FailingSince, e.WarnedAt = nil, nil
		return
	case e.FailingSince == nil:
		e.FailingSince = &now
	}
	if a.ResponseStatus == gone && e.Status == EndpointActive && e.ListeningUntil == nil {
		e.Status = EndpointDisabled
	}
}

// What answers mean (RFC 9110 §15).
const (
	gone            = 410
	tooManyRequests = 429
	unavailable     = 503
)
