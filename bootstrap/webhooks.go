package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/locumhq/locum/adapters/webhookout"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

// webhooks returns the commands for developers of receivers, which use the database of a
// running server.
func (o *operator) webhooks() *cobra.Command {
	group := newGroup("webhooks", "Try webhooks with a program on this machine")

	var appID string
	var input integrations.ListenInput
	listen := &cobra.Command{
		Use:   "listen --forward URL",
		Short: "Forward the events of an application to a URL until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !strings.Contains(input.URL, "://") {
				input.URL = "http://" + input.URL
			}

			return o.withApp(cmd, appID, func(ctx context.Context, integrationsSvc *integrations.Service, app integrations.App) error {
				return forwardEvents(ctx, cmd, integrationsSvc, app, input)
			})
		},
	}
	listen.Flags().StringVar(&input.URL, "forward", "", "where to send them, like http://localhost:3000/hooks or localhost:3000")
	listen.Flags().StringSliceVar(&input.Events, "events", nil, "types of events, with commas between them (default: all)")
	listen.Flags().StringVar(&input.Secret, "secret", "", "what to sign with, whsec_… (default: a new one)")

	_ = listen.MarkFlagRequired("forward") // fails only for a flag that does not exist

	trigger := &cobra.Command{
		Use:   "trigger TYPE",
		Short: "Send a test event to the webhooks and listeners of an application; without a type, list the types",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), strings.Join(integrations.EventTypes(), "\n"))
				return nil
			}

			eventType := args[0]

			return o.withApp(cmd, appID, func(ctx context.Context, integrationsSvc *integrations.Service, app integrations.App) error {
				endpoints, err := integrationsSvc.Trigger(ctx, app, eventType)
				switch {
				case err != nil:
					return faultMessage(err)
				case len(endpoints) == 0:
					return fmt.Errorf("no active webhook of %s wants %s; `locum webhooks listen --forward URL` makes one", app.Name, eventType)
				}

				for _, endpoint := range endpoints {
					fmt.Fprintf(cmd.OutOrStdout(), "%s is on its way to %s (webhook %s)\n", eventType, endpoint.URL, endpoint.ID)
				}

				return nil
			})
		},
	}
	for _, command := range []*cobra.Command{listen, trigger} {
		command.Flags().StringVar(&appID, "app", "", "the id of the application (default: the only one there is)")
		group.AddCommand(command)
	}

	return group
}

// withApp runs a command for the application with the id, or for the only one if the id is "". The
// webhooks of the command may be sent to private addresses, because the operator chooses them.
func (o *operator) withApp(
	cmd *cobra.Command,
	appID string,
	run func(ctx context.Context, integrationsSvc *integrations.Service, app integrations.App) error,
) error {
	var integrationsSvc *integrations.Service // set by withServices, before it calls the function
	commandRole := role{}                     // with the clock of the system

	return o.withServices(cmd, commandRole, func(ctx context.Context) error {
		integrationsSvc.Sender = webhookout.New(webhookout.Options{Private: true})
		hint := "its id is on its page at " + integrationsSvc.PublicURL + "/developers"

		app, err := integrationsSvc.FindApp(ctx, appID)
		switch {
		case errors.Is(err, integrations.ErrSeveralApps):
			return fmt.Errorf("there are several applications: choose one with --app; %s", hint)
		case errors.Is(err, integrations.ErrAppNotFound) && appID == "":
			return fmt.Errorf("there is no application yet: make one at %s/developers", integrationsSvc.PublicURL)
		case errors.Is(err, integrations.ErrAppNotFound):
			return fmt.Errorf("--app: there is no application %s; %s", appID, hint)
		case err != nil:
			return err
		}

		return run(ctx, integrationsSvc, app)
	}, &integrationsSvc)
}

// faultMessage returns the error of a module as a message for the user of a command. The messages of
// internal errors are for the clients of a server and have no details, so those errors are returned
// as they are.
func faultMessage(err error) error {
	f := fault.Of(err)
	if f.Kind == fault.Unavailable || f.Kind == fault.Internal {
		return err
	}

	if len(f.Fields) > 0 {
		// A field of the input is named by its flag, if it has one.
		first := f.Fields[0]
		flags := map[string]string{"url": "--forward", "events": "--events", "secret": "--secret"}
		return fmt.Errorf("%s %s", cmp.Or(flags[first.Name], first.Name), first.Message)
	}

	return errors.New(f.Message)
}

// listenerStopTimeout bounds the shutdown of a listener.
const listenerStopTimeout = 5 * time.Second

// forwardEvents forwards the events of the app to the URL of the input until the context ends, and
// prints each of them. For this time the app has an additional webhook (endpoint).
func forwardEvents(
	ctx context.Context,
	cmd *cobra.Command,
	integrationsSvc *integrations.Service,
	app integrations.App,
	input integrations.ListenInput,
) (err error) {
	endpoint, secret, err := integrationsSvc.Listen(ctx, app, input)
	if err != nil {
		return faultMessage(err)
	}

	defer func() {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenerStopTimeout)
		defer cancel()

		err = errors.Join(err, integrationsSvc.EndListening(stopCtx, endpoint))
	}()

	// Events are forwarded concurrently.
	var printing sync.Mutex
	printf := func(format string, args ...any) {
		printing.Lock()
		defer printing.Unlock()

		fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	}

	printf(
		"%s: webhooks go to %s\n  signed with  %s\n  try          locum webhooks trigger %s --app %s\n  end          Ctrl-C\n",
		app.Name,
		endpoint.URL,
		secret,
		endpoint.Events[0],
		app.ID,
	)

	err = integrationsSvc.Forward(ctx, endpoint, func(forwarded integrations.Forwarded) {
		answer := forwarded.Answer

		result := answer.Error
		switch {
		case answer.Status != 0:
			result = fmt.Sprint(answer.Status)
		case answer.Error == "connection":
			result = "no connection to " + endpoint.URL + ": is it running?"
		}

		printf(
			"%s  %-28s %s  %s  %d ms\n",
			forwarded.At.Local().Format(time.TimeOnly),
			forwarded.Type,
			forwarded.EventID,
			dashIfEmpty(result),
			answer.Took.Milliseconds(),
		)
	})
	if errors.Is(err, integrations.ErrWebhookNotFound) {
		return errors.New("the webhook of this listener was deleted; start the listener again to create another")
	}

	return err
}
