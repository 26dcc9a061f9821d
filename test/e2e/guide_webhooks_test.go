package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
			kit.CheckReceiver(t, server.url, func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, python, "-c", program) })
		})
	})
}

// TestWebhookGuide_Examples_EqualDeliveries checks that the commands of the guide work as
// printed, and that its examples have the members and headers of real deliveries.
func TestWebhookGuide_Examples_EqualDeliveries(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		text := guideText(t, "webhooks")
		receiver := newReceiver(t, nil)
		me := server.seeker(t)
		app := me.app()

		var blocks []string
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			blocks = append(blocks, block[1])
		}

		require.Len(t, blocks, 3) // create a webhook, send a test event, replay

		paste := func(script string, env ...string) string {
			t.Helper()

			shell := exec.Command("bash", "-ec", script)
			shell.Env = append(append(os.Environ(), "BASE="+server.url, "TOKEN="+me.token, "APP="+app, "URL="+receiver.URL), env...)
			out, err := shell.CombinedOutput()
			require.NoError(t, err, "%s", out)

			return string(out)
		}

		made := paste(blocks[0])
		require.Contains(t, made, `"secret":"whsec_`)

		id := regexp.MustCompile(`"webhook":\{"id":"([^"]+)"`).FindStringSubmatch(made)
		require.NotNil(t, id, made)

		path := "/api/developers/apps/" + app + "/webhooks/" + id[1]
		require.Contains(t, paste(blocks[1], "HOOK="+server.url+path), `"type":"job.created"`)
		require.Contains(t,
			paste(strings.ReplaceAll(blocks[2], "2026-11-20T00:00:00Z", time.Now().UTC().Format(time.RFC3339)), "HOOK="+server.url+path),
			`"count":0`)

		for _, kind := range everyEvent[1:] {
			me.post(path+"/test", object{"type": kind}).ok(202)
		}

		receiver.waitForHits(len(everyEvent))

		// Every example has the members of a delivery, and every event type is
		// documented.
		examples := map[string]object{}
		for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1) {
			var example object
			require.NoError(t, json.Unmarshal([]byte(block[1]), &example))

			examples[example["type"].(string)] = example
		}

		require.Len(t, examples, 3)

		for _, hit := range receiver.waitForHits(len(everyEvent)) {
			require.Contains(t, text, "| `"+hit.body.Type+"` |")

			kind := hit.body.Type

			// The guide has one example for all events of jobs, which have the same members.
			if strings.HasPrefix(kind, "job.") {
				kind = "job.created"
			}

			var came object
			require.NoError(t, json.Unmarshal([]byte(hit.raw), &came))

			// Only test events have this member.
			delete(came["data"].(object), "test")
			require.Equal(t, members(came), members(examples[kind]), kind)
		}

		for _, header := range []string{
			"webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt",
			"content-type", "user-agent",
		} {
			require.Contains(t, text, "\n"+header+": ")
			require.NotEmpty(t, receiver.waitForHits(len(everyEvent))[0].headers.Get(header))
		}
	})
}

// members returns the structure of a JSON value: its member names at every level, without the
// values.
func members(v any) any {
	o, is := v.(object)
	if !is {
		return nil
	}

	out := object{}
	for name, inner := range o {
		out[name] = members(inner)
	}

	return out
}

// TestWebhookGuide_RetrySchedule_IsCurrent checks that the table of the guide lists the delays
// of the code.
func TestWebhookGuide_RetrySchedule_IsCurrent(t *testing.T) {
	t.Parallel()

	units := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}

	var documented []time.Duration
	for i, row := range regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) (s|min|h) \|$`).FindAllStringSubmatch(guideText(t, "webhooks"), -1) {
		require.Equal(t, fmt.Sprint(i+1), row[1])
		var n int
		_, err := fmt.Sscan(row[2], &n)
		require.NoError(t, err)

		documented = append(documented, time.Duration(n)*units[row[3]])
	}

	require.Equal(t, integrations.Retries(), documented)
}
