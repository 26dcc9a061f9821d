package bootstrap

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/modules/integrations"
)

// developers returns the operator's commands for third-party applications.
func (o *operator) developers() *cobra.Command {
	group := groupOf("developers", "Manage the applications of developers")
	group.AddCommand(&cobra.Command{
		Use: "plan APP_ID PLAN", Short: "Set the plan of an application (free, professional, enterprise) without a payment", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s *integrations.Service
			return o.withServices(cmd, func(ctx context.Context) error {
				a, err := s.SetPlan(ctx, args[0], args[1])
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) is on the plan %s\n", a.Name, a.ID, a.Plan)
				}
				return err
			}, &s)
		},
	})
	return group
}
