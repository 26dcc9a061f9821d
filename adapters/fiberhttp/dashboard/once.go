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

// submitOnce makes a form idempotent: its hidden field "once" contains a random key. If the
// same form is sent again, for example because the user reloads the response, it redirects to
// the resource that was created, and secrets are not shown again. A form without the field is
// handled each time.
func (d *dashboard) submitOnce(handle pages.Handler) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		if c.FormValue("once") == "" {
			return handle(ctx, c, viewer)
		}

		// The key includes all values: the same form with changed values is a new request.
		sum := sha256.Sum256(append([]byte(c.Path()+"\n"), c.Request().Body()...))
		r := idempotency.Request{OwnerID: viewer.User.ID, Operation: "form", Key: hex.EncodeToString(sum[:])}
		operation := idempotency.Operation{
			Run: func(ctx context.Context) (idempotency.Answer, error) {
				if err := handle(ctx, c, viewer); err != nil {
					return idempotency.Answer{}, err
				}

				location := c.GetRespHeader(fiber.HeaderContentLocation)
				if location == "" {
					return idempotency.Answer{}, errNothingCreated
				}

				return idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte(location)}, nil
			},
			// The form may contain a password. Hashing it takes too long for a transaction.
			Remote: true,
			// If the process ended while the form was handled, the result is not known. The list of
			// applications shows what exists.
			Fallback: idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte("/developers")},
			Refusal:  func(error) (a idempotency.Answer, keep bool) { return a, false },
		}

		stored, err := d.doOnce(ctx, r, operation)
		if errors.Is(err, errNothingCreated) {
			return nil
		}

		if err != nil || stored == nil {
			return err
		}

		return c.Redirect(string(stored.Body)+"?notice=again", fiber.StatusSeeOther)
	}
}

// doOnce executes the operation. If the same form is being handled, it waits for the result.
func (d *dashboard) doOnce(ctx context.Context, r idempotency.Request, o idempotency.Operation) (*idempotency.Answer, error) {
	for deadline := time.Now().Add(maxWait); ; time.Sleep(pollInterval) {
		stored, err := d.idempotency.Do(ctx, r, o)
		if !errors.Is(err, idempotency.ErrInProgress) || time.Now().After(deadline) {
			return stored, err
		}
	}
}

// errNothingCreated makes submitOnce store no result for a form with a problem, so that the
// user can correct it and send it again.
var errNothingCreated = errors.New("the form created nothing")

// setContentLocation sets the header Content-Location to the path of the created resource, to
// which submitOnce redirects repeated submissions.
func setContentLocation(c *fiber.Ctx, path string) { c.Set(fiber.HeaderContentLocation, path) }
