package pins

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/bootstrap"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

const (
	// maxPins is the maximum number of jobs that a jobseeker can pin.
	maxPins = 20
	// maxListed is the maximum number of pins in a list. It is larger than maxPins, because
	// concurrent requests of one jobseeker may exceed that limit by a few pins.
	maxListed = 100
	// maxPopular is the maximum number of jobs in the list of popular jobs.
	maxPopular = 10
	// popularWithin is the age up to which pins count for popularity.
	popularWithin = 7 * 24 * time.Hour
	// closedAtOnce is how many pins of a closed job one transaction removes.
	closedAtOnce = 500
	// keepPins is how long pins are stored.
	keepPins = 365 * 24 * time.Hour
)

// The faults of the module.
var (
	ErrNotPinned = fault.New(fault.NotFound, "not_pinned", "Pin not found")
	ErrTooMany   = fault.New(fault.Conflict, "too_many_pins", "Remove a pin before you add another one")
)

// Pin is a job that a jobseeker has pinned.
type Pin struct {
	UserID    string    `json:"-" gorm:"primaryKey"`
	ListingID string    `json:"listingId" gorm:"primaryKey"`
	Title     string    `json:"title"`
	Note      string    `json:"note"`
	PinnedAt  time.Time `json:"pinnedAt"`
}

// Popular is a job with the number of jobseekers who have pinned it.
type Popular struct {
	ListingID string `json:"listingId"`
	Title     string `json:"title"`
	Pins      int    `json:"pins"`
}

// Service has the use cases of the module.
type Service struct{ bootstrap.ModuleDeps }

// inTx runs fn in a transaction.
func (s Service) inTx(ctx context.Context, fn func(ctx context.Context, q *gorm.DB) error) error {
	return s.Tx.Do(ctx, withConn(fn))
}

// read runs fn, which reads only.
func (s Service) read(ctx context.Context, fn func(ctx context.Context, q *gorm.DB) error) error {
	return tx.Read(ctx, s.Tx, withConn(fn))
}

// withConn gives fn the connection of the transaction in the context.
func withConn(fn func(ctx context.Context, q *gorm.DB) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		q, err := gormdb.Conn(ctx)
		if err != nil {
			return err
		}

		return fn(ctx, q)
	}
}

// Pin pins a public job, or changes the note of a pin.
func (s Service) Pin(ctx context.Context, by auth.Actor, listingID, note string) error {
	if err := by.RequireSeeker(); err != nil {
		return err
	}

	job, err := s.Services.Listings.Detail(ctx, by, listingID)
	if err != nil {
		return err
	}

	return s.inTx(ctx, func(_ context.Context, q *gorm.DB) error {
		var others int64

		err := q.Model(&Pin{}).Where("user_id = ? AND listing_id <> ?", by.UserID, job.ID).Count(&others).Error
		if err != nil {
			return err
		}

		if others >= maxPins {
			return ErrTooMany
		}

		pin := Pin{UserID: by.UserID, ListingID: job.ID, Title: job.Title, Note: note, PinnedAt: s.Clock.Now()}

		return q.Clauses(clause.OnConflict{UpdateAll: true}).Create(&pin).Error
	})
}

// Remove removes a pin.
func (s Service) Remove(ctx context.Context, by auth.Actor, listingID string) error {
	if err := by.RequireSeeker(); err != nil {
		return err
	}

	listingID, ok := id.Canonical(listingID)
	if !ok {
		return ErrNotPinned
	}

	return s.inTx(ctx, func(_ context.Context, q *gorm.DB) error {
		removed := q.Where("user_id = ? AND listing_id = ?", by.UserID, listingID).Delete(&Pin{})
		if removed.Error == nil && removed.RowsAffected == 0 {
			return ErrNotPinned
		}

		return removed.Error
	})
}

// List returns the pins of the actor, the latest first.
func (s Service) List(ctx context.Context, by auth.Actor) ([]Pin, error) {
	if err := by.RequireSeeker(); err != nil {
		return nil, err
	}

	pins := []Pin{}
	err := s.read(ctx, func(_ context.Context, q *gorm.DB) error {
		return q.Where("user_id = ?", by.UserID).Order("pinned_at DESC, listing_id").Limit(maxListed).Find(&pins).Error
	})

	return pins, err
}

// Popular returns the public jobs that most jobseekers have pinned in the last week.
func (s Service) Popular(ctx context.Context) ([]Popular, error) {
	var counts []Popular

	err := s.read(ctx, func(_ context.Context, q *gorm.DB) error {
		return q.Model(&Pin{}).Select("listing_id, COUNT(*) AS pins").Where("pinned_at >= ?",
			s.Clock.Now().Add(-popularWithin)).
			Group("listing_id").Order("pins DESC, listing_id").Limit(maxPopular).Scan(&counts).Error
	})
	if err != nil {
		return nil, err
	}

	ids := make([]string, len(counts))
	for i, c := range counts {
		ids[i] = c.ListingID
	}

	public, err := s.Services.Listings.ListPublic(ctx, ids)
	if err != nil {
		return nil, err
	}

	titles := map[string]string{}
	for _, job := range public {
		titles[job.ID] = job.Title
	}

	jobs := []Popular{}
	for _, c := range counts {
		if title, isPublic := titles[c.ListingID]; isPublic {
			jobs = append(jobs, Popular{ListingID: c.ListingID, Title: title, Pins: c.Pins})
		}
	}

	return jobs, nil
}

// notice is the payload of a task that mails a jobseeker about a pinned job that was closed.
type notice struct {
	ID, UserID, Title string
}

// OnJobClosed removes the pins of a job and adds a task for each of them, which mails its owner.
func (s Service) OnJobClosed(ctx context.Context, e event.JobClosed) error {
	for {
		removed, err := s.removeSome(ctx, e.JobID)
		if err != nil || removed < closedAtOnce {
			return err
		}
	}
}

// removeSome is OnJobClosed for at most closedAtOnce of the pins, and returns their number.
func (s Service) removeSome(ctx context.Context, listingID string) (removed int, err error) {
	err = s.inTx(ctx, func(ctx context.Context, q *gorm.DB) error {
		removed = 0 // the transaction may be repeated
		var pins []Pin

		err := q.Where("listing_id = ?", listingID).Order("user_id").Limit(closedAtOnce).Find(&pins).Error
		if err != nil || len(pins) == 0 {
			return err
		}

		removed = len(pins)

		users, tasks := make([]string, len(pins)), make([]task.Task, len(pins))
		for i, pin := range pins {
			taskKey := mailKind + ":" + s.NewID() // also the id of the mail
			users[i] = pin.UserID
			tasks[i] = task.New(mailKind, task.Mail, taskKey, notice{
				ID:     taskKey,
				UserID: pin.UserID,
				Title:  mail.SafeName(pin.Title, "the job"),
			})
		}

		if err := s.Tasks.Add(ctx, tasks...); err != nil {
			return err
		}

		return q.Where("listing_id = ? AND user_id IN ?", listingID, users).Delete(&Pin{}).Error
	})

	return removed, err
}

// sendMail sends the mail of a notice.
func (s Service) sendMail(ctx context.Context, n notice) error {
	people, err := s.Services.Identity.People(ctx, []string{n.UserID})
	if err != nil {
		return err
	}

	owner, exists := people[n.UserID]
	if !exists { // the account was deleted
		return nil
	}

	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID:       n.ID,
		To:       mail.Address{Name: owner.Name, Email: owner.Email},
		Greeting: owner.Name,
		Home:     s.PublicURL,
		Subject:  "A job that you pinned was closed",
		Body:     []mail.Block{{Text: "This job no longer accepts applications: " + n.Title}},
	})
}

// OnAccountDeleted deletes the pins of the account.
func (s Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.inTx(ctx, func(_ context.Context, q *gorm.DB) error {
		return q.Where("user_id = ?", e.UserID).Delete(&Pin{}).Error
	})
}

// Expire deletes pins that are older than a year.
func (s Service) Expire(ctx context.Context) error {
	return s.inTx(ctx, func(_ context.Context, q *gorm.DB) error {
		return q.Where("pinned_at < ?", s.Clock.Now().Add(-keepPins)).Delete(&Pin{}).Error
	})
}
