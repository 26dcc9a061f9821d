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

// eachSchema calls fn for every database that has a schema. The prefix is for lines of the output: it
// names the database, and is empty if there is only one.
func (s *storage) eachSchema(cfg *config.Config, fn func(prefix string, schema adapters.Schema) error) error {
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

// migrateUp applies the missing migrations of all schemas.
func (o *operator) migrateUp(cmd *cobra.Command, _ []string) error {
	return o.withNewStorage(cmd, func(ctx context.Context, cfg *config.Config, store *storage) error {
		applied := 0

		err := store.eachSchema(cfg, func(prefix string, schema adapters.Schema) error {
			names, err := schema.Up(ctx)
			for _, name := range names { // also those that were applied before an error
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

// migrateDown returns the command that reverts the newest of the applied migrations of all schemas.
func (o *operator) migrateDown() *cobra.Command {
	isConfirmed := false
	cmd := &cobra.Command{
		Use: "down", Short: "Revert the newest migration, with the data that it holds", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withNewStorage(cmd, func(ctx context.Context, cfg *config.Config, store *storage) error {
				// If the query fails, the table of users does not exist and there is no data to lose.
				if hasUsers, err := store.Identity.Users.Exists(ctx); err == nil && hasUsers && !isConfirmed {
					return errors.New("the database holds data, and the migration may delete some; --yes reverts it")
				}

				prefix, schema, err := store.lastMigratedSchema(ctx, cfg)
				if err != nil {
					return err
				}

				name, err := schema.Down(ctx)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%sreverted %s\n", prefix, name)
				}

				return err
			})
		},
	}
	cmd.Flags().BoolVar(&isConfirmed, "yes", false, "revert the migration of a database that holds data")

	return cmd
}

// lastMigratedSchema returns the schema whose migration was applied last, with its prefix for lines of
// the output.
func (s *storage) lastMigratedSchema(ctx context.Context, cfg *config.Config) (prefix string, last adapters.Schema, err error) {
	var lastAppliedAt time.Time

	err = s.eachSchema(cfg, func(schemaPrefix string, schema adapters.Schema) error {
		migrations, err := schema.Status(ctx)
		for _, migration := range migrations {
			if migration.Applied && !migration.AppliedAt.Before(lastAppliedAt) {
				prefix = schemaPrefix
				last = schema
				lastAppliedAt = migration.AppliedAt
			}
		}

		return err
	})
	if err == nil && last == nil {
		err = errors.New("there is no migration to revert")
	}

	return prefix, last, err
}

// migrateStatus prints every migration and whether it is applied.
func (o *operator) migrateStatus(cmd *cobra.Command, _ []string) error {
	return o.withNewStorage(cmd, func(ctx context.Context, cfg *config.Config, store *storage) error {
		return store.eachSchema(cfg, func(prefix string, schema adapters.Schema) error {
			migrations, err := schema.Status(ctx)
			for _, migration := range migrations {
				state := "pending"
				if migration.Applied {
					state = "applied"
				}

				fmt.Fprintf(cmd.OutOrStdout(), "%s%-8s %s\n", prefix, state, migration.Name)
			}

			return err
		})
	})
}
