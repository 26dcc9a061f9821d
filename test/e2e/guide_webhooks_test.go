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

// TestWebhookGuide_Receivers_VerifyDeliveries checks that the receivers in the guide verify
// real deliveries. The test of the Node receiver is in test/heavy, since it needs a package.
func TestWebhookGuide_Receivers_VerifyDeliveries(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		t.Run("Go", func(t *testing.T) {
			t.Parallel()

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

// TestWebhookGuide_Examples_EqualDeliveries checks that the commands of the guide work as
// printed, and that its examples have the members and headers of real deliveries.
func TestWebhookGuide_Examples_EqualDeliveries(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		text := guideText(t, "webhooks")
		receiver := newReceiver(t)
		developer := server.seeker(t)
		app := developer.app()

		commands := guideBlocks(t, "webhooks", "sh")
		require.Len(t, commands, 3)

		create, sendTest, replay := commands[0], commands[1], commands[2]

		run := func(script string, additionalEnv ...string) string {
			t.Helper()

			shell := exec.Command("bash", "-ec", script)
			shell.Env = append(os.Environ(), "BASE="+server.url, "TOKEN="+developer.token, "APP="+app, "URL="+receiver.URL)
			shell.Env = append(shell.Env, additionalEnv...)
			output, err := shell.CombinedOutput()
			require.NoError(t, err, "%s", output)

			return string(output)
		}

		// The commands create a webhook, send a test event to it, and replay its failed deliveries.
		created := run(create)
		require.Contains(t, created, `"secret":"whsec_`)

		id := regexp.MustCompile(`"webhook":\{"id":"([^"]+)"`).FindStringSubmatch(created)
		require.NotNil(t, id, created)

		path := "/api/developers/apps/" + app + "/webhooks/" + id[1]
		require.Contains(t, run(sendTest, "HOOK="+server.url+path), `"type":"job.created"`)

		replay = strings.ReplaceAll(replay, "2026-11-20T00:00:00Z", time.Now().UTC().Format(time.RFC3339))
		require.Contains(t, run(replay, "HOOK="+server.url+path), `"count":0`)

		// Send a test event of each other type.
		for _, eventType := range everyEvent[1:] {
			developer.post(path+"/test", object{"type": eventType}).ok(202)
		}

		deliveries := receiver.waitForHits(len(everyEvent))

		// Every example has the members of a delivery, and every event type is documented.
		examples := map[string]object{} // by the type of the event

		for _, block := range guideBlocks(t, "webhooks", "json") {
			var example object
			require.NoError(t, json.Unmarshal([]byte(block), &example))

			examples[example["type"].(string)] = example
		}

		require.Len(t, examples, 3)

		for _, delivery := range deliveries {
			eventType := delivery.body.Type
			require.Contains(t, text, "| `"+eventType+"` |")

			// The guide has one example for all events of jobs, which have the same members.
			if strings.HasPrefix(eventType, "job.") {
				eventType = "job.created"
			}

			var body object
			require.NoError(t, json.Unmarshal([]byte(delivery.raw), &body))
			delete(body["data"].(object), "test") // only test events have this member
			require.Equal(t, members(body), members(examples[eventType]), eventType)
		}

		for _, header := range []string{
			"webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt",
			"content-type", "user-agent",
		} {
			require.Contains(t, text, "\n"+header+": ")
			require.NotEmpty(t, deliveries[0].headers.Get(header))
		}
	})
}

// members returns the structure of a JSON value: its member names at every level, without the
// values.
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

// TestWebhookGuide_RetrySchedule_IsCurrent checks that the table of the guide lists the delays
// of the code.
func TestWebhookGuide_RetrySchedule_IsCurrent(t *testing.T) {
	t.Parallel()

	units := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) (s|min|h) \|$`)

	var documented []time.Duration
	for i, row := range rows.FindAllStringSubmatch(guideText(t, "webhooks"), -1) {
		attempt, delay, unit := row[1], row[2], row[3]
		require.Equal(t, fmt.Sprint(i+1), attempt)

		count, err := strconv.Atoi(delay)
		require.NoError(t, err)

		documented = append(documented, time.Duration(count)*units[unit])
	}

	require.Equal(t, integrations.Retries(), documented)
}
