package bootstrap

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/modules/integrations"
)

// developers returns the operator's commands for third-party applications.
func (o *operator) developers() *cobra.Command {
	group := groupOf("developers", "Manage the applications of developers")
	group.AddCommand(&cobra.Command{
		Use: "plan APP_ID PLAN", Short: "Set the plan of an application (free, professional, enterprise) without a payment", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withStorage(cmd, func(ctx context.Context, c *config.Config, s *storage) error {
				d := newDeps(c, newLogger(cmd.ErrOrStderr(), "error"))
				a, err := integrations.New(integrations.Deps{Tx: s.Integrations.Tx, Audit: s.Integrations.Audit, Clock: d.Clock, Apps: s.Integrations.Apps}).SetPlan(ctx, args[0], args[1])
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) is on the plan %s\n", a.Name, a.ID, a.Plan)
				}
				return err
			})
		},
	})
	return group
}
