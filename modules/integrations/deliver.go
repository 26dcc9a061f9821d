package integrations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/job"
)

const (
	// deliverKind is the kind of job that looks after an endpoint. The rows say what
	// is due; a job only makes somebody look, so that one too many does no harm.
	deliverKind = "integrations.deliver"
	// inFlight is how many attempts for one endpoint go on at once, and
	// inFlightFailing how many while none succeeds.
	inFlight        = 5
	inFlightFailing = 1
	// claimedMost is how many are claimed at once for an endpoint that takes them,
	// and turnWithin how long it may take until how they ended is written down, and
	// it is seen that the endpoint was changed.
	claimedMost = 100
	turnWithin  = 50 * time.Millisecond
	// lookFor is how long one job begins attempts for an endpoint. What is due then
	// is another's, behind the endpoints that wait. With the longest attempt after
	// it, it is less than a job may take.
	lookFor = 3 * time.Second
	// claimedFor is longer than an attempt can take.
	claimedFor = 30 * time.Second
	// lastTurnWithin bounds what is written down after a job was called off.
	lastTurnWithin = 2 * time.Second
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

func lookAt(endpointID, key string, at time.Time) job.Job {
	j := job.New(deliverKind, job.Webhooks, "whd:"+key, look{endpointID, at})
	j.RunAt = at
	return j
}

// outcome is what became of a claimed delivery: an attempt, or none if it is not to
// be sent after all.
type outcome struct {
	Claimed
	to      string // the URL
	attempt *Attempt
	asked   time.Duration
}

// ending is an outcome, or why there is none.
type ending struct {
	outcome
	err error
}

// visit is somebody who looks after an endpoint for a while.
type visit struct {
	*Service
	due look
	// e is the endpoint as it was at the last turn, ready what is claimed and not
	// begun, and ended what is not yet written down.
	e        Endpoint
	ready    []Claimed
	underWay int
	ended    []outcome
	ends     chan ending
	looked   time.Time
	// over is that no more is begun, and left that the rest is another's.
	over, left bool
	failed     error
}

// deliver attempts what is due for an endpoint. Attempts are claimed and written
// down many at a time, and in one transaction.
func (s *Service) deliver(ctx context.Context, due look) error {
	v := &visit{Service: s, due: due, ends: make(chan ending, inFlight)}
	end := time.After(lookFor)
	for {
		if err := v.lastly(ctx, v.turn); err != nil && v.underWay == 0 {
			return errors.Join(v.failed, err) // the claims end by themselves
		}
		v.begin(ctx)
		if v.underWay == 0 {
			return v.failed
		}
		v.wait(ctx, end)
	}
}

// lastly does something also when the job is called off, so that what has ended
// until then is written down.
func (v *visit) lastly(ctx context.Context, do func(context.Context) error) error {
	if ctx.Err() == nil {
		return do(ctx)
	}
	v.over = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTurnWithin)
	defer cancel()
	return do(ctx)
}

// begin begins attempts, as many as may be under way.
func (v *visit) begin(ctx context.Context) {
	for len(v.ready) > 0 && v.underWay < inFlight && !v.over && ctx.Err() == nil {
		e, c := v.e, v.ready[0]
		v.ready = v.ready[1:]
		v.underWay++
		go func() {
			var out ending
			defer func() {
				if p := recover(); p != nil {
					out.err = fmt.Errorf("panic: %v", p)
				}
				v.ends <- out
			}()
			out.outcome, out.err = v.attempt(ctx, e, c)
		}()
	}
}

// wait waits until there is enough for a turn: many attempts have ended, or all
// that were claimed have been begun, or one failed, or this visit is over. As long
// as something waits to be written down, that is soon, and nothing is begun by what
// the endpoint was long ago.
func (v *visit) wait(ctx context.Context, end <-chan time.Time) {
	soon := time.NewTimer(turnWithin)
	defer soon.Stop()
	for enough := false; !enough && v.underWay > 0; {
		tick := soon.C
		if len(v.ended) == 0 {
			tick = nil
		}
		select {
		case e := <-v.ends:
			v.underWay--
			v.failed = errors.Join(v.failed, e.err)
			if e.EndpointID != "" {
				v.ended = append(v.ended, e.outcome)
			}
			enough = e.err != nil || e.attempt != nil && e.attempt.Error != "" || time.Since(v.looked) > turnWithin
			if !enough {
				v.begin(ctx)
			}
			enough = enough || len(v.ready) == 0 && len(v.ends) == 0 || len(v.ended) >= claimedMost/2
		case <-tick:
			enough = true
		case <-end:
			v.over, enough = true, true
		}
	}
}

// attempt sends a claimed delivery, unless it is not to be sent any more. With an
// error it may have no outcome.
func (s *Service) attempt(ctx context.Context, e Endpoint, c Claimed) (o outcome, err error) {
	if c.Message.OrganizationID != "" {
		// An attempt may come days after the event.
		may, err := s.mayHear(ctx, e, c.Message.OrganizationID, c.Message.ApplicantID)
		if err != nil {
			return o, err // it comes again when the claim has ended
		}
		if !may {
			return outcome{Claimed: c}, nil
		}
	}
	now := s.Clock.Now()
	signature, err := s.signature(e, c, now)
	if err != nil {
		// An operator is told, and it is tried again when it would be anyway.
		return outcome{Claimed: c, to: e.URL, attempt: &Attempt{At: now, Error: "not_signed"}}, job.Permanent(err)
	}
	a := s.Sender.Post(ctx, Post{URL: e.URL, Body: c.Message.Body, Headers: map[string]string{
		"webhook-id": c.EventID, "webhook-timestamp": strconv.FormatInt(now.Unix(), 10), "webhook-signature": signature,
		"webhook-attempt": strconv.Itoa(c.Attempt), "content-type": "application/json", "user-agent": "locum-webhooks/1",
	}})
	if ctx.Err() != nil && a.Status == 0 {
		return o, ctx.Err() // it was we who did not wait
	}
	if (a.Status < 200 || a.Status >= 300) && a.Error == "" {
		a.Error = "status"
	}
	o = outcome{Claimed: c, to: e.URL, attempt: &Attempt{At: now, ResponseStatus: a.Status, Error: a.Error, DurationMs: a.Took.Milliseconds(), Answer: a.Body}}
	if a.Status == tooManyRequests || a.Status == unavailable {
		o.asked = a.RetryAfter
	}
	return o, nil
}

func (s *Service) signature(e Endpoint, c Claimed, now time.Time) (string, error) {
	secrets, err := s.secrets(e, now)
	if err != nil {
		return "", err
	}
	return sign(secrets, c.EventID, now, c.Message.Body)
}

// turn writes down what has ended and claims what is due, as the endpoint is now
// and as far as there is room. If this one's time is over, or attempts fail, it
// gives back what it has not begun.
func (v *visit) turn(ctx context.Context) error {
	var e Endpoint
	var ready []Claimed
	left := v.left
	err := v.Tx.Do(ctx, func(ctx context.Context) (err error) {
		ready = nil
		if e, err = v.Webhooks.Lock(ctx, v.due.Endpoint); fault.KindOf(err) == fault.NotFound {
			return nil // deleted meanwhile, with all that was to be sent there
		} else if err != nil {
			return err
		}
		if e.ListeningUntil != nil {
			return nil // its listener sends that
		}
		now := v.Clock.Now()
		next, err := v.settle(ctx, &e, v.ended, now)
		if err != nil {
			return err
		}
		if ready = v.ready; v.over || e.Status != EndpointActive || e.FailingSince != nil {
			if err := v.Webhooks.Release(ctx, e.ID, deliveriesOf(ready), now); err != nil {
				return err
			}
			ready = nil
		}
		if e.Status != EndpointActive {
			if err := v.Webhooks.Abandon(ctx, e.ID, now); err != nil {
				return err
			}
			return v.Jobs.Add(ctx, next...)
		}
		if v.over && (!v.left || len(v.ended) > 0) { // there is room for another
			next, left = append(next, lookAt(e.ID, e.ID+":next:"+v.NewID(), now)), true
		}
		if err := v.Jobs.Add(ctx, next...); err != nil || v.over {
			return err
		}
		more, err := v.claim(ctx, e, len(ready), now)
		ready = slices.Concat(ready, more)
		return err
	})
	if err != nil {
		v.ready = nil // what is begun has to be written down
		return err
	}
	v.e, v.ready, v.ended, v.left, v.looked = e, ready, nil, left, time.Now()
	return nil
}

// claim takes what is due, beside what is ready. As long as nobody else attempts
// something, that is more than may be under way, so that there is always something
// to begin.
func (v *visit) claim(ctx context.Context, e Endpoint, ready int, now time.Time) ([]Claimed, error) {
	n, err := v.Webhooks.InFlight(ctx, e.ID, now)
	if err != nil {
		return nil, err
	}
	most := claimedMost
	switch {
	case e.FailingSince != nil:
		most = inFlightFailing
	case n > v.underWay+ready:
		most = inFlight
	}
	if n >= most {
		return nil, nil
	}
	// The clock of whoever saw that it is due may be ahead of ours.
	at := now
	if v.due.At.After(at) {
		at = v.due.At
	}
	return v.Webhooks.Claim(ctx, e.ID, most-n, at, now.Add(claimedFor))
}

func deliveriesOf(cs []Claimed) []Delivery {
	ds := make([]Delivery, len(cs))
	for i, c := range cs {
		ds[i] = c.Delivery
	}
	return ds
}

// settle writes down what became of claimed deliveries, and says what is next.
func (s *Service) settle(ctx context.Context, e *Endpoint, ended []outcome, now time.Time) (next []job.Job, err error) {
	if len(ended) == 0 {
		return nil, nil
	}
	ds := make([]Delivery, len(ended))
	for i, o := range ended {
		ds[i] = o.judged(*e, now)
	}
	newest, err := s.Webhooks.Settle(ctx, e.ID, ds)
	if err != nil {
		return nil, err
	}
	before := *e
	for i, o := range ended {
		if slices.Contains(newest, o.ID) && o.attempt != nil {
			if o.to == e.URL { // and not where it was before
				e.judge(*o.attempt, now)
			}
			if ds[i].NextAt != nil {
				next = append(next, lookAt(e.ID, o.ID+":"+strconv.Itoa(o.Attempt+1), *ds[i].NextAt))
			}
		}
	}
	next = append(next, s.health(before, e, now)...)
	if e.changed(before) {
		err = s.Webhooks.Save(ctx, *e)
		e.Version++
	}
	return next, err
}

// judged is the delivery with what became of it.
func (o outcome) judged(e Endpoint, now time.Time) Delivery {
	d := o.Delivery
	d.Status, d.NextAt = Failed, nil
	if o.attempt == nil {
		return d
	}
	d.Tries++
	d.Attempts = slices.Clone(d.Attempts)
	d.add(*o.attempt)
	if o.attempt.Error == "" {
		d.Status = Succeeded
	} else if wait, more := pause(d.Tries, o.asked); more && e.Status == EndpointActive {
		at := now.Add(wait)
		d.Status, d.NextAt = Pending, &at
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
