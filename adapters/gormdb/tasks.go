package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
)

// Tasks stores background work. It implements task.Store.
type Tasks struct{ *DB }

type taskRow struct {
	ID        string
	Key       string
	Kind      string
	Class     string
	Payload   string
	Trace     string
	State     string
	Attempts  int
	HandOuts  int
	RunAt     time.Time
	DueAt     time.Time
	Error     string
	CreatedAt time.Time `gorm:"autoCreateTime:false"`
	EndedAt   *time.Time
}

// TableName tells GORM the table.
func (taskRow) TableName() string { return "tasks" }

func (r taskRow) task() task.Task {
	return task.Task{ID: r.ID, Kind: r.Kind, Class: task.Class(r.Class), Key: r.Key, Payload: json.RawMessage(r.Payload),
		RunAt: r.RunAt, Trace: r.Trace, Attempt: r.Attempts, CreatedAt: r.CreatedAt}
}

// Add implements task.Adder.
func (d Tasks) Add(ctx context.Context, tasks ...task.Task) error {
	_, err := d.add(ctx, 0, tasks)
	return err
}

// AddHanded implements task.Store.
func (d Tasks) AddHanded(ctx context.Context, tasks ...task.Task) ([]task.Ticket, error) {
	return d.add(ctx, 1, tasks)
}

// handedOutFor is how long a ticket of a new task is trusted to bring it to a
// worker, and handedOutMost that of one that has waited long.
const (
	handedOutFor  = 30 * time.Second
	handedOutMost = 5 * time.Minute
)

// skew is what the clocks of two machines may differ by: whether a task's moment
// has come was decided when it was handed out.
const skew = 5 * time.Second

// add stores tasks that have been handed out so many times.
func (d Tasks) add(ctx context.Context, handOuts int, tasks []task.Task) ([]task.Ticket, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	now := d.clock.Now()
	rows, tickets := make([]taskRow, len(tasks)), make([]task.Ticket, len(tasks))
	for i, j := range tasks {
		runAt := j.RunAt
		if runAt.IsZero() {
			runAt = now
		}
		due := runAt
		if handOuts > 0 {
			due = now.Add(handedOutFor)
		}
		rows[i] = taskRow{ID: d.newID(), Key: j.Key, Kind: j.Kind, Class: string(j.Class), Payload: string(j.Payload), Trace: cmp.Or(j.Trace, trace.Parent(ctx)),
			State: string(task.Waiting), HandOuts: handOuts, RunAt: runAt, DueAt: due, CreatedAt: now}
		tickets[i] = task.Ticket{Class: j.Class, ID: rows[i].ID, Turn: handOuts}
	}
	if err := d.insert(ctx, rows); err != nil {
		return nil, wrap(err)
	}
	if handOuts == 0 {
		d.recorded(ctx)
	}
	return tickets, nil
}

// insert stores the rows whose keys are new. On Postgres each column is one
// parameter, which takes half the time of one for each value.
func (d Tasks) insert(ctx context.Context, rows []taskRow) error {
	if !d.pg() {
		return d.unprepared(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "key"}}, DoNothing: true}).CreateInBatches(&rows, 500).Error
	}
	var ids, keys, kinds, classes, payloads, traces []string
	var runs, dues []time.Time
	for _, r := range rows {
		ids, keys, kinds, classes = append(ids, r.ID), append(keys, r.Key), append(kinds, r.Kind), append(classes, r.Class)
		payloads, traces, runs, dues = append(payloads, r.Payload), append(traces, r.Trace), append(runs, r.RunAt), append(dues, r.DueAt)
	}
	// GORM would spell a slice out; the driver takes a pointer to one as an array.
	return d.q(ctx).Exec(`INSERT INTO tasks (id, key, kind, class, payload, trace, run_at, due_at, state, attempts, hand_outs, error, created_at)
		SELECT *, ?, 0, ?::bigint, '', ?::timestamptz FROM unnest(?::uuid[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::timestamptz[], ?::timestamptz[])
		ON CONFLICT (key) DO NOTHING`, rows[0].State, rows[0].HandOuts, rows[0].CreatedAt,
		idArray(ids), &keys, &kinds, &classes, &payloads, &traces, &runs, &dues).Error
}

// Due implements task.Store.
func (d Tasks) Due(ctx context.Context, n int) ([]task.Ticket, error) {
	now, err := d.readClock(ctx)
	if err != nil {
		return nil, err
	}
	// Who has waited long is left alone for as long again.
	var hold strings.Builder
	var args []any
	for pause := handedOutFor; pause < handedOutMost; pause *= 2 {
		hold.WriteString("WHEN run_at > ? THEN ? ")
		args = append(args, now.Add(-pause), d.dialect.moment(now.Add(pause)))
	}
	args = append(args, d.dialect.moment(now.Add(handedOutMost)), d.dialect.moment(now), now, n)
	var rows []taskRow
	err = d.aside(ctx).Raw(`UPDATE tasks SET hand_outs = hand_outs + 1, due_at = CASE `+hold.String()+`ELSE ? END,
			run_at = CASE state WHEN 'running' THEN ? ELSE run_at END, state = 'waiting'
		WHERE id `+d.dialect.oneOf(`SELECT id FROM tasks WHERE ended_at IS NULL AND due_at <= ? ORDER BY due_at LIMIT ? `+d.dialect.skipLocked())+`
		RETURNING id, class, hand_outs, run_at`, args...).Scan(&rows).Error
	if err != nil {
		return nil, wrap(err)
	}
	slices.SortFunc(rows, func(a, b taskRow) int {
		if c := a.RunAt.Compare(b.RunAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	out := make([]task.Ticket, len(rows))
	for i, r := range rows {
		out[i] = task.Ticket{Class: task.Class(r.Class), ID: r.ID, Turn: r.HandOuts}
	}
	return out, nil
}

// Postpone implements task.Store.
func (d Tasks) Postpone(ctx context.Context, tickets []task.Ticket, until time.Time) error {
	ids := make([]string, len(tickets))
	for i, t := range tickets {
		ids[i] = t.ID
	}
	return wrap(d.aside(ctx).Exec(`UPDATE tasks SET due_at = CASE WHEN run_at > ? THEN run_at ELSE ? END WHERE ? AND state = 'waiting'`,
		until, d.dialect.moment(until), d.dialect.among(ids)).Error)
}

// Start implements task.Store.
func (d Tasks) Start(ctx context.Context, ids []string, lease time.Duration) ([]task.Task, error) {
	now := d.clock.Now()
	var rows []taskRow
	// In the order of the ids, so that callers which share some do not wait for
	// each other in a circle.
	ids = slices.Sorted(slices.Values(ids)) // everybody in the same order
	err := d.aside(ctx).Raw(`UPDATE tasks SET state = 'running', attempts = attempts + 1, due_at = ?
		WHERE ? AND state = 'waiting' AND run_at <= ?
		RETURNING id, key, kind, class, payload, trace, attempts, run_at, created_at`, now.Add(lease), d.dialect.among(ids), now.Add(skew)).Scan(&rows).Error
	if err != nil {
		return nil, wrap(err)
	}
	out := make([]task.Task, len(rows))
	for i, r := range rows {
		out[i] = r.task()
	}
	return out, nil
}

// byAttempt groups the ids of runs, which one statement may name by their
// number.
func byAttempt(runs []task.Run) map[int][]string {
	out := map[int][]string{}
	for _, r := range runs {
		out[r.Attempt] = append(out[r.Attempt], r.ID)
	}
	return out
}

// Extend implements task.Store.
func (d Tasks) Extend(ctx context.Context, runs []task.Run, lease time.Duration) (lost []task.Run, err error) {
	until := d.clock.Now().Add(lease)
	for attempt, ids := range byAttempt(runs) {
		var kept []string
		err := d.aside(ctx).Raw(`UPDATE tasks SET due_at = ? WHERE ? AND attempts = ? AND state = 'running' RETURNING id`, until, d.dialect.among(ids), attempt).Scan(&kept).Error
		if err != nil {
			return lost, wrap(err)
		}
		for _, id := range ids {
			if !slices.Contains(kept, id) {
				lost = append(lost, task.Run{ID: id, Attempt: attempt})
			}
		}
	}
	return lost, nil
}

// maxTaskError bounds what is kept of an error.
const maxTaskError = 1000

// Settle implements task.Store.
func (d Tasks) Settle(ctx context.Context, outcomes ...task.Outcome) error {
	now := d.clock.Now()
	var done []task.Run
	for _, o := range outcomes {
		if o.State == task.Done {
			done = append(done, o.Run)
			continue
		}
		var ended *time.Time
		if o.State == task.Dead {
			ended = &now
		}
		runAt := o.RunAt
		if runAt.IsZero() {
			runAt = now
		}
		counted := o.Attempt
		if o.Uncounted {
			counted--
		}
		err := d.aside(ctx).Exec(`UPDATE tasks SET state = ?, run_at = ?, due_at = ?, error = ?, ended_at = ?, attempts = ? WHERE id = ? AND attempts = ? AND state IN ('waiting', 'running')`,
			string(o.State), runAt, runAt, clipped(o.Err, maxTaskError), ended, counted, o.ID, o.Attempt).Error
		if err != nil {
			return wrap(err)
		}
	}
	for attempt, ids := range byAttempt(done) {
		// Not ended_at IS NULL: with the little that is known of a young table
		// Postgres would walk all that is unfinished for it, not the few ids.
		err := d.aside(ctx).Exec(`UPDATE tasks SET state = 'done', error = '', ended_at = ? WHERE ? AND attempts = ? AND state IN ('waiting', 'running')`, now, d.dialect.among(ids), attempt).Error
		if err != nil {
			return wrap(err)
		}
	}
	return nil
}

// clipped is text that every database stores: at most n bytes, whole
// characters, no NUL.
func clipped(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}

// Backlog implements task.Store.
func (d Tasks) Backlog(ctx context.Context) ([]task.Backlog, error) {
	var rows []taskRow
	// HandOuts holds the count. The oldest is found by a column that both
	// databases read back as a moment.
	err := d.q(ctx).Raw(`SELECT b.class, b.state, b.n AS hand_outs, tasks.run_at FROM (
			SELECT class, state, COUNT(*) AS n, MIN(due) AS due FROM (
				SELECT class, state, CAST(run_at AS TEXT) || ' ' || CAST(id AS TEXT) AS due FROM tasks WHERE ended_at IS NULL ORDER BY due_at LIMIT ?) AS unfinished
			GROUP BY class, state) AS b
		JOIN tasks ON tasks.id = `+d.dialect.uuid("SUBSTR(b.due, LENGTH(b.due) - 35)"), maxCounted).Scan(&rows).Error
	if err != nil {
		return nil, wrap(err)
	}
	out := make([]task.Backlog, len(rows))
	for i, r := range rows {
		out[i] = task.Backlog{Class: task.Class(r.Class), State: task.State(r.State), Tasks: r.HandOuts, Oldest: r.RunAt}
	}
	return out, nil
}

// List implements task.Store.
func (d Tasks) List(ctx context.Context, f task.Filter) ([]task.Record, error) {
	q := d.q(ctx).Where("state = ?", string(f.State)).Limit(f.Limit)
	if f.State == task.Done || f.State == task.Dead {
		q = q.Where("ended_at IS NOT NULL").Order("ended_at DESC, id DESC")
	} else {
		q = q.Where("ended_at IS NULL").Order("due_at, id")
	}
	if f.Kind != "" {
		q = q.Where("kind = ?", f.Kind)
	}
	if !f.Before.IsZero() {
		q = q.Where("ended_at <= ?", f.Before)
	}
	var rows []taskRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	out := make([]task.Record, len(rows))
	for i, r := range rows {
		out[i] = task.Record{Task: r.task(), State: task.State(r.State), Err: r.Error}
		if r.EndedAt != nil {
			out[i].EndedAt = *r.EndedAt
		}
	}
	return out, nil
}

// Retry implements task.Store.
func (d Tasks) Retry(ctx context.Context, ids []string) (int, error) {
	now := d.clock.Now()
	res := d.unprepared(ctx).Exec(`UPDATE tasks SET state = 'waiting', attempts = CASE state WHEN 'dead' THEN 0 ELSE attempts END, run_at = ?, due_at = ?, ended_at = NULL
		WHERE ? AND state IN ('dead', 'waiting')`, now, now, d.dialect.among(ids))
	if res.Error == nil {
		d.recorded(ctx)
	}
	return int(res.RowsAffected), wrap(res.Error)
}

// Drop implements task.Store.
func (d Tasks) Drop(ctx context.Context, ids []string) (int, error) {
	res := d.unprepared(ctx).Exec(`DELETE FROM tasks WHERE ? AND state <> 'running'`, d.dialect.among(ids))
	return int(res.RowsAffected), wrap(res.Error)
}
