package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// onAccounts runs a command with the service for accounts of an existing storage.
func (o *operator) onAccounts(cmd *cobra.Command, run func(ctx context.Context, identitySvc *identity.Service) error) error {
	var identitySvc *identity.Service
	return o.withServices(cmd, role{}, func(ctx context.Context) error { return userMessage(run(ctx, identitySvc)) }, &identitySvc)
}

// userMessage converts an error of a module to a message for the operator.
func userMessage(err error) error {
	if errors.Is(err, identity.ErrUserNotFound) {
		return errors.New("there is no account with this e-mail address")
	}

	if err == nil {
		return nil
	}

	return faultMessage(err)
}

// users returns the operator's commands for accounts.
func (o *operator) users() *cobra.Command {
	group := newGroup("users", "Look at accounts, lock them and sign them out")
	group.AddCommand(&cobra.Command{
		Use: "show EMAIL", Short: "Show an account with its organization and sessions", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.onAccounts(cmd, func(ctx context.Context, identitySvc *identity.Service) error {
				a, err := identitySvc.AccountByEmail(ctx, args[0])
				if err != nil {
					return err
				}

				return showAccount(cmd, a)
			})
		},
	})
	group.AddCommand(o.changeAccounts([]accountChange{
		{"lock", "End an account's sessions and refuse its password, API keys and OAuth tokens", "locked", (*identity.Service).LockAccount},
		{"unlock", "Undo lock", "unlocked", (*identity.Service).UnlockAccount},
		{
			"reset-second-factor",
			"Remove an account's second factor, for a user who has lost the device and the recovery codes",
			"has no second factor now",
			(*identity.Service).ResetSecondFactor,
		},
		{"sign-out", "End an account's sessions", "signed out", (*identity.Service).SignOutAccount},
	})...)

	return group
}

// accountChange is an operator's command that changes an account.
type accountChange struct {
	use, short, done string
	change           func(*identity.Service, context.Context, string) error
}

// changeAccounts returns the commands of the changes.
func (o *operator) changeAccounts(changes []accountChange) []*cobra.Command {
	return list.Map(changes, func(change accountChange) *cobra.Command {
		return &cobra.Command{
			Use: change.use + " EMAIL", Short: change.short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return o.onAccounts(cmd, func(ctx context.Context, identitySvc *identity.Service) error {
					err := change.change(identitySvc, ctx, args[0])
					if err == nil {
						fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", args[0], change.done)
					}

					return err
				})
			},
		}
	})
}

// admin returns the operator's commands for moderators.
func (o *operator) admin() *cobra.Command {
	group := newGroup("admin", "Choose the moderators of the service")
	group.AddCommand(o.changeAccounts([]accountChange{
		{
			"grant",
			"Make an account one of a moderator, who handles reports, jobs and organizations",
			"is a moderator",
			(*identity.Service).GrantModerator,
		},
		{"revoke", "Undo grant", "is not a moderator any more", (*identity.Service).RevokeModerator},
	})...)

	return group
}

// showAccount prints what an operator may know of the account.
func showAccount(cmd *cobra.Command, a identity.AccountStatus) error {
	when := func(t time.Time) string {
		if t.IsZero() {
			return "no"
		}

		return t.UTC().Format(time.RFC3339)
	}

	p := identity.Principal{User: a.User, Membership: a.Membership}

	organization := "-"
	if m := a.Membership; m != nil {
		organization = fmt.Sprintf("%s (%s), %s", a.Organization.Name, m.OrganizationID, m.Role)
	}

	secondFactor := when(a.SecondFactor.EnabledAt)
	if a.SecondFactor.Enabled {
		secondFactor = fmt.Sprintf("%s, %d recovery codes left", secondFactor, a.SecondFactor.RecoveryCodesLeft)
	}

	t := newTable(cmd.OutOrStdout(), "id", a.ID)
	for _, line := range [][2]any{
		{"email", a.Email},
		{"name", a.Name},
		{"role", p.Role()},
		{"organization", organization},
		{"created", when(a.CreatedAt)},
		{"verified", when(a.EmailVerifiedAt)},
		{"second factor", secondFactor},
		{"locked", when(a.LockedAt)},
		{"moderator", when(a.ModeratorSince)},
		{"sessions", a.Sessions},
	} {
		t.add(line[:]...)
	}

	return t.Flush()
}

// listings returns the operator's commands for listings.
func (o *operator) listings() *cobra.Command {
	group := newGroup("listings", "Hide listings from the public, and show them again")
	for _, change := range []struct {
		use, short, done string
		do               func(*listings.Service, context.Context, string) (listings.Listing, error)
	}{
		{"hide", "Make a listing not public, whatever its employer does", "hidden", (*listings.Service).Hide},
		{"show", "Undo hide", "shown", (*listings.Service).Show},
	} {
		group.AddCommand(&cobra.Command{
			Use: change.use + " ID", Short: change.short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				var service *listings.Service

				return o.withServices(cmd, role{}, func(ctx context.Context) error {
					listing, err := change.do(service, ctx, args[0])
					if err != nil {
						return userMessage(err)
					}

					public := "not public"
					if listing.Open {
						public = "public"
					}

					fmt.Fprintf(
						cmd.OutOrStdout(),
						"%s (%s) is %s: its status is %s and it is %s\n",
						listing.Title,
						listing.ID,
						change.done,
						listing.Status,
						public,
					)

					return nil
				}, &service)
			},
		})
	}

	return group
}

// audit returns the operator's commands for the audit log.
func (o *operator) audit() *cobra.Command {
	group := newGroup("audit", "Read the audit log")
	var user, organization, since string
	var limit int
	command := &cobra.Command{
		Use:   "list",
		Short: "List the newest entries",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 10_000 {
				return errors.New("--limit: must be a number from 1 to 10000")
			}

			f := audit.Filter{OrganizationID: organization}
			if organization != "" && !id.Valid(organization) {
				return errors.New("--organization: must be the id of an organization")
			}

			if since != "" {
				at, err := listings.ParseMoment(since, false)
				if err != nil {
					return fmt.Errorf("--since: %w", err)
				}

				f.From = at
			}

			return o.onAccounts(cmd, func(ctx context.Context, identitySvc *identity.Service) error {
				if user != "" {
					a, err := identitySvc.AccountByEmail(ctx, user)
					if err != nil {
						return err
					}

					f.About = a.ID
				}

				entries, err := identitySvc.AuditLog.List(ctx, f, page.After("", limit))
				if err != nil {
					return err
				}

				var ids []string
				for _, e := range entries.Items {
					if id.Valid(e.Actor) {
						ids = append(ids, e.Actor)
					}
				}

				people, err := identitySvc.People(ctx, ids)
				if err != nil {
					return err
				}

				t := newTable(cmd.OutOrStdout(), "TIME", "ACTION", "ACTOR", "ORGANIZATION", "NETWORK", "OBJECT", "DETAIL")
				for _, e := range entries.Items {
					actor := cmp.Or(people[e.Actor].Email, e.Actor)
					t.add(
						e.At.UTC().Format(time.RFC3339),
						e.Action,
						dashIfEmpty(actor),
						dashIfEmpty(e.OrganizationID),
						dashIfEmpty(e.Network),
						dashIfEmpty(e.Object),
						dashIfEmpty(e.Detail),
					)
				}

				return t.Flush()
			})
		},
	}
	command.Flags().StringVar(&user, "user", "", "only entries by or about the account with this e-mail address")
	command.Flags().StringVar(&organization, "organization", "", "only entries of the organization with this id")
	command.Flags().StringVar(&since, "since", "", "only entries from this date or date-time on (RFC 3339)")
	command.Flags().IntVar(&limit, "limit", 100, "how many at most")
	group.AddCommand(command)

	return group
}

// developers returns the operator's commands for third-party applications.
func (o *operator) developers() *cobra.Command {
	group := newGroup("developers", "Manage the applications of developers")
	group.AddCommand(&cobra.Command{
		Use:   "plan APP_ID PLAN",
		Short: "Set the plan of an application (free, professional, enterprise) without a payment",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s *integrations.Service

			return o.withServices(cmd, role{}, func(ctx context.Context) error {
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
