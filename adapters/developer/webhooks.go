package developer

import (
	"fmt"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/modules/integrations"
)

// webhooks describes the webhooks that applications receive.
func webhooks(publicURL string) (out []web.Webhook) {
	seconds := int(integrations.AnswerWithin.Seconds())
	for _, a := range integrations.Catalogue() {
		var samples map[string]string
		if a.Type == (event.JobClosed{}).Type() {
			samples = map[string]string{"status": "closed"}
		}
		out = append(out, web.Webhook{
			Name: a.Type, Summary: a.When, Headers: integrations.EventHeaders{}, Body: a.Body, Samples: samples,
			Description: "Sent to each webhook of an application that subscribes to it and has access to its subject. " +
				"Verify the signature over the bytes of the body as they come; [the guide](" + publicURL + "/docs/guides/webhooks) shows how.",
			Answers: map[string]string{
				"2XX": fmt.Sprintf("It has arrived. The answer has to come within %d seconds; what is in it does not matter.", seconds),
				"410": "The webhook is not wanted any more: it is disabled at once.",
				"default": fmt.Sprintf("Everything else is a failure, as is no answer within %d seconds; redirects are not followed. It is sent again, up to %d times. "+
					"With 429 and 503 a longer Retry-After is kept to, up to 24 hours.", seconds, len(integrations.Retries())),
			},
		})
	}
	return out
}
