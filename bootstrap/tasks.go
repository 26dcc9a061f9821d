package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/task"
)

// tasks returns the operator's commands for background tasks.
func (o *operator) tasks() *cobra.Command {
	group := newGroup("tasks", "Look at background work, and decide what becomes of dead tasks")

	var filter task.Filter
	var state string
	list := &cobra.Command{
		Use:   "list",
		Short: "List tasks: the dead ones, or those of another state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter.State = task.State(state)
			if states := []task.State{task.Dead, task.Waiting, task.Running, task.Done}; !slices.Contains(states, filter.State) {
				return fmt.Errorf("--state: want one of dead, waiting, running, done")
			}

			if filter.Limit < 1 || filter.Limit > 10_000 {
				return fmt.Errorf("--limit: want a number from 1 to 10000")
			}

			return o.withStorage(cmd, func(ctx context.Context, _ *config.Config, store *storage) error {
				records, err := store.tasks().List(ctx, filter)
				if err != nil {
					return err
				}

				t := newTable(cmd.OutOrStdout(), "ID", "KIND", "STATE", "ATTEMPTS", "WHEN", "KEY", "ERROR")
				for _, record := range records {
					when := record.RunAt
					if !record.EndedAt.IsZero() {
						when = record.EndedAt
					}

					lastError := oneLine(errors.New(record.Err)) // without secrets
					t.add(
						record.ID,
						record.Kind,
						record.State,
						record.Attempt,
						when.Format(time.RFC3339),
						record.Key,
						dashIfEmpty(lastError),
					)
				}

				return t.Flush()
			})
		},
	}
	list.Flags().StringVar(&state, "state", string(task.Dead), "dead, waiting, running or done")
	list.Flags().StringVar(&filter.Kind, "kind", "", "only tasks of this kind")
	list.Flags().IntVar(&filter.Limit, "limit", 50, "how many at most")

	group.AddCommand(list,
		o.changeTasks("retry", "Try dead tasks again, and waiting ones at once", "retried", task.Store.Retry),
		o.changeTasks("drop", "Remove tasks that are not running; what they were to do is not done", "dropped", task.Store.Drop))

	return group
}

// maxTasksAtOnce is the maximum number of tasks that one statement changes.
const maxTasksAtOnce = 500

// taskChange is a method of task.Store that changes the tasks with the ids. It returns the number of
// changed tasks: those that do not exist, or are in another state, are not changed.
type taskChange func(tasks task.Store, ctx context.Context, ids []string) (changed int, err error)

// changeTasks returns a command for tasks by id, or for all dead ones. done is what the command prints
// before the number of changed tasks.
func (o *operator) changeTasks(name, short, done string, change taskChange) *cobra.Command {
	var allDead bool
	var kind string
	cmd := &cobra.Command{Use: name + " [ID...]", Short: short, RunE: func(cmd *cobra.Command, ids []string) error {
		hasIDs := len(ids) > 0
		if allDead == hasIDs { // both or none
			return errors.New("want the ids of tasks, or --all-dead")
		}

		if i := slices.IndexFunc(ids, func(s string) bool { return !id.Valid(s) }); i >= 0 {
			return fmt.Errorf("%s is not the id of a task; `locum tasks list` shows them", ids[i])
		}

		return o.withStorage(cmd, func(ctx context.Context, _ *config.Config, store *storage) (err error) {
			var changed int
			if allDead {
				changed, err = change.applyToDead(ctx, store.tasks(), kind)
			} else {
				changed, err = change.apply(ctx, store.tasks(), ids)
			}

			if err != nil {
				return err
			}

			fmt.Fprintf(cmd.OutOrStdout(), "%s %d\n", done, changed)

			if hasIDs && changed < len(ids) {
				return fmt.Errorf("%d of %d are not there or in a state that does not allow it", len(ids)-changed, len(ids))
			}

			return nil
		})
	}}
	cmd.Flags().BoolVar(&allDead, "all-dead", false, "every dead task")
	cmd.Flags().StringVar(&kind, "kind", "", "with --all-dead: only tasks of this kind")

	return cmd
}

// apply changes the tasks with the ids, in batches.
func (change taskChange) apply(ctx context.Context, tasks task.Store, ids []string) (total int, err error) {
	for batch := range slices.Chunk(ids, maxTasksAtOnce) {
		changed, err := change(tasks, ctx, list.Map(batch, strings.ToLower)) // ids are stored in lower case
		if err != nil {
			return total, err
		}

		total += changed
	}

	return total, nil
}

// applyToDead changes all dead tasks of the kind, or of all kinds if it is "". It leaves out tasks that
// die after the command was called, because the operator has not reviewed them.
func (change taskChange) applyToDead(ctx context.Context, tasks task.Store, kind string) (total int, err error) {
	filter := task.Filter{State: task.Dead, Kind: kind, Before: time.Now().UTC(), Limit: maxTasksAtOnce}
	for {
		dead, err := tasks.List(ctx, filter)
		if err != nil {
			return total, err
		}

		changed, err := change.apply(ctx, tasks, list.Map(dead, func(r task.Record) string { return r.ID }))
		if err != nil || changed == 0 {
			return total, err
		}

		total += changed
	}
}
