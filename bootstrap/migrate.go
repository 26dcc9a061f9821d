package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
)

// migrate returns the commands for the schemas of the databases.
func (o *operator) migrate() *cobra.Command {
	group := newGroup("migrate", "Manage the database's schema")
	group.AddCommand(
		&cobra.Command{Use: "up", Short: "Apply the missing migrations", Args: cobra.NoArgs, RunE: o.migrateUp},
		o.migrateDown(),
		&cobra.Command{Use: "status", Short: "List the migrations", Args: cobra.NoArgs, RunE: o.migrateStatus},
	)

	return group
}

// schemas calls fn for every database that has a schema. prefix names the database in the output
// if there are several.
func (s *storage) schemas(cfg *config.Config, fn func(prefix string, schema adapters.Schema) error) error {
	return s.each(cfg, func(db *database) error {
		if db.Schema == nil {
			return nil
		}

		prefix := ""
		if len(s.databases) > 1 {
			prefix = db.setting + ": "
		}

		return fn(prefix, db.Schema)
	})
}

// migrateUp applies the open migrations of all schemas.
func (o *operator) migrateUp(cmd *cobra.Command, _ []string) error {
	return o.withNewStorage(cmd, func(ctx context.Context, cfg *config.Config, store *storage) error {
		applied := 0

		err := store.schemas(cfg, func(prefix string, schema adapters.Schema) error {
			names, err := schema.Up(ctx)
			for _, name := range names {
				fmt.Fprintf(cmd.OutOrStdout(), "%sapplied %s\n", prefix, name)
			}

			applied += len(names)

			return err
		})
		if err == nil && applied == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "nothing to do")
		}

		return err
	})
}

// migrateDown reverts the newest of the applied migrations of all schemas.
func (o *operator) migrateDown() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "down", Short: "Revert the newest migration, with the data that it holds", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withNewStorage(cmd, func(ctx context.Context, cfg *config.Config, store *storage) error {
				// If the query fails, the table of users does not exist and there is no data to lose.
				if hasUsers, err := store.Identity.Users.Exists(ctx); err == nil && hasUsers && !yes {
					return errors.New("the database holds data, and the migration may delete some; --yes reverts it")
				}

				prefix, newest, err := store.newestSchema(ctx, cfg)
				if err != nil {
					return err
				}

				name, err := newest.Down(ctx)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%sreverted %s\n", prefix, name)
				}

				return err
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "revert the migration of a database that holds data")

	return cmd
}

// newestSchema returns the schema with the newest migration.
func (s *storage) newestSchema(ctx context.Context, cfg *config.Config) (prefix string, newest adapters.Schema, err error) {
	var last time.Time

	err = s.schemas(cfg, func(p string, schema adapters.Schema) error {
		steps, err := schema.Status(ctx)
		for _, step := range steps {
			if step.Applied && !step.AppliedAt.Before(last) {
				prefix = p
				newest = schema
				last = step.AppliedAt
			}
		}

		return err
	})
	if err == nil && newest == nil {
		err = errors.New("there is no migration to revert")
	}

	return prefix, newest, err
}

// migrateStatus prints every migration and whether it is applied.
func (o *operator) migrateStatus(cmd *cobra.Command, _ []string) error {
	return o.withNewStorage(cmd, func(ctx context.Context, cfg *config.Config, store *storage) error {
		return store.schemas(cfg, func(prefix string, schema adapters.Schema) error {
			steps, err := schema.Status(ctx)
			for _, step := range steps {
				state := "pending"
				if step.Applied {
					state = "applied"
				}

				fmt.Fprintf(cmd.OutOrStdout(), "%s%-8s %s\n", prefix, state, step.Name)
			}

			return err
		})
	})
}
