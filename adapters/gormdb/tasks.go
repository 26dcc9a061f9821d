package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

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
	TaskGroup string
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

// TableName implements schema.Tabler.
func (taskRow) TableName() string { return "tasks" }

// taskGroupRow is a group with the task that runs in it.
type taskGroupRow struct {
	Name   string
	TaskID string
}

// TableName implements schema.Tabler.
func (taskGroupRow) TableName() string { return "task_groups" }

func (r taskRow) task() task.Task {
	return task.Task{ID: r.ID, Kind: r.Kind, Queue: task.QueueName(r.Class), Key: r.Key, Group: r.TaskGroup, Payload: json.RawMessage(r.Payload),
		RunAt: r.RunAt, Trace: r.Trace, Attempt: r.Attempts, CreatedAt: r.CreatedAt}
}

// Add implements task.Adder.
func (d Tasks) Add(ctx context.Context, tasks ...task.Task) error {
	_, err := d.add(ctx, 0, tasks)
	return err
}

// AddAndReserve implements task.Store.
func (d Tasks) AddAndReserve(ctx context.Context, tasks ...task.Task) ([]task.Reference, error) {
	return d.add(ctx, 1, tasks)
}

// handedOutFor is how long a new task may wait to be started before it is enqueued
// again, and handedOutMost the longest such time.
const (
	handedOutFor  = 30 * time.Second
	handedOutMost = 5 * time.Minute
)

// skew is the accepted difference between the clocks of two machines: one decides
// that a task is due and another one starts it.
const skew = 5 * time.Second

// add stores tasks that have been enqueued handOuts times.
func (d Tasks) add(ctx context.Context, handOuts int, tasks []task.Task) ([]task.Reference, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	now := d.clock.Now()
	rows, refs := make([]taskRow, len(tasks)), make([]task.Reference, len(tasks))
	for i, j := range tasks {
		runAt := j.RunAt
		if runAt.IsZero() {
			runAt = now
		}
		due := runAt
		if handOuts > 0 {
			due = now.Add(handedOutFor)
		}
		rows[i] = taskRow{ID: d.newID(), Key: j.Key, Kind: j.Kind, Class: string(j.Queue), TaskGroup: j.Group, Payload: string(j.Payload), Trace: cmp.Or(j.Trace, trace.Parent(ctx)),
			State: string(task.Waiting), HandOuts: handOuts, RunAt: runAt, DueAt: due, CreatedAt: now}
		refs[i] = task.Reference{Queue: j.Queue, Kind: j.Kind, ID: rows[i].ID, Enqueues: handOuts}
	}
	rows, err := d.withoutWaiting(ctx, rows)
	if err != nil || len(rows) == 0 {
		return refs, wrap(err)
	}
	if err := d.insert(ctx, rows); err != nil {
		return nil, wrap(err)
	}
	if handOuts == 0 {
		d.markRecorded(ctx)
	}
	return refs, nil
}

// withoutWaiting returns the rows but those in whose group another task waits that is
// due by then.
func (d Tasks) withoutWaiting(ctx context.Context, rows []taskRow) ([]taskRow, error) {
	var groups []string
	for _, r := range rows {
		if r.TaskGroup != "" {
			groups = append(groups, r.TaskGroup)
		}
	}
	if len(groups) == 0 {
		return rows, nil
	}
	var waiting []taskRow
	err := d.unprepared(ctx).Select("task_group", "run_at").Where(d.dialect.In("task_group", groups)).
		Where("ended_at IS NULL AND task_group <> '' AND state = ?", string(task.Waiting)).Find(&waiting).Error
	earliest := map[string]time.Time{}
	isWaiting := func(r taskRow) bool {
		at, found := earliest[r.TaskGroup]
		if found && !at.After(r.RunAt) {
			return true
		}
		earliest[r.TaskGroup] = r.RunAt
		return false
	}
	for _, w := range waiting {
		isWaiting(w)
	}
	return slices.DeleteFunc(rows, func(r taskRow) bool { return r.TaskGroup != "" && isWaiting(r) }), err
}

// insert stores the rows whose keys are new.
func (d Tasks) insert(ctx context.Context, rows []taskRow) error {
	return d.unprepared(ctx).Clauses(onConflict([]string{"key"})).CreateInBatches(&rows, eventsAtOnce).Error
}

// Due implements task.Store.
func (d Tasks) Due(ctx context.Context, n int) ([]task.Reference, error) {
	now, err := d.readClock(ctx)
	if err != nil {
		return nil, err
	}
	var rows []taskRow
	err = d.inQueue(ctx, func(q *gorm.DB) error {
		err := d.skipLockedRows(q).Select("id", "kind", "class", "task_group", "hand_outs", "run_at", "state").Where("ended_at IS NULL AND due_at <= ?", now).Order("due_at").Limit(n).Find(&rows).Error
		if err != nil {
			return err
		}
		var lost []string // with a group
		// A task is enqueued again after as long as it has waited.
		ids := map[time.Duration][]string{}
		for i := range rows {
			r := &rows[i]
			if r.State == string(task.Running) { // its lease has ended
				r.RunAt = now
			}
			pause := handedOutFor
			for pause < handedOutMost && !r.RunAt.After(now.Add(-pause)) {
				pause = min(2*pause, handedOutMost)
			}
			ids[pause] = append(ids[pause], r.ID)
			r.HandOuts++
			if r.State == string(task.Running) && r.TaskGroup != "" {
				lost = append(lost, r.ID)
			}
		}
		for pause, ids := range ids {
			// MySQL evaluates the columns in their order, which is that of their names.
			err = errors.Join(err, fresh(q).Model(&taskRow{}).Where(d.dialect.In("id", ids)).Updates(map[string]any{
				"due_at": now.Add(pause), "hand_outs": gorm.Expr("hand_outs + 1"),
				"run_at": gorm.Expr("CASE state WHEN ? THEN ? ELSE run_at END", string(task.Running), d.dialect.Typed(now, "timestamptz")), "state": string(task.Waiting),
			}).Error)
		}
		return errors.Join(err, d.endGroups(q, lost))
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b taskRow) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), strings.Compare(a.ID, b.ID))
	})
	out := make([]task.Reference, len(rows))
	for i, r := range rows {
		out[i] = task.Reference{Queue: task.QueueName(r.Class), Kind: r.Kind, ID: r.ID, Enqueues: r.HandOuts}
	}
	return out, nil
}

// Postpone implements task.Store.
func (d Tasks) Postpone(ctx context.Context, refs []task.Reference, until time.Time) error {
	ids := make([]string, len(refs))
	for i, t := range refs {
		ids[i] = t.ID
	}
	return d.inQueue(ctx, func(q *gorm.DB) error {
		return q.Model(&taskRow{}).Where(d.dialect.In("id", ids)).Where("state = ?", string(task.Waiting)).
			Update("due_at", gorm.Expr("CASE WHEN run_at > ? THEN run_at ELSE ? END", until, d.dialect.Typed(until, "timestamptz"))).Error
	})
}

// Start implements task.Store.
func (d Tasks) Start(ctx context.Context, ids []string, lease time.Duration) ([]task.Task, error) {
	now := d.clock.Now()
	// Locked in order, so that callers with common ids do not deadlock.
	ids = slices.Sorted(slices.Values(ids))
	var rows []taskRow
	err := d.inQueue(ctx, func(q *gorm.DB) (err error) {
		rows, err = updateReturning[taskRow](q.Where(d.dialect.In("id", ids)).Where("state = ? AND run_at <= ?", string(task.Waiting), now.Add(skew)), "id",
			map[string]any{"state": string(task.Running), "attempts": gorm.Expr("attempts + 1"), "due_at": now.Add(lease)},
			"id", "key", "kind", "class", "task_group", "payload", "trace", "attempts", "run_at", "created_at")
		if err == nil {
			rows, err = d.beginGroups(q, rows, now)
		}
		return err
	})
	out := make([]task.Task, len(rows))
	for i, r := range rows {
		out[i] = r.task()
	}
	return out, err
}

// beginGroups returns the started tasks but those in whose group another one runs, which
// wait again as if they had not been started.
func (d Tasks) beginGroups(q *gorm.DB, started []taskRow, now time.Time) ([]taskRow, error) {
	var groups []taskGroupRow
	var ids []string
	for _, r := range started {
		if r.TaskGroup != "" {
			groups, ids = append(groups, taskGroupRow{r.TaskGroup, r.ID}), append(ids, r.ID)
		}
	}
	if len(groups) == 0 {
		return started, nil
	}
	// In one order, so that concurrent callers do not deadlock.
	slices.SortFunc(groups, func(a, b taskGroupRow) int { return strings.Compare(a.Name, b.Name) })
	var run []string
	err := cmp.Or(
		fresh(q).Clauses(onConflict([]string{"name"})).Create(&groups).Error,
		fresh(q).Model(&taskGroupRow{}).Where(d.dialect.In("task_id", ids)).Pluck("task_id", &run).Error)
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(run, id) })
	if err != nil || len(ids) == 0 {
		return started, err
	}
	started = slices.DeleteFunc(started, func(r taskRow) bool { return slices.Contains(ids, r.ID) })
	return started, fresh(q).Model(&taskRow{}).Where(d.dialect.In("id", ids)).
		Updates(map[string]any{"state": string(task.Waiting), "attempts": gorm.Expr("attempts - 1"), "due_at": now.Add(handedOutFor)}).Error
}

// endGroups ends the groups of tasks that do not run any more.
func (d Tasks) endGroups(q *gorm.DB, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	running := fresh(q).Model(&taskRow{}).Select("id").Where(d.dialect.In("id", ids)).Where("state = ?", string(task.Running))
	return fresh(q).Where(d.dialect.In("task_id", ids)).Where("task_id NOT IN (?)", running).Delete(&taskGroupRow{}).Error
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
		var rows []taskRow
		err := d.inQueue(ctx, func(q *gorm.DB) (err error) {
			rows, err = updateReturning[taskRow](q.Where(d.dialect.In("id", ids)).Where("attempts = ? AND state = ?", attempt, string(task.Running)), "id", map[string]any{"due_at": until}, "id")
			return err
		})
		if err != nil {
			return lost, err
		}
		for _, id := range ids {
			if !slices.ContainsFunc(rows, func(r taskRow) bool { return r.ID == id }) {
				lost = append(lost, task.Run{ID: id, Attempt: attempt})
			}
		}
	}
	return lost, nil
}

// maxTaskError bounds what is kept of an error.
const maxTaskError = 1000

// RecordOutcomes implements task.Store.
func (d Tasks) RecordOutcomes(ctx context.Context, outcomes ...task.Outcome) error {
	var groups, grouped []string
	for _, o := range outcomes {
		if o.Group != "" {
			groups, grouped = append(groups, o.Group), append(grouped, o.ID)
		}
	}
	err := d.inQueue(ctx, func(q *gorm.DB) error {
		now := d.clock.Now()
		// Not ended_at IS NULL: with few statistics of a young table, Postgres would
		// read all unfinished rows for that, instead of the few ids.
		unfinished := func(attempt int, ids ...string) *gorm.DB {
			return fresh(q).Model(&taskRow{}).Where(d.dialect.In("id", ids)).Where("attempts = ? AND state IN ?", attempt, []string{string(task.Waiting), string(task.Running)})
		}
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
			if o.DoNotCountAttempt {
				counted--
			}
			err := unfinished(o.Attempt, o.ID).Updates(map[string]any{
				"state": string(o.State), "run_at": runAt, "due_at": runAt, "error": clipped(o.Err, maxTaskError), "ended_at": ended, "attempts": counted,
			}).Error
			if err != nil {
				return err
			}
		}
		for attempt, ids := range byAttempt(done) {
			if err := unfinished(attempt, ids...).Updates(map[string]any{"state": string(task.Done), "error": "", "ended_at": now}).Error; err != nil {
				return err
			}
		}
		if len(groups) == 0 {
			return nil
		}
		return cmp.Or(
			fresh(q).Model(&taskRow{}).Where(d.dialect.In("task_group", groups)).Where("ended_at IS NULL AND task_group <> '' AND state = ? AND run_at <= ?", string(task.Waiting), now).Update("due_at", now).Error,
			d.endGroups(q, grouped))
	})
	if err == nil && len(groups) > 0 {
		d.markRecorded(ctx)
	}
	return err
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
	var rows []struct {
		Class  task.QueueName
		State  task.State
		N      int
		Oldest aggregatedTime
	}
	unfinished := d.q(ctx).Model(&taskRow{}).Select("class", "state", "run_at").Where("ended_at IS NULL").Order("due_at").Limit(maxCounted)
	err := d.q(ctx).Table("(?) AS unfinished", unfinished).Select("class, state, COUNT(*) AS n, MIN(run_at) AS oldest").Group("class, state").Scan(&rows).Error
	out := make([]task.Backlog, len(rows))
	for i, r := range rows {
		out[i] = task.Backlog{Queue: r.Class, State: r.State, Tasks: r.N, Oldest: r.Oldest.Time}
	}
	return out, wrap(err)
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
	res := d.unprepared(ctx).Model(&taskRow{}).Where(d.dialect.In("id", ids)).Where("state IN ?", []string{string(task.Dead), string(task.Waiting)}).Updates(map[string]any{
		"attempts": gorm.Expr("CASE state WHEN ? THEN 0 ELSE attempts END", string(task.Dead)), "state": string(task.Waiting), "run_at": now, "due_at": now, "ended_at": nil,
	})
	if res.Error == nil {
		d.markRecorded(ctx)
	}
	return int(res.RowsAffected), wrap(res.Error)
}

// Drop implements task.Store.
func (d Tasks) Drop(ctx context.Context, ids []string) (int, error) {
	res := d.unprepared(ctx).Where(d.dialect.In("id", ids)).Where("state <> ?", string(task.Running)).Delete(&taskRow{})
	return int(res.RowsAffected), wrap(res.Error)
}
