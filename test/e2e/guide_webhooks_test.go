package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// TestWebhookGuide_Receivers_VerifyDeliveries checks that the programs in the guide to webhooks, which
// receive webhooks, verify the signatures of real deliveries. kit.CheckReceiver starts the program of a
// command, and sends it deliveries from the server. guide returns the code of the guide in a language.
// The program for Node is tested in test/heavy, because it needs a package.
func TestWebhookGuide_Receivers_VerifyDeliveries(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		t.Run("Go", func(t *testing.T) {
			t.Parallel()

			// The program runs in the module of the project, which has the package that it imports.
			file := filepath.Join(t.TempDir(), "main.go")
			require.NoError(t, os.WriteFile(file, []byte(guide(t, "webhooks", "go")), 0o600))

			kit.CheckReceiver(t, server.url, func(ctx context.Context) *exec.Cmd {
				cmd := exec.CommandContext(ctx, "go", "run", file)
				cmd.Dir = "../.."
				return cmd
			})
		})

		t.Run("Python", func(t *testing.T) {
			t.Parallel()

			python := kit.Tool(t, "python3")
			program := guide(t, "webhooks", "python")
			kit.CheckReceiver(t, server.url, func(ctx context.Context) *exec.Cmd {
				return exec.CommandContext(ctx, python, "-c", program)
			})
		})
	})
}

// TestWebhookGuide_Examples_EqualDeliveries checks the guide to webhooks against the server. Its
// commands must work as printed, and its examples must have the members and headers of real
// deliveries.
func TestWebhookGuide_Examples_EqualDeliveries(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		text := guideText(t, "webhooks")
		receiver := newReceiver(t)
		developer := server.seeker(t)
		app := developer.app()

		commands := guideBlocks(t, "webhooks", "sh")
		require.Len(t, commands, 3)

		create, sendTest, replay := commands[0], commands[1], commands[2]

		// run executes a command of the guide with the variables that the guide uses, and returns its output.
		run := func(script string, additionalEnv ...string) string {
			t.Helper()

			shell := exec.Command("bash", "-ec", script)
			shell.Env = append(os.Environ(), "BASE="+server.url, "TOKEN="+developer.token, "APP="+app, "URL="+receiver.URL)
			shell.Env = append(shell.Env, additionalEnv...)
			output, err := shell.CombinedOutput()
			require.NoError(t, err, "%s", output)

			return string(output)
		}

		// The first command creates a webhook.
		created := run(create)
		require.Contains(t, created, `"secret":"whsec_`)

		id := regexp.MustCompile(`"webhook":\{"id":"([^"]+)"`).FindStringSubmatch(created)
		require.NotNil(t, id, created)

		path := "/api/developers/apps/" + app + "/webhooks/" + id[1]

		// The second command sends a test event to the webhook.
		require.Contains(t, run(sendTest, "HOOK="+server.url+path), `"type":"job.created"`)

		// The third command replays the deliveries that have failed since a time, here the present. None
		// has failed.
		replay = strings.ReplaceAll(replay, "2026-11-20T00:00:00Z", time.Now().UTC().Format(time.RFC3339))
		require.Contains(t, run(replay, "HOOK="+server.url+path), `"count":0`)

		// The receiver gets one test event of each type. The first of everyEvent, which lists the types,
		// is job.created, which the second command has sent.
		for _, eventType := range everyEvent[1:] {
			developer.post(path+"/test", object{"type": eventType}).ok(202)
		}

		deliveries := receiver.waitForHits(len(everyEvent))

		t.Run("every event type is documented", func(t *testing.T) {
			for _, delivery := range deliveries {
				require.Contains(t, text, "| `"+delivery.body.Type+"` |")
			}
		})

		t.Run("examples have the members of deliveries", func(t *testing.T) {
			examples := webhookExamples(t)
			for _, delivery := range deliveries {
				// The guide has one example for all events of jobs, which have the same members.
				eventType := delivery.body.Type
				if strings.HasPrefix(eventType, "job.") {
					eventType = "job.created"
				}

				var body object
				require.NoError(t, json.Unmarshal([]byte(delivery.raw), &body))
				delete(body["data"].(object), "test") // only test events have this member
				require.Equal(t, members(body), members(examples[eventType]), eventType)
			}
		})

		t.Run("headers of a delivery are listed, each on its own line", func(t *testing.T) {
			for _, header := range []string{
				"webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt",
				"content-type", "user-agent",
			} {
				require.Contains(t, text, "\n"+header+": ")
				require.NotEmpty(t, deliveries[0].headers.Get(header))
			}
		})
	})
}

// webhookExamples returns the examples of the guide, one for each kind of resource, by the type of the event.
func webhookExamples(t *testing.T) map[string]object {
	t.Helper()

	examples := map[string]object{}
	for _, block := range guideBlocks(t, "webhooks", "json") {
		var example object
		require.NoError(t, json.Unmarshal([]byte(block), &example))

		examples[example["type"].(string)] = example
	}

	require.Len(t, examples, 3)

	return examples
}

// members returns the structure of a JSON value. For an object, it is the structure of each member by
// name. For any other value, it is nil.
func members(value any) any {
	withValues, isObject := value.(object)
	if !isObject {
		return nil
	}

	names := object{}
	for name, member := range withValues {
		names[name] = members(member)
	}

	return names
}

// TestWebhookGuide_RetrySchedule_IsCurrent checks the table of the guide that lists the delays after
// which a failed delivery is repeated. integrations.Retries returns the delays that the server uses.
func TestWebhookGuide_RetrySchedule_IsCurrent(t *testing.T) {
	t.Parallel()

	units := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) (s|min|h) \|$`) // for example "| 2 | 5 min |"

	var documented []time.Duration
	for i, row := range rows.FindAllStringSubmatch(guideText(t, "webhooks"), -1) {
		attempt, number, unit := row[1], row[2], row[3]
		require.Equal(t, fmt.Sprint(i+1), attempt, "attempts are numbered from 1")

		count, err := strconv.Atoi(number)
		require.NoError(t, err)

		documented = append(documented, time.Duration(count)*units[unit])
	}

	require.Equal(t, integrations.Retries(), documented)
}
