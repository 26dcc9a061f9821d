package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
)

// tasks stores background work. It implements task.Store.
//
// When a waiting task is due, Due returns its reference, which the caller enqueues. The queue hands the
// reference to a worker, but it may also lose it: a task that no worker has started is therefore due
// again after some time.
//
// A worker that starts a task gets a lease. If the lease ends before the worker has finished, the task
// waits again. Tasks of the same group run one at a time.
type tasks struct{ *DB }

// taskRow is a row of the table tasks.
type taskRow struct {
	ID       string
	Key      string // unique; a second task with the same key is not stored
	Kind     string
	Queue    task.QueueName `gorm:"column:class"`
	Group    string         `gorm:"column:task_group"` // empty if the task belongs to no group
	Payload  string
	Trace    string // the trace context of the request that has added the task
	State    task.State
	Attempts int       // how often the task has been started
	HandOuts int       // how often the task has been enqueued
	RunAt    time.Time // the task must not start before this time
	// DueAt is when the task is enqueued next. For a running task it is the end of its lease.
	DueAt     time.Time
	Error     string // of the last attempt
	CreatedAt time.Time
	EndedAt   *time.Time // nil until the task is done or dead
}

// taskGroupRow is a row of the table task_groups. The row exists while a task of the group is running.
// The primary key is Name, so that only one task of a group runs at a time.
type taskGroupRow struct{ Name, TaskID string }

// task returns the task of the row.
func (r taskRow) task() task.Task {
	return task.Task{
		ID:        r.ID,
		Kind:      r.Kind,
		Queue:     r.Queue,
		Key:       r.Key,
		Group:     r.Group,
		Payload:   json.RawMessage(r.Payload),
		RunAt:     r.RunAt,
		Trace:     r.Trace,
		Attempt:   r.Attempts,
		CreatedAt: r.CreatedAt,
	}
}

// reference returns what a queue stores of the task.
func (r taskRow) reference() task.Reference {
	return task.Reference{Queue: r.Queue, Kind: r.Kind, ID: r.ID, Enqueues: r.HandOuts}
}

// Add implements task.Adder. The tasks are enqueued when Due returns them.
func (d tasks) Add(ctx context.Context, tasks ...task.Task) error {
	const neverEnqueued = 0
	_, err := d.add(ctx, neverEnqueued, tasks)

	return err
}

// AddAndReserve implements task.Store. The caller enqueues the tasks itself.
func (d tasks) AddAndReserve(ctx context.Context, tasks ...task.Task) ([]task.Reference, error) {
	const enqueuedOnce = 1
	return d.add(ctx, enqueuedOnce, tasks)
}

// A task that has been enqueued is enqueued again if no worker has started it, because the queue may have lost its
// reference. The time until then is minHandOutInterval for a new task. It grows with the time for which the task has
// waited, up to maxHandOutInterval. To hand out a task means to enqueue it.
const (
	minHandOutInterval = 30 * time.Second
	maxHandOutInterval = 5 * time.Minute
)

// maxStartSkew is how far the clock of the machine that starts a task may be behind the clock
// of the machine that decided that the task is due.
const maxStartSkew = 5 * time.Second

// add stores tasks and returns their references. handOuts is 1 if the caller enqueues the tasks itself, and 0 if Due
// has to enqueue them.
//
// A task is ignored if its work is stored already: its key exists, or dropAlreadyWaiting drops it. Its reference is
// returned nevertheless, because workers ignore a reference without a task.
func (d tasks) add(ctx context.Context, handOuts int, tasks []task.Task) ([]task.Reference, error) {
	if len(tasks) == 0 {
		return nil, nil
	}

	rows := d.newRows(ctx, handOuts, tasks)
	refs := list.Map(rows, taskRow.reference)

	rows, err := d.dropAlreadyWaiting(ctx, rows)
	if err != nil || len(rows) == 0 {
		return refs, wrap(err)
	}

	err = d.unprepared(ctx).Clauses(ignoreOnConflict([]string{"key"})).CreateInBatches(&rows, eventBatchSize).Error
	if err != nil {
		return nil, wrap(err)
	}

	if handOuts == 0 { // wakes the process that calls Due, which would otherwise find the tasks only later
		d.markWorkAdded(ctx)
	}

	return refs, nil
}

// newRows returns the rows of new tasks that are waiting. See add for handOuts.
func (d tasks) newRows(ctx context.Context, handOuts int, tasks []task.Task) []taskRow {
	now := d.clock.Now()

	return list.Map(tasks, func(t task.Task) taskRow {
		runAt := cmp.Or(t.RunAt, now)

		due := runAt
		if handOuts > 0 {
			due = now.Add(minHandOutInterval)
		}

		return taskRow{
			ID:        d.newID(),
			Key:       t.Key,
			Kind:      t.Kind,
			Queue:     t.Queue,
			Group:     t.Group,
			Payload:   string(t.Payload),
			Trace:     cmp.Or(t.Trace, trace.Parent(ctx)),
			State:     task.Waiting,
			HandOuts:  handOuts,
			RunAt:     runAt,
			DueAt:     due,
			CreatedAt: now,
		}
	})
}

// dropAlreadyWaiting removes rows whose group already contains a waiting task that runs at the same time or
// earlier, because that task does the same work. The waiting task may be in the database or earlier in rows.
func (d tasks) dropAlreadyWaiting(ctx context.Context, rows []taskRow) ([]taskRow, error) {
	groups := withoutEmpty(list.Distinct(rows, func(r taskRow) string { return r.Group }))
	if len(groups) == 0 {
		return rows, nil
	}

	var waiting []taskRow
	err := d.unprepared(ctx).
		Select("task_group", "run_at").
		Where(d.dialect.In("task_group", groups)).
		Where("ended_at IS NULL AND task_group <> '' AND state = ?", task.Waiting).
		Find(&waiting).
		Error

	// earliest maps each group to the earliest time at which one of its waiting tasks runs.
	earliest := map[string]time.Time{}
	for _, w := range waiting {
		if runAt, isKnown := earliest[w.Group]; !isKnown || w.RunAt.Before(runAt) {
			earliest[w.Group] = w.RunAt
		}
	}

	var kept []taskRow
	for _, r := range rows {
		if runAt, isKnown := earliest[r.Group]; isKnown && !r.RunAt.Before(runAt) {
			continue // the waiting task runs no later
		}

		kept = append(kept, r)

		if r.Group != "" {
			earliest[r.Group] = r.RunAt
		}
	}

	return kept, err
}

// Due implements task.Store. It returns the references of at most n tasks that are due, and marks them as enqueued.
func (d tasks) Due(ctx context.Context, n int) ([]task.Reference, error) {
	now, err := d.nowAndRepair(ctx)
	if err != nil {
		return nil, err
	}

	var rows []taskRow

	// Concurrent callers skip the rows that this one has locked.
	err = d.inQueue(ctx, func(q *gorm.DB) error {
		err := d.skipLockedRows(q).
			Select("id", "kind", "class", "task_group", "hand_outs", "run_at", "state").
			Where("ended_at IS NULL AND due_at <= ?", now).
			Order("due_at").
			Limit(n).
			Find(&rows).
			Error
		if err != nil {
			return err
		}

		return d.markEnqueued(q, rows, now)
	})
	if err != nil {
		return nil, err
	}

	// The longest due first. Tasks that were added together have the same RunAt, and ids in order.
	slices.SortFunc(rows, func(a, b taskRow) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), strings.Compare(a.ID, b.ID))
	})

	return list.Map(rows, taskRow.reference), nil
}

// markEnqueued stores that the due tasks are enqueued now, and changes due in the same way. A due task in the state
// running has lost its lease, because DueAt of a running task is the end of the lease. Such a task waits
// again, and another task of its group may run.
func (d tasks) markEnqueued(q *gorm.DB, due []taskRow, now time.Time) error {
	var lostInGroup []string // the ids of tasks of a group that have lost their lease

	// One statement updates all tasks with the same pause until they are enqueued again.
	idsByPause := map[time.Duration][]string{}
	for i := range due {
		r := &due[i]
		r.HandOuts++

		if r.State == task.Running {
			r.RunAt = now

			if r.Group != "" {
				lostInGroup = append(lostInGroup, r.ID)
			}
		}

		pause := handOutInterval(now.Sub(r.RunAt))
		idsByPause[pause] = append(idsByPause[pause], r.ID)
	}

	for pause, ids := range idsByPause {
		// A task that has lost its lease waits from now on. All others keep their time. The expression reads the
		// state from before the update, although the same statement changes the state.
		runAt := gorm.Expr("CASE state WHEN ? THEN ? ELSE run_at END", task.Running, d.dialect.Typed(now, "timestamptz"))

		err := newStatement(q).Model(&taskRow{}).Where(d.dialect.In("id", ids)).Updates(map[string]any{
			"due_at":    now.Add(pause),
			"hand_outs": gorm.Expr("hand_outs + 1"),
			"run_at":    runAt,
			"state":     task.Waiting,
		}).Error
		if err != nil {
			return err
		}
	}

	return d.endGroups(q, lostInGroup)
}

// handOutInterval returns the time after which a task is enqueued again that has already waited for the given time. It
// is the shortest of 30 s, 1 min, 2 min, 4 min and 5 min that is longer than waited, and at most 5 min. There are few
// different intervals, so that few statements update all tasks.
func handOutInterval(waited time.Duration) time.Duration {
	interval := minHandOutInterval
	for interval < maxHandOutInterval && interval <= waited {
		interval = min(2*interval, maxHandOutInterval)
	}

	return interval
}

// Postpone implements task.Store. It makes the tasks due at the given time, or at their RunAt if that is
// later.
func (d tasks) Postpone(ctx context.Context, refs []task.Reference, until time.Time) error {
	ids := list.Map(refs, func(ref task.Reference) string { return ref.ID })
	laterOfBoth := gorm.Expr("CASE WHEN run_at > ? THEN run_at ELSE ? END", until, d.dialect.Typed(until, "timestamptz"))

	return d.inQueue(ctx, func(q *gorm.DB) error {
		waiting := q.Model(&taskRow{}).Where(d.dialect.In("id", ids)).Where("state = ?", task.Waiting)
		return waiting.Update("due_at", laterOfBoth).Error
	})
}

// Start implements task.Store. It returns those of the tasks that are still waiting and can start now. An
// enqueued task may have been started by another worker in the meantime.
func (d tasks) Start(ctx context.Context, ids []string, lease time.Duration) ([]task.Task, error) {
	now := d.clock.Now()

	// Rows are locked in the order of ids, so that callers with common ids do not deadlock.
	ids = slices.Sorted(slices.Values(ids))
	changes := map[string]any{"state": task.Running, "attempts": gorm.Expr("attempts + 1"), "due_at": now.Add(lease)}
	columns := []string{"id", "key", "kind", "class", "task_group", "payload", "trace", "attempts", "run_at", "created_at"}

	var started []taskRow
	err := d.inQueue(ctx, func(q *gorm.DB) error {
		waiting := q.Where(d.dialect.In("id", ids)).Where("state = ? AND run_at <= ?", task.Waiting, now.Add(maxStartSkew))

		candidates, err := updateReturning[taskRow](waiting, "id", changes, columns...)
		if err != nil {
			return err
		}

		started, err = d.beginGroups(q, candidates, now)

		return err
	})

	return list.Map(started, taskRow.task), err
}

// beginGroups allows only one task per group to run. candidates were just marked as running. For each candidate with a
// group, it inserts a row for the group, unless the row of another running task exists. It returns the candidates that
// may run. The others return to the state waiting, as if they had not been started.
func (d tasks) beginGroups(q *gorm.DB, candidates []taskRow, now time.Time) (started []taskRow, err error) {
	var groups []taskGroupRow
	var idsWithGroup []string

	for _, r := range candidates {
		if r.Group != "" {
			groups = append(groups, taskGroupRow{Name: r.Group, TaskID: r.ID})
			idsWithGroup = append(idsWithGroup, r.ID)
		}
	}

	if len(groups) == 0 {
		return candidates, nil
	}

	// Insert the groups in which no task is running. All callers insert in the order of the names, so that concurrent
	// callers do not wait for each other in a circle (deadlock).
	slices.SortFunc(groups, func(a, b taskGroupRow) int { return strings.Compare(a.Name, b.Name) })

	err = newStatement(q).Clauses(ignoreOnConflict([]string{"name"})).Create(&groups).Error
	if err != nil {
		return candidates, err
	}

	// Read which tasks have inserted their group. The others are blocked by a running task.
	var inserted []string
	err = newStatement(q).Model(&taskGroupRow{}).Where(d.dialect.In("task_id", idsWithGroup)).Pluck("task_id", &inserted).Error

	blocked := slices.DeleteFunc(idsWithGroup, func(id string) bool { return slices.Contains(inserted, id) })
	if err != nil || len(blocked) == 0 {
		return candidates, err
	}

	// Revert the start of the blocked tasks.
	started = slices.DeleteFunc(candidates, func(r taskRow) bool { return slices.Contains(blocked, r.ID) })
	err = newStatement(q).Model(&taskRow{}).Where(d.dialect.In("id", blocked)).Updates(map[string]any{
		"state":    task.Waiting,
		"attempts": gorm.Expr("attempts - 1"),
		"due_at":   now.Add(minHandOutInterval),
	}).Error

	return started, err
}

// endGroups deletes the rows of the groups of the given tasks, so that other tasks of these groups can run. It keeps
// the row of a task that is running: another worker may have started the task again in the meantime.
func (d tasks) endGroups(q *gorm.DB, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	running := newStatement(q).Model(&taskRow{}).Select("id").Where(d.dialect.In("id", ids)).Where("state = ?", task.Running)

	return newStatement(q).Where(d.dialect.In("task_id", ids)).Where("task_id NOT IN (?)", running).Delete(&taskGroupRow{}).Error
}

// withoutEmpty returns the texts that are not empty.
func withoutEmpty(texts []string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// groupByAttempt returns the ids of the runs by the number of their attempt. A run is one attempt at a task. The ids
// are grouped because one statement can only update runs with the same number.
func groupByAttempt(runs []task.Run) map[int][]string {
	idsByAttempt := map[int][]string{}
	for _, r := range runs {
		idsByAttempt[r.Attempt] = append(idsByAttempt[r.Attempt], r.ID)
	}

	return idsByAttempt
}

// Extend implements task.Store. A run is lost if its task is not running any more, or was started again
// since: then the number of attempts is higher.
func (d tasks) Extend(ctx context.Context, runs []task.Run, lease time.Duration) (lost []task.Run, err error) {
	leaseEnd := d.clock.Now().Add(lease)
	for attempt, ids := range groupByAttempt(runs) {
		var extended []taskRow

		err := d.inQueue(ctx, func(q *gorm.DB) (err error) {
			running := q.Where(d.dialect.In("id", ids)).Where("attempts = ? AND state = ?", attempt, task.Running)
			extended, err = updateReturning[taskRow](running, "id", map[string]any{"due_at": leaseEnd}, "id")

			return err
		})
		if err != nil {
			return lost, err
		}

		for _, id := range ids {
			if !slices.ContainsFunc(extended, func(r taskRow) bool { return r.ID == id }) {
				lost = append(lost, task.Run{ID: id, Attempt: attempt})
			}
		}
	}

	return lost, nil
}

// maxTaskError is the maximum number of bytes of an error that are stored.
const maxTaskError = 1000

// RecordOutcomes implements task.Store. An outcome is the result of a run: the task is done, dead (it
// has failed and is not tried again), or waits for its next attempt.
func (d tasks) RecordOutcomes(ctx context.Context, outcomes ...task.Outcome) error {
	inGroups := slices.DeleteFunc(slices.Clone(outcomes), func(o task.Outcome) bool { return o.Group == "" })
	groups := list.Map(inGroups, func(o task.Outcome) string { return o.Group })

	err := d.inQueue(ctx, func(q *gorm.DB) error {
		now := d.clock.Now()
		if err := d.updateEnded(q, outcomes, now); err != nil {
			return err
		}

		if len(groups) == 0 {
			return nil
		}

		// The next task of each group may start now.
		err := newStatement(q).Model(&taskRow{}).
			Where(d.dialect.In("task_group", groups)).
			Where("ended_at IS NULL AND task_group <> '' AND state = ? AND run_at <= ?", task.Waiting, now).
			Update("due_at", now).
			Error
		if err != nil {
			return err
		}

		return d.endGroups(q, list.Map(inGroups, func(o task.Outcome) string { return o.ID }))
	})
	if err != nil {
		return err
	}

	if len(groups) > 0 { // tasks of these groups have become due
		d.markWorkAdded(ctx)
	}

	return nil
}

// updateEnded updates the tasks whose runs have ended, unless another worker has started the task
// again in the meantime.
func (d tasks) updateEnded(q *gorm.DB, outcomes []task.Outcome, now time.Time) error {
	var done []task.Run
	for _, o := range outcomes {
		if o.State == task.Done {
			done = append(done, o.Run)
			continue
		}

		if err := d.updateFailed(q, o, now); err != nil {
			return err
		}
	}

	// Most runs succeed: one statement updates all of them that have the same number of attempts.
	for attempt, ids := range groupByAttempt(done) {
		changes := map[string]any{"state": task.Done, "error": "", "ended_at": now}
		if err := d.unfinished(q, attempt, ids...).Updates(changes).Error; err != nil {
			return err
		}
	}

	return nil
}

// updateFailed updates the task of a run that has not succeeded, so that the task is dead or waits.
func (d tasks) updateFailed(q *gorm.DB, o task.Outcome, now time.Time) error {
	var endedAt *time.Time
	if o.State == task.Dead {
		endedAt = &now
	}

	runAt := cmp.Or(o.RunAt, now)

	attempts := o.Attempt
	if o.DoNotCountAttempt {
		attempts--
	}

	return d.unfinished(q, o.Attempt, o.ID).Updates(map[string]any{
		"state":    o.State,
		"run_at":   runAt,
		"due_at":   runAt,
		"error":    truncateText(o.Err, maxTaskError),
		"ended_at": endedAt,
		"attempts": attempts,
	}).Error
}

// unfinished returns a query for those of the tasks that are unfinished, and whose latest attempt has
// the given number.
//
// The condition ended_at IS NULL would be equivalent to that of the state. But with the statistics of a
// new table, Postgres would use it to read all unfinished rows instead of a few ids.
func (d tasks) unfinished(q *gorm.DB, attempt int, ids ...string) *gorm.DB {
	return newStatement(q).Model(&taskRow{}).
		Where(d.dialect.In("id", ids)).
		Where("attempts = ? AND state IN ?", attempt, []task.State{task.Waiting, task.Running})
}

// truncateText returns the text as every database can store it: with at most maxBytes bytes,
// without incomplete characters and without NUL.
func truncateText(text string, maxBytes int) string {
	if len(text) > maxBytes {
		text = text[:maxBytes]
	}

	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// Backlog implements task.Store. It counts at most maxBacklogCount unfinished tasks, those that have been
// due for longest.
func (d tasks) Backlog(ctx context.Context) ([]task.Backlog, error) {
	// queueBacklog counts the tasks of a queue in one state.
	type queueBacklog struct {
		Class  task.QueueName // the name of the column for the queue
		State  task.State
		N      int
		Oldest aggregatedTime
	}

	unfinished := d.conn(ctx).
		Model(&taskRow{}).
		Select("class", "state", "run_at").
		Where("ended_at IS NULL").
		Order("due_at").
		Limit(maxBacklogCount)

	var rows []queueBacklog
	err := d.conn(ctx).
		Table("(?) AS unfinished", unfinished).
		Select("class, state, COUNT(*) AS n, MIN(run_at) AS oldest").
		Group("class, state").
		Scan(&rows).
		Error

	return list.Map(rows, func(r queueBacklog) task.Backlog {
		return task.Backlog{Queue: r.Class, State: r.State, Tasks: r.N, Oldest: r.Oldest.Time}
	}), wrap(err)
}

// List implements task.Store.
func (d tasks) List(ctx context.Context, f task.Filter) ([]task.Record, error) {
	q := d.conn(ctx).Where("state = ?", f.State).Limit(f.Limit)

	// The condition on ended_at follows from the state. It is added because the indexes are partial: a database uses
	// such an index only for queries with the condition of the index.
	if f.State == task.Done || f.State == task.Dead {
		q = q.Where("ended_at IS NOT NULL").Order("ended_at DESC, id DESC")
	} else {
		q = q.Where("ended_at IS NULL").Order("due_at, id")
	}

	q = whereEqual(q, "kind", f.Kind)
	q = whereIfSet(q, "ended_at <= ?", f.Before)

	return findRows(q, func(r taskRow) task.Record {
		record := task.Record{Task: r.task(), State: r.State, Err: r.Error}
		if r.EndedAt != nil {
			record.EndedAt = *r.EndedAt
		}

		return record
	})
}

// Retry implements task.Store. It returns the number of tasks that are due now.
func (d tasks) Retry(ctx context.Context, ids []string) (int, error) {
	now := d.clock.Now()

	res := d.unprepared(ctx).
		Model(&taskRow{}).
		Where(d.dialect.In("id", ids)).
		Where("state IN ?", []task.State{task.Dead, task.Waiting}).
		Updates(map[string]any{
			"attempts": gorm.Expr("CASE state WHEN ? THEN 0 ELSE attempts END", task.Dead),
			"state":    task.Waiting,
			"run_at":   now,
			"due_at":   now,
			"ended_at": nil,
		})
	if res.Error == nil {
		d.markWorkAdded(ctx)
	}

	return int(res.RowsAffected), wrap(res.Error)
}

// Drop implements task.Store. It returns the number of deleted tasks.
func (d tasks) Drop(ctx context.Context, ids []string) (int, error) {
	res := d.unprepared(ctx).Where(d.dialect.In("id", ids)).Where("state <> ?", task.Running).Delete(&taskRow{})
	return int(res.RowsAffected), wrap(res.Error)
}
