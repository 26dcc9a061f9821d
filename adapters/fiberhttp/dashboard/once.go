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

// once does what a form asks for unless this very form has been sent before, as
// by loading the page again that answered it: then it leads to what was made, and
// what is shown once is not shown again. Whoever sends no name for the form is
// not held to that.
func (d *dashboard) once(handle pages.Handle) pages.Handle {
	return func(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) (err error) {
		if c.FormValue("once") == "" {
			return handle(ctx, c, who)
		}
		// A form that was filled in differently is another one.
		sum := sha256.Sum256(append([]byte(c.Path()+"\n"), c.Body()...))
		r := idempotency.Request{OwnerID: who.User.ID, Operation: "form", Key: hex.EncodeToString(sum[:])}
		operation := idempotency.Operation{
			Run: func(ctx context.Context) (idempotency.Answer, error) {
				if err := handle(ctx, c, who); err != nil {
					return idempotency.Answer{}, err
				}
				at := c.GetRespHeader(fiber.HeaderContentLocation)
				if at == "" {
					return idempotency.Answer{}, errNothingMade
				}
				return idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte(at)}, nil
			},
			// A form may hold a password, and its hash takes too long for a transaction.
			Remote: true, Fallback: idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte("/developers")},
			Refusal: func(error) (a idempotency.Answer, keep bool) { return a, false },
		}
		stored, err := d.requests.Do(ctx, r, operation)
		for end := time.Now().Add(patience); errors.Is(err, idempotency.ErrInProgress) && time.Now().Before(end); stored, err = d.requests.Do(ctx, r, operation) {
			time.Sleep(glance) // a second click
		}
		switch {
		case errors.Is(err, errNothingMade):
			return nil
		case err == nil && stored != nil:
			return c.Redirect(string(stored.Body)+"?said=again", fiber.StatusSeeOther)
		}
		return err
	}
}

// errNothingMade is the outcome of a form that was answered with a page about
// what is wrong with it: nothing is written, and it may be sent again.
var errNothingMade = errors.New("the form made nothing")

// made says that the answer shows what is at the address from now on.
func made(c *fiber.Ctx, at string) { c.Set(fiber.HeaderContentLocation, at) }
