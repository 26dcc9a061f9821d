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

	var f task.Filter
	var state string
	list := &cobra.Command{
		Use:   "list",
		Short: "List tasks: the dead ones, or those of another state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.State = task.State(state)
			if states := []task.State{task.Dead, task.Waiting, task.Running, task.Done}; !slices.Contains(states, f.State) {
				return fmt.Errorf("--state: want one of dead, waiting, running, done")
			}

			if f.Limit < 1 || f.Limit > 10_000 {
				return fmt.Errorf("--limit: want a number from 1 to 10000")
			}

			return o.withStorage(cmd, func(ctx context.Context, _ *config.Config, store *storage) error {
				records, err := store.tasks().List(ctx, f)
				if err != nil {
					return err
				}

				t := newTable(cmd.OutOrStdout(), "ID", "KIND", "STATE", "ATTEMPTS", "WHEN", "KEY", "ERROR")
				for _, r := range records {
					when := r.RunAt
					if !r.EndedAt.IsZero() {
						when = r.EndedAt
					}

					t.add(r.ID, r.Kind, r.State, r.Attempt, when.Format(time.RFC3339), r.Key, dashIfEmpty(oneLine(errors.New(r.Err))))
				}

				return t.Flush()
			})
		},
	}
	list.Flags().StringVar(&state, "state", string(task.Dead), "dead, waiting, running or done")
	list.Flags().StringVar(&f.Kind, "kind", "", "only tasks of this kind")
	list.Flags().IntVar(&f.Limit, "limit", 50, "how many at most")

	group.AddCommand(list,
		o.changeTasks("retry", "Try dead tasks again, and waiting ones at once", "retried", task.Store.Retry),
		o.changeTasks("drop", "Remove tasks that are not running; what they were to do is not done", "dropped", task.Store.Drop))

	return group
}

// maxTasksAtOnce is the maximum number of tasks that one statement changes.
const maxTasksAtOnce = 500

// changeTasks returns a command for tasks by id, or for all dead ones.
func (o *operator) changeTasks(
	use, short, done string,
	change func(s task.Store, ctx context.Context, ids []string) (int, error),
) *cobra.Command {
	var all bool
	var kind string
	cmd := &cobra.Command{Use: use + " [ID...]", Short: short, RunE: func(cmd *cobra.Command, ids []string) error {
		if all == (len(ids) > 0) {
			return errors.New("want the ids of tasks, or --all-dead")
		}

		if i := slices.IndexFunc(ids, func(s string) bool { return !id.Valid(s) }); i >= 0 {
			return fmt.Errorf("%s is not the id of a task; `locum tasks list` shows them", ids[i])
		}

		return o.withStorage(cmd, func(ctx context.Context, _ *config.Config, store *storage) error {
			total, begun := 0, time.Now().UTC() // tasks that die later have not been reviewed by the operator
			for {
				if all {
					dead, err := store.tasks().List(ctx, task.Filter{State: task.Dead, Kind: kind, Before: begun, Limit: maxTasksAtOnce})
					if err != nil {
						return err
					}

					ids = list.Map(dead, func(r task.Record) string { return r.ID })
				}

				n := 0
				for batch := range slices.Chunk(ids, maxTasksAtOnce) {
					changed, err := change(store.tasks(), ctx, list.Map(batch, strings.ToLower))
					if err != nil {
						return err
					}

					n += changed
				}

				total += n
				if !all || n == 0 {
					break
				}
			}

			fmt.Fprintf(cmd.OutOrStdout(), "%s %d\n", done, total)

			if !all && total < len(ids) {
				return fmt.Errorf("%d of %d are not there or in a state that does not allow it", len(ids)-total, len(ids))
			}

			return nil
		})
	}}
	cmd.Flags().BoolVar(&all, "all-dead", false, "every dead task")
	cmd.Flags().StringVar(&kind, "kind", "", "with --all-dead: only tasks of this kind")

	return cmd
}
