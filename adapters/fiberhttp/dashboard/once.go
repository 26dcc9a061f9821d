package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/idempotency"
)

// submitOnce returns a handler that handles the same form only once. It is for forms that create
// something and show a secret once. Each rendered form has a random key in its hidden field "once". If
// the user sends the same form again, for example by reloading the response, the user is redirected to
// the created resource. The secret is not shown again.
//
// A form without the hidden field is handled each time.
func (d *dashboard) submitOnce(handle pages.Handler) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		if c.FormValue("once") == "" {
			return handle(ctx, c, viewer)
		}

		// The key is the hash of all values: the same form with changed values is a new request.
		sum := sha256.Sum256(append([]byte(c.Path()+"\n"), c.Request().Body()...))
		request := idempotency.Request{OwnerID: viewer.User.ID, Operation: "form", Key: hex.EncodeToString(sum[:])}
		operation := idempotency.Operation{
			// Run handles the form, which sends the response itself. The answer that is stored for
			// later submissions has only the path of what was created.
			Run: func(ctx context.Context) (idempotency.Answer, error) {
				if err := handle(ctx, c, viewer); err != nil {
					return idempotency.Answer{}, err
				}

				createdPath := c.GetRespHeader(fiber.HeaderContentLocation)
				if createdPath == "" {
					return idempotency.Answer{}, errNothingCreated
				}

				return idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte(createdPath)}, nil
			},
			// The form may contain a password. Hashing it takes too long for a transaction.
			Remote: true,
			// Fallback is the answer if the process ended while the form was handled, so that the
			// result is not known. The list of applications shows what exists.
			Fallback: idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte("/developers")},
			// An error is not stored, so that the user can send the form again.
			Refusal: func(error) (a idempotency.Answer, keep bool) { return a, false },
		}

		stored, err := d.doOnce(ctx, request, operation)
		if errors.Is(err, errNothingCreated) {
			return nil // handle has sent the form with its problem
		}

		isFirstSubmission := stored == nil
		if err != nil || isFirstSubmission {
			return err
		}

		return c.Redirect(string(stored.Body)+"?notice=again", fiber.StatusSeeOther)
	}
}

// doOnce executes the operation. If the same form is being handled by another request, doOnce waits for
// the result up to maxWait. If the operation was executed now, the result is nil. If it was executed
// before, the result is its stored answer.
func (d *dashboard) doOnce(ctx context.Context, r idempotency.Request, o idempotency.Operation) (*idempotency.Answer, error) {
	for deadline := time.Now().Add(maxWait); ; time.Sleep(pollInterval) {
		stored, err := d.idempotency.Do(ctx, r, o)
		if !errors.Is(err, idempotency.ErrInProgress) || time.Now().After(deadline) {
			return stored, err
		}
	}
}

// errNothingCreated is the error of the operation of submitOnce for a form with a problem. Because of
// this error, no result is stored, so that the user can correct the form and send it again.
var errNothingCreated = errors.New("the form created nothing")

// setContentLocation sets the header Content-Location to the path of the created resource, to
// which submitOnce redirects repeated submissions.
func setContentLocation(c *fiber.Ctx, path string) { c.Set(fiber.HeaderContentLocation, path) }
