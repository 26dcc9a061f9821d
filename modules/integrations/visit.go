package integrations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
)

const (
	// inFlight is how many attempts for one endpoint go on at once, and
	// inFlightFailing how many while none succeeds.
	inFlight        = 5
	inFlightFailing = 1
	// readFirst and readMost are how many deliveries are read at once: few, and more
	// each time that those were sent in no time, so that what waits for slow
	// endpoints does not fill the memory.
	readFirst = 2 * inFlight
	readMost  = 200
	// turnWithin is how long it may take until how attempts ended is written down,
	// and it is seen that the endpoint was changed.
	turnWithin = 100 * time.Millisecond
	// looksAgain is how often it is seen whether there is more to do while what is
	// under way takes its time, or whether a database is there again.
	looksAgain = 200 * time.Millisecond
	// looksFor is how long one visit begins attempts. What is due then is another's,
	// behind the endpoints that wait. Where an attempt hangs, the visit cannot end
	// anyway, and goes on with the others beside it, but not for ever.
	looksFor  = 3 * time.Second
	hangs     = time.Second
	looksMost = 20 * time.Second
	// longestAttempt is more than an attempt can take, and longestVisit more than a
	// visit can with that at its end.
	longestAttempt = 16 * time.Second
	longestVisit   = looksMost + longestAttempt + 4*time.Second
	// leasedFor is how long an endpoint waits for somebody who was killed, and
	// renewedAfter when whoever looks after it says that they do. Nothing is begun
	// that may take longer than the lease, also by a clock that is ahead by aheadMost.
	leasedFor    = 25 * time.Second
	renewedAfter = 2 * time.Second
	aheadMost    = 5 * time.Second
	// lastAttempts is how long those may take that are under way when a visit is
	// called off, and lastTurnWithin how long it may take then to write down how
	// they ended. Together they are less than a runner waits for.
	lastAttempts   = time.Second
	lastTurnWithin = 1500 * time.Millisecond
)

// visit is somebody who looks after an endpoint for a while: whoever holds its
// lease. Nobody else sends anything there meanwhile, and so what is due is read, not
// claimed, and written once, when it was attempted.
type visit struct {
	*Service
	endpoint string
	// seen is when somebody saw that something is due, whose clock may be ahead.
	seen  time.Time
	begun time.Time
	// lease is this one's name for it, and held since when it was surely this one's
	// alone for leasedFor; zero before.
	lease string
	held  time.Time

	// e is the endpoint as it was at the last turn, ready what is due and not begun,
	// last how far that was read, batch how much at once and read when, underWay
	// what was begun and when, and ended what is not yet written down.
	e        Endpoint
	ready    []Outgoing
	last     *Delivery
	batch    int
	read     time.Time
	underWay map[string]time.Time
	ended    []outcome
	ends     chan ending
	// over is that no more is begun, and left that the endpoint is not this one's
	// any more.
	over, left bool
	failed     error

	// What is different for a listener: where it sends to, and who hears of what was
	// written down.
	to   string
	told func(outcome)
}

// ending is that an attempt has ended, with or without an outcome.
type ending struct {
	outcome
	id  string
	err error
}

func (s *Service) visit(endpointID string) *visit {
	return &visit{Service: s, endpoint: endpointID, begun: time.Now(), lease: s.NewID(), batch: readFirst, underWay: map[string]time.Time{}, ends: make(chan ending, inFlight)}
}

// attend sends what is due until there is no more, or for as long as it may. When it
// is called off, what is under way has a moment to end and is written down.
func (v *visit) attend(ctx context.Context) error {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastAttempts, stop) })()
	for {
		calledOff := ctx.Err() != nil
		err := v.look(ctx)
		if v.left {
			return v.failed
		}
		if err != nil {
			// What was sent has to be written down before more is begun, for as long as
			// nobody else sends it again.
			v.ready, v.last = nil, nil
			mends := fault.KindOf(err) == fault.Unavailable && !v.held.IsZero() && time.Since(v.held) < leasedFor
			if calledOff || ctx.Err() == nil && !mends {
				return errors.Join(v.failed, err)
			}
		}
		v.begin(ctx, sending)
		v.wait(ctx, sending, err != nil)
	}
}

// look writes down what has ended and finds what is to be done next.
func (v *visit) look(ctx context.Context) error {
	if len(v.underWay) > 0 && len(v.ended) == 0 && ctx.Err() == nil && time.Since(v.held) < renewedAfter {
		// Something takes its time, and the endpoint is asked for if there is more.
		if err := v.more(ctx); err != nil || len(v.ready) == 0 || v.room() == 0 {
			return err
		}
	}
	if err := v.lastly(ctx, v.turn); err != nil || v.left {
		return err
	}
	return v.more(ctx)
}

// lastly does something also when the job was called off, so that what has ended
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

// room is how many attempts may be begun.
func (v *visit) room() int {
	most := inFlight
	if v.e.FailingSince != nil {
		most = inFlightFailing
	}
	if v.over || time.Since(v.held) > leasedFor-longestAttempt-aheadMost {
		return 0
	}
	return max(0, most-len(v.underWay))
}

// longEnough reports whether others are to have their turn.
func (v *visit) longEnough() bool {
	took := time.Since(v.begun)
	if took < looksFor || took > looksMost {
		return took > looksMost
	}
	for _, since := range v.underWay {
		if time.Since(since) > hangs {
			return false
		}
	}
	return true
}

// begin begins attempts, as many as may be under way.
func (v *visit) begin(ctx, sending context.Context) {
	for len(v.ready) > 0 && v.room() > 0 && ctx.Err() == nil {
		s, e, out, ends := v.Service, v.e, v.ready[0], v.ends // what the attempt may touch
		v.ready, v.underWay[out.ID] = v.ready[1:], time.Now()
		e.URL = cmp.Or(v.to, e.URL)
		go func() {
			end := ending{id: out.ID, outcome: outcome{Outgoing: out, putOff: true}}
			defer func() {
				if p := recover(); p != nil {
					end.err = fmt.Errorf("panic: %v", p)
				}
				ends <- end
			}()
			end.outcome, end.err = s.attempt(sending, e, out)
		}()
	}
}

// wait waits until there is reason to look: many attempts have ended, or all that
// were ready, or one failed, or it is time.
func (v *visit) wait(ctx, sending context.Context, stalled bool) {
	tick := time.NewTimer(looksAgain)
	defer tick.Stop()
	if len(v.ended) > 0 && !stalled || len(v.underWay) == 0 && len(v.ready) > 0 {
		tick.Reset(turnWithin)
	}
	for ended := false; !ended && (len(v.underWay) > 0 || ctx.Err() == nil); {
		calledOff := ctx.Done()
		if ctx.Err() != nil {
			calledOff = nil // what is under way ends soon
		}
		select {
		case e := <-v.ends:
			delete(v.underWay, e.id)
			if v.told == nil { // a listener goes on, and is told
				v.failed = errors.Join(v.failed, e.err)
			}
			if e.EndpointID != "" {
				v.ended = append(v.ended, e.outcome)
			}
			if stalled {
				continue
			}
			v.begin(ctx, sending)
			if len(v.ended) == 1 {
				tick.Reset(turnWithin)
			}
			ended = e.attempt == nil || e.attempt.Error != "" || len(v.ready)+len(v.underWay) == 0 || len(v.ended) >= v.batch/2
		case <-tick.C:
			ended = true
		case <-calledOff:
		}
	}
}

// turn writes down what has ended, as the endpoint is now. When there is no more to
// do, or this one's time is over, it gives the lease up, and has somebody come for
// what is due later.
func (v *visit) turn(ctx context.Context) error {
	var next visit
	err := v.Tx.Do(ctx, func(ctx context.Context) (err error) {
		next = *v
		next.over = v.over || v.longEnough()
		now, err := next.take(ctx)
		if err != nil || next.left {
			return err
		}
		jobs, err := v.settle(ctx, &next.e, v.ended, now)
		if err != nil {
			return err
		}
		next.ended = nil
		if next.e.Status != EndpointActive {
			next.ready, next.over = nil, true
			err = v.Webhooks.Abandon(ctx, v.endpoint, now)
		}
		if err == nil && len(v.underWay) == 0 && (next.over || len(next.ready) == 0) {
			jobs, err = next.giveUp(ctx, jobs, now)
		}
		if err == nil && !next.left && time.Since(v.held) > renewedAfter {
			next.held = time.Now()
			err = v.Webhooks.Lease(ctx, v.endpoint, v.lease, now.Add(leasedFor))
		}
		if err != nil {
			return err
		}
		return v.Tasks.Add(ctx, jobs...)
	})
	if err != nil {
		return err
	}
	if v.told != nil {
		for _, o := range v.ended {
			v.told(o)
		}
	}
	*v = next
	return nil
}

// take locks the endpoint, which has to be this one's, or nobody's if this one is
// new, and says when that was.
func (v *visit) take(ctx context.Context) (now time.Time, err error) {
	before := v.e
	v.e, err = v.Webhooks.Lock(ctx, v.endpoint)
	now = v.Clock.Now() // and not before others let go of it
	switch {
	case fault.KindOf(err) == fault.NotFound:
		v.left = true // deleted meanwhile, with all that was to be sent there
		return now, nil
	case err != nil:
		return now, err
	case !v.held.IsZero() && v.e.Lease != v.lease, // they send again what is not written down
		v.held.IsZero() && v.e.leased(now),          // before they leave they look once more
		(v.e.ListeningUntil != nil) != (v.to != ""): // its listener sends that
		v.left = true
	case v.e.Version != before.Version:
		v.ready, v.last = nil, nil // its owner has changed it
	}
	return now, nil
}

// leased reports whether somebody looks after the endpoint.
func (e *Endpoint) leased(now time.Time) bool {
	return e.LeasedUntil != nil && e.LeasedUntil.After(now)
}

// horizon is until when things are due, by the clock that is ahead.
func (v *visit) horizon(now time.Time) time.Time {
	if v.seen.After(now) {
		return v.seen
	}
	return now
}

// more reads more of what is due, if that can be begun soon.
func (v *visit) more(ctx context.Context) error {
	if v.over || len(v.ready) > v.batch/2 || len(v.ready) == 0 && v.room() == 0 {
		return nil
	}
	if time.Since(v.read) < 4*turnWithin {
		v.batch = min(2*v.batch, readMost)
	} else {
		v.batch = readFirst
	}
	mine := func(o Outgoing) bool {
		_, begun := v.underWay[o.ID]
		return begun || slices.ContainsFunc(v.ready, func(r Outgoing) bool { return r.ID == o.ID })
	}
	for n := v.batch; ; {
		again := v.last != nil
		more, err := v.Webhooks.Due(ctx, v.endpoint, v.horizon(v.Clock.Now()), v.last, n)
		if err != nil {
			return err
		}
		v.last = nil
		if len(more) == n {
			last := more[n-1].Delivery
			v.last = &last
		}
		more = slices.DeleteFunc(more, mine)
		v.ready, v.read = slices.Concat(v.ready, more), time.Now()
		// What another process has made due may stand before what was read last.
		if len(more) > 0 || !again {
			return nil
		}
	}
}

// giveUp ends the lease, unless there is more to do, and has somebody come when
// something is due next.
func (v *visit) giveUp(ctx context.Context, jobs []task.Task, now time.Time) ([]task.Task, error) {
	at, err := v.Webhooks.NextAt(ctx, v.endpoint)
	if err != nil || !v.over && at != nil && !at.After(v.horizon(now)) {
		return jobs, err
	}
	v.left = true
	if !v.held.IsZero() {
		err = v.Webhooks.Lease(ctx, v.endpoint, "", now)
	}
	if err != nil || at == nil || v.to != "" {
		return jobs, err
	}
	if at.After(v.horizon(now)) {
		// Everybody who leaves has somebody come at that moment, and once is enough.
		// But before long somebody may have been there whose clock is ahead.
		key := v.endpoint + ":" + strconv.FormatInt(at.UnixMicro(), 10)
		if at.Before(now.Add(aheadMost)) {
			key += ":" + strconv.FormatInt(now.Unix(), 10)
		}
		return append(jobs, lookAt(v.endpoint, key, *at)), nil
	}
	return append(jobs, lookAt(v.endpoint, v.endpoint+":next:"+v.lease, now)), nil
}
