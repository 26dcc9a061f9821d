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
	var in integrations.ListenInput
	listen := &cobra.Command{
		Use:   "listen --forward URL",
		Short: "Forward the events of an application to a URL until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !strings.Contains(in.URL, "://") {
				in.URL = "http://" + in.URL
			}

			return o.withWebhooks(cmd, appID, func(ctx context.Context, s *integrations.Service, a integrations.App) error {
				return listenFor(ctx, cmd, s, a, in)
			})
		},
	}
	listen.Flags().StringVar(&in.URL, "forward", "", "where to send them, like http://localhost:3000/hooks or localhost:3000")
	listen.Flags().StringSliceVar(&in.Events, "events", nil, "types of events, with commas between them (default: all)")
	listen.Flags().StringVar(&in.Secret, "secret", "", "what to sign with, whsec_… (default: a new one)")

	_ = listen.MarkFlagRequired("forward") // it is a flag

	trigger := &cobra.Command{
		Use:   "trigger TYPE",
		Short: "Send a test event to the webhooks and listeners of an application; without a type, list the types",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), strings.Join(integrations.EventTypes(), "\n"))
				return nil
			}

			return o.withWebhooks(cmd, appID, func(ctx context.Context, s *integrations.Service, a integrations.App) error {
				to, err := s.Trigger(ctx, a, args[0])
				switch {
				case err != nil:
					return faultMessage(err)
				case len(to) == 0:
					return fmt.Errorf("no active webhook of %s wants %s; `locum webhooks listen --forward URL` makes one", a.Name, args[0])
				}

				for _, e := range to {
					fmt.Fprintf(cmd.OutOrStdout(), "%s is on its way to %s (webhook %s)\n", args[0], e.URL, e.ID)
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

// withWebhooks runs a command on an application of the storage, with a sender that may
// send to the addresses that the command allows.
func (o *operator) withWebhooks(
	cmd *cobra.Command,
	appID string,
	run func(ctx context.Context, s *integrations.Service, a integrations.App) error,
) error {
	var integrationsSvc *integrations.Service

	return o.withServices(cmd, role{}, func(ctx context.Context) error {
		integrationsSvc.Sender = webhookout.New(webhookout.Options{Private: true})
		where := "its id is on its page at " + integrationsSvc.PublicURL + "/developers"

		a, err := integrationsSvc.FindApp(ctx, appID)
		switch {
		case errors.Is(err, integrations.ErrSeveralApps):
			return fmt.Errorf("there are several applications: choose one with --app; %s", where)
		case errors.Is(err, integrations.ErrAppNotFound) && appID == "":
			return fmt.Errorf("there is no application yet: make one at %s/developers", integrationsSvc.PublicURL)
		case errors.Is(err, integrations.ErrAppNotFound):
			return fmt.Errorf("--app: there is no application %s; %s", appID, where)
		case err != nil:
			return err
		}

		return run(ctx, integrationsSvc, a)
	}, &integrationsSvc)
}

// faultMessage returns a fault as a message for the user of a command.
func faultMessage(err error) error {
	f := fault.Of(err)
	if f.Kind == fault.Unavailable || f.Kind == fault.Internal {
		return err
	}

	if len(f.Fields) > 0 {
		flags := map[string]string{"url": "--forward", "events": "--events", "secret": "--secret"}
		return fmt.Errorf("%s %s", cmp.Or(flags[f.Fields[0].Name], f.Fields[0].Name), f.Fields[0].Message)
	}

	return errors.New(f.Message)
}

// listenerStopTimeout bounds the shutdown of a listener.
const listenerStopTimeout = 5 * time.Second

// listenFor forwards the events of the app to the address of the input until the context ends,
// and prints each of them. The endpoint is removed at the end.
func listenFor(
	ctx context.Context,
	cmd *cobra.Command,
	s *integrations.Service,
	app integrations.App,
	in integrations.ListenInput,
) (err error) {
	endpoint, secret, err := s.Listen(ctx, app, in)
	if err != nil {
		return faultMessage(err)
	}

	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenerStopTimeout)
		defer cancel()

		err = errors.Join(err, s.EndListening(end, endpoint))
	}()

	var printing sync.Mutex
	say := func(format string, args ...any) {
		printing.Lock()
		defer printing.Unlock()

		fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	}

	say(
		"%s: webhooks go to %s\n  signed with  %s\n  try          locum webhooks trigger %s --app %s\n  end          Ctrl-C\n",
		app.Name,
		endpoint.URL,
		secret,
		endpoint.Events[0],
		app.ID,
	)

	err = s.Forward(ctx, endpoint, func(f integrations.Forwarded) {
		answered := f.Answer.Error
		switch {
		case f.Answer.Status != 0:
			answered = fmt.Sprint(f.Answer.Status)
		case answered == "connection":
			answered = "no connection to " + endpoint.URL + ": is it running?"
		}

		say(
			"%s  %-28s %s  %s  %d ms\n",
			f.At.Local().Format(time.TimeOnly),
			f.Type,
			f.EventID,
			cmp.Or(answered, "-"),
			f.Answer.Took.Milliseconds(),
		)
	})
	if errors.Is(err, integrations.ErrWebhookNotFound) {
		return errors.New("the webhook of this listener was deleted; start the listener again to create another")
	}

	return err
}
