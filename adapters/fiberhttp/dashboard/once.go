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

// submitOnce handles a form once for each value of its field once. A repeated form, for
// example by reloading the response, redirects to the resource that was created, and
// secrets are not shown again. A form without the field is not checked.
func (d *dashboard) submitOnce(handle pages.Handler) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (err error) {
		if c.FormValue("once") == "" {
			return handle(ctx, c, viewer)
		}
		// A form with other values is another request.
		sum := sha256.Sum256(append([]byte(c.Path()+"\n"), c.Request().Body()...))
		r := idempotency.Request{OwnerID: viewer.User.ID, Operation: "form", Key: hex.EncodeToString(sum[:])}
		operation := idempotency.Operation{
			Run: func(ctx context.Context) (idempotency.Answer, error) {
				if err := handle(ctx, c, viewer); err != nil {
					return idempotency.Answer{}, err
				}
				at := c.GetRespHeader(fiber.HeaderContentLocation)
				if at == "" {
					return idempotency.Answer{}, errNothingCreated
				}
				return idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte(at)}, nil
			},
			// A form may hold a password, and its hash takes too long for a transaction.
			Remote: true, Fallback: idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte("/developers")},
			Refusal: func(error) (a idempotency.Answer, keep bool) { return a, false },
		}
		stored, err := d.requests.Do(ctx, r, operation)
		for end := time.Now().Add(maxWait); errors.Is(err, idempotency.ErrInProgress) && time.Now().Before(end); stored, err = d.requests.Do(ctx, r, operation) {
			time.Sleep(pollInterval) // the first request is still running
		}
		switch {
		case errors.Is(err, errNothingCreated):
			return nil
		case err == nil && stored != nil:
			return c.Redirect(string(stored.Body)+"?notice=again", fiber.StatusSeeOther)
		}
		return err
	}
}

// errNothingCreated is the result of a form with a problem: nothing is stored, and it can be
// sent again.
var errNothingCreated = errors.New("the form created nothing")

// setContentLocation sets Content-Location to the address of the created resource.
func setContentLocation(c *fiber.Ctx, at string) { c.Set(fiber.HeaderContentLocation, at) }
