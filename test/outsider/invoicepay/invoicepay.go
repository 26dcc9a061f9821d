// Package invoicepay collects payments by invoice: for each charge it writes a file that
// the accounts department prints and sends. Payment methods are terms of payment.
package invoicepay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/modules/billing"
)

// The ids of payment methods.
const (
	Net14 = "pm_invoice_14" // payable within 14 days
	Net30 = "pm_invoice_30"
	Net90 = "pm_invoice_90"   // not offered: it is declined
	Once  = "pm_invoice_once" // payable within 14 days, and not used for renewals
)

// days are the days to pay by method.
var days = map[string]int{Net14: 14, Net30: 30, Once: 14}

// Payments implements billing.Payments and adapters.Pinger. Its files can be shared by
// processes.
type Payments struct {
	folder string
	clock  clock.Clock
}

// Open opens the folder of invoice:FOLDER. It is a bootstrap.PaymentsOpener.
func Open(_ context.Context, url string, d adapters.Deps) (billing.Payments, error) {
	folder := strings.TrimPrefix(url, "invoice:")
	if folder == "" {
		return nil, errors.New("want invoice:FOLDER")
	}

	return &Payments{folder, d.Clock}, os.MkdirAll(folder, 0o700)
}

// Ping implements adapters.Pinger.
func (p *Payments) Ping(context.Context) error {
	_, err := os.Stat(p.folder)
	return err
}

// Attach implements billing.Payments. Nothing is stored: any owner can choose any term.
func (p *Payments) Attach(ctx context.Context, _ billing.Owner, methodID string) (billing.Method, error) {
	switch {
	case ctx.Err() != nil:
		return billing.Method{}, unavailable(ctx.Err())
	case methodID == Net90:
		return billing.Method{}, billing.ErrDeclined
	case days[methodID] == 0:
		return billing.Method{}, billing.ErrUnknownMethod
	}

	// Clients show it as a card: invoice •••• 0030.
	return billing.Method{
		ID:          methodID,
		Brand:       "invoice",
		Last4:       fmt.Sprintf("%04d", days[methodID]),
		ExpiryMonth: 12,
		ExpiryYear:  2099,
	}, nil
}

// Invoice is the content of a file.
type Invoice struct {
	Number      string        `json:"number"`
	Owner       billing.Owner `json:"owner"`
	Amount      billing.Money `json:"amount"`
	Description string        `json:"description"`
	DueAt       time.Time     `json:"due_at"`
}

// Charge implements billing.Payments. It returns the number of the invoice. The name of the file is the
// key of the bill, so that a repeated bill has one invoice.
func (p *Payments) Charge(ctx context.Context, b billing.Bill) (invoiceNumber string, err error) {
	key, ok := id.Canonical(b.Key)
	switch {
	case ctx.Err() != nil:
		return "", unavailable(ctx.Err())
	case !ok:
		return "", errors.New("the key is not a UUID")
	}

	path := filepath.Join(p.folder, key+".json")

	stored, err := read(path)
	if err == nil { // the bill is repeated
		return stored.Number, nil
	}

	if !errors.Is(err, fs.ErrNotExist) {
		return "", unavailable(err)
	}

	isKnownMethod := days[b.MethodID] > 0
	if !isKnownMethod || b.MethodID == Once && b.Unattended {
		return "", billing.ErrDeclined
	}

	invoice := Invoice{
		Number:      "INV-" + key,
		Owner:       b.Owner,
		Amount:      b.Amount,
		Description: b.Description,
		DueAt:       p.clock.Now().AddDate(0, 0, days[b.MethodID]),
	}
	if err := p.write(path, invoice); err != nil {
		return "", unavailable(err)
	}

	return invoice.Number, nil
}

// Forget implements billing.Payments. Invoices are kept without their owner. It reads all invoices,
// which is slow if there are many. An adapter for many invoices needs an index by owner.
func (p *Payments) Forget(ctx context.Context, o billing.Owner) error {
	paths, err := filepath.Glob(filepath.Join(p.folder, "*.json"))
	if err = errors.Join(ctx.Err(), err); err != nil {
		return unavailable(err)
	}

	for _, path := range paths {
		invoice, err := read(path)
		if err == nil && invoice.Owner == o {
			invoice.Owner = billing.Owner{Kind: billing.DeletedOwner}
			err = p.write(path, invoice)
		}

		if err != nil {
			return unavailable(err)
		}
	}

	return nil
}

// read returns the invoice of the file.
func read(path string) (invoice Invoice, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return invoice, err
	}

	return invoice, json.Unmarshal(data, &invoice)
}

// write replaces the file at once. Concurrent writers of a key write the same number.
func (p *Payments) write(path string, invoice Invoice) error {
	data, err := json.Marshal(invoice)
	if err != nil {
		return err
	}

	part, err := os.CreateTemp(p.folder, ".part-")
	if err != nil {
		return err
	}

	_, err = part.Write(data)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}

	return os.Rename(part.Name(), path)
}

func unavailable(err error) error {
	return fault.ErrUnavailable.WithReason("payments").WithCause(err)
}
