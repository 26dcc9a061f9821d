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

// onAccounts runs a command with the service of module identity, on an existing storage. It converts the
// error of the command to a message for the operator.
func (o *operator) onAccounts(cmd *cobra.Command, run func(ctx context.Context, identitySvc *identity.Service) error) error {
	var identitySvc *identity.Service
	return o.withServices(cmd, role{}, func(ctx context.Context) error { return operatorMessage(run(ctx, identitySvc)) }, &identitySvc)
}

// operatorMessage converts an error of a module to a message for the operator.
func operatorMessage(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, identity.ErrUserNotFound):
		return errors.New("there is no account with this e-mail address")
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
				account, err := identitySvc.AccountByEmail(ctx, args[0])
				if err != nil {
					return err
				}

				return showAccount(cmd, account)
			})
		},
	})
	group.AddCommand(o.accountCommands([]accountCommand{
		{
			name:   "lock",
			short:  "End an account's sessions and refuse its password, API keys and OAuth tokens",
			done:   "locked",
			change: (*identity.Service).LockAccount,
		},
		{name: "unlock", short: "Undo lock", done: "unlocked", change: (*identity.Service).UnlockAccount},
		{
			name:   "reset-second-factor",
			short:  "Remove an account's second factor, for a user who has lost the device and the recovery codes",
			done:   "has no second factor now",
			change: (*identity.Service).ResetSecondFactor,
		},
		{name: "sign-out", short: "End an account's sessions", done: "signed out", change: (*identity.Service).SignOutAccount},
	})...)

	return group
}

// accountCommand is an operator's command that changes the account with an e-mail address.
type accountCommand struct {
	name  string
	short string // what the help prints
	done  string // what the command prints after the address
	// change is a method of the service. Its last parameter is the address.
	change func(identitySvc *identity.Service, ctx context.Context, email string) error
}

// accountCommands returns the commands for cobra.
func (o *operator) accountCommands(commands []accountCommand) []*cobra.Command {
	return list.Map(commands, func(command accountCommand) *cobra.Command {
		return &cobra.Command{
			Use: command.name + " EMAIL", Short: command.short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return o.onAccounts(cmd, func(ctx context.Context, identitySvc *identity.Service) error {
					email := args[0]

					err := command.change(identitySvc, ctx, email)
					if err == nil {
						fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", email, command.done)
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
	group.AddCommand(o.accountCommands([]accountCommand{
		{
			name:   "grant",
			short:  "Make an account one of a moderator, who handles reports, jobs and organizations",
			done:   "is a moderator",
			change: (*identity.Service).GrantModerator,
		},
		{name: "revoke", short: "Undo grant", done: "is not a moderator any more", change: (*identity.Service).RevokeModerator},
	})...)

	return group
}

// showAccount prints what an operator may know of the account: it has no secrets.
func showAccount(cmd *cobra.Command, account identity.AccountStatus) error {
	timeOrNo := func(t time.Time) string {
		if t.IsZero() {
			return "no"
		}

		return t.UTC().Format(time.RFC3339)
	}

	principal := identity.Principal{User: account.User, Membership: account.Membership} // its role follows from both

	organization := "-"
	if m := account.Membership; m != nil {
		organization = fmt.Sprintf("%s (%s), %s", account.Organization.Name, m.OrganizationID, m.Role)
	}

	secondFactor := timeOrNo(account.SecondFactor.EnabledAt)
	if account.SecondFactor.Enabled {
		secondFactor = fmt.Sprintf("%s, %d recovery codes left", secondFactor, account.SecondFactor.RecoveryCodesLeft)
	}

	t := newTable(cmd.OutOrStdout(), "id", account.ID)
	t.add("email", account.Email)
	t.add("name", account.Name)
	t.add("role", principal.Role())
	t.add("organization", organization)
	t.add("created", timeOrNo(account.CreatedAt))
	t.add("verified", timeOrNo(account.EmailVerifiedAt))
	t.add("second factor", secondFactor)
	t.add("locked", timeOrNo(account.LockedAt))
	t.add("moderator", timeOrNo(account.ModeratorSince))
	t.add("sessions", account.Sessions)

	return t.Flush()
}

// listings returns the operator's commands for listings.
func (o *operator) listings() *cobra.Command {
	group := newGroup("listings", "Hide listings from the public, and show them again")
	for _, command := range []struct {
		name, short string
		done        string // what the command prints of the listing
		change      func(listingsSvc *listings.Service, ctx context.Context, id string) (listings.Listing, error)
	}{
		{
			name:   "hide",
			short:  "Make a listing not public, whatever its employer does",
			done:   "hidden",
			change: (*listings.Service).Hide,
		},
		{name: "show", short: "Undo hide", done: "shown", change: (*listings.Service).Show},
	} {
		group.AddCommand(&cobra.Command{
			Use: command.name + " ID", Short: command.short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				var listingsSvc *listings.Service

				return o.withServices(cmd, role{}, func(ctx context.Context) error {
					listing, err := command.change(listingsSvc, ctx, args[0])
					if err != nil {
						return operatorMessage(err)
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
						command.done,
						listing.Status,
						public,
					)

					return nil
				}, &listingsSvc)
			},
		})
	}

	return group
}

// audit returns the operator's commands for the audit log.
func (o *operator) audit() *cobra.Command {
	group := newGroup("audit", "Read the audit log")
	var email, organizationID, since string
	var limit int
	command := &cobra.Command{
		Use:   "list",
		Short: "List the newest entries",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 10_000 {
				return errors.New("--limit: must be a number from 1 to 10000")
			}

			if organizationID != "" && !id.Valid(organizationID) {
				return errors.New("--organization: must be the id of an organization")
			}

			filter := audit.Filter{OrganizationID: organizationID}

			if since != "" {
				const endOfDay = false // a date means its beginning

				from, err := listings.ParseMoment(since, endOfDay)
				if err != nil {
					return fmt.Errorf("--since: %w", err)
				}

				filter.From = from
			}

			return o.onAccounts(cmd, func(ctx context.Context, identitySvc *identity.Service) error {
				if email != "" {
					account, err := identitySvc.AccountByEmail(ctx, email)
					if err != nil {
						return err
					}

					filter.About = account.ID
				}

				return listAudit(ctx, cmd, identitySvc, filter, limit)
			})
		},
	}
	command.Flags().StringVar(&email, "user", "", "only entries by or about the account with this e-mail address")
	command.Flags().StringVar(&organizationID, "organization", "", "only entries of the organization with this id")
	command.Flags().StringVar(&since, "since", "", "only entries from this date or date-time on (RFC 3339)")
	command.Flags().IntVar(&limit, "limit", 100, "how many at most")
	group.AddCommand(command)

	return group
}

// listAudit prints the newest entries of the audit log that the filter selects. An actor is the user
// who did something, or a part of the program such as the operator's command.
func listAudit(ctx context.Context, cmd *cobra.Command, identitySvc *identity.Service, filter audit.Filter, limit int) error {
	firstPage := page.After("", limit)

	entries, err := identitySvc.AuditLog.List(ctx, filter, firstPage)
	if err != nil {
		return err
	}

	// Read the e-mail addresses of the users who are actors.
	var userIDs []string
	for _, entry := range entries.Items {
		if isUser := id.Valid(entry.Actor); isUser {
			userIDs = append(userIDs, entry.Actor)
		}
	}

	people, err := identitySvc.People(ctx, userIDs)
	if err != nil {
		return err
	}

	t := newTable(cmd.OutOrStdout(), "TIME", "ACTION", "ACTOR", "ORGANIZATION", "NETWORK", "OBJECT", "DETAIL")
	for _, entry := range entries.Items {
		actor := cmp.Or(people[entry.Actor].Email, entry.Actor)
		t.add(
			entry.At.UTC().Format(time.RFC3339),
			entry.Action,
			dashIfEmpty(actor),
			dashIfEmpty(entry.OrganizationID),
			dashIfEmpty(entry.Network),
			dashIfEmpty(entry.Object),
			dashIfEmpty(entry.Detail),
		)
	}

	return t.Flush()
}

// developers returns the operator's commands for third-party applications.
func (o *operator) developers() *cobra.Command {
	group := newGroup("developers", "Manage the applications of developers")
	group.AddCommand(&cobra.Command{
		Use:   "plan APP_ID PLAN",
		Short: "Set the plan of an application (free, professional, enterprise) without a payment",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var integrationsSvc *integrations.Service

			return o.withServices(cmd, role{}, func(ctx context.Context) error {
				appID, plan := args[0], args[1]

				app, err := integrationsSvc.SetPlan(ctx, appID, plan)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) is on the plan %s\n", app.Name, app.ID, app.Plan)
				}

				return err
			}, &integrationsSvc)
		},
	})

	return group
}
