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
		kept, err := d.done.Begin(ctx, r)
		for end := time.Now().Add(patience); errors.Is(err, idempotency.ErrInProgress) && time.Now().Before(end); kept, err = d.done.Begin(ctx, r) {
			time.Sleep(glance) // somebody pressed twice
		}
		if err != nil {
			return err
		}
		if kept != nil {
			return c.Redirect(string(kept.Body)+"?said=again", fiber.StatusSeeOther)
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			if at := c.GetRespHeader(fiber.HeaderContentLocation); err == nil && at != "" {
				// What is shown once is shown, also if the store is away by now.
				_ = d.done.Finish(ctx, r, idempotency.Answer{Status: fiber.StatusSeeOther, Body: []byte(at)})
			} else if unclaimed := d.done.Abandon(ctx, r); err == nil {
				err = unclaimed
			}
		}()
		return handle(ctx, c, who)
	}
}

// made says that the answer shows what is at the address from now on.
func made(c *fiber.Ctx, at string) { c.Set(fiber.HeaderContentLocation, at) }
