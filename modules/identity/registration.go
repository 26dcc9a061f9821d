package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// RegisterInput is the input of Register.
type RegisterInput struct {
	Email    string `json:"email" validate:"required,max=254,email"`
	Password string `json:"password" validate:"required,min=8,max=1024,maxbytes=1024,password"`
	Name     string `json:"name" validate:"required,notblank,max=200,line"`
	UserType string `json:"userType" validate:"required,oneof=jobseeker employer"`
}

// RegisterEmployerInput is the input of Register for an employer with its organization. Its
// Password needs no particular kinds of characters, unlike the Password of a RegisterInput.
type RegisterEmployerInput struct {
	Email       string `json:"email" validate:"required,max=254,email"`
	Password    string `json:"password" validate:"required,min=8,max=1024,maxbytes=1024"`
	Name        string `json:"name" validate:"required,notblank,max=200,line"`
	CompanyName string `json:"companyName" validate:"required,notblank,max=200,line"`
	Industry    string `json:"industry" validate:"max=200,line"`
	CompanySize string `json:"companySize" validate:"max=200,line"`
}

// Registrable is a RegisterInput or a RegisterEmployerInput.
type Registrable interface {
	// normalize returns the normalized input, or an Invalid fault.
	normalize() (registration, error)
}

// Register creates an account and opens a session. For an employer it also creates an
// organization, of which the account is the first admin. With a RegisterInput, the organization
// gets the name of the user.
func (s *Service) Register(ctx context.Context, in Registrable, from Client) (signedIn SignedIn, err error) {
	err = s.register(ctx, in, from, s.openSessionInto(&signedIn, from))
	return signedIn, err
}

// registration is the normalized input of a registration.
type registration struct {
	email, password, name string
	kind                  Kind
	organization          Organization // of an employer
}

// normalize implements Registrable.
func (in RegisterInput) normalize() (registration, error) {
	err := valid.Check("", in)
	r := newRegistration(in.Email, in.Password, in.Name, Kind(in.UserType))
	r.organization.Name = r.name

	return r, err
}

// normalize implements Registrable.
func (in RegisterEmployerInput) normalize() (registration, error) {
	err := valid.Check("", in)
	r := newRegistration(in.Email, in.Password, in.Name, KindEmployer)
	r.organization = Organization{Name: text.Name(in.CompanyName), Industry: text.Name(in.Industry), Size: text.Name(in.CompanySize)}

	return r, err
}

// newRegistration normalizes the values that both inputs have. If they are invalid, the result must
// not be used.
func newRegistration(email, password, name string, kind Kind) registration {
	email, _ = text.ParseEmail(email)
	return registration{email: email, password: password, name: text.Name(name), kind: kind}
}

// register creates the account and opens a session with the function open, in one transaction. The
// session is one of an API client or of a browser.
func (s *Service) register(ctx context.Context, in Registrable, from Client, open openSessionFunc) error {
	r, err := in.normalize()
	if err != nil {
		return err
	}

	// Users.Create checks this too. The early check avoids hashing a password for nothing.
	invited, err := s.requireFree(ctx, r.email)
	if err != nil {
		return err
	}

	// Users.Create replaces the row of an invited user, which it finds by the key of the address.
	emailKey := s.Mailboxes.Key(r.email)
	if invited.ID != "" {
		emailKey = invited.EmailKey()
	}

	release, err := s.gate.acquire(from.Address, unknownDevice)
	if err != nil {
		return err
	}

	passwordHash, err := s.Hasher.Hash(ctx, r.password)

	release() // before the transaction, so that a slow database does not block the hasher

	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()

		user := NewUser(s.NewID(), r.email, r.name, r.kind, passwordHash, now)
		user.Key = emailKey

		if err := s.Users.Create(ctx, &user); err != nil {
			return err
		}

		if err := s.requireNotReserved(ctx, &user, now); err != nil {
			return err
		}

		if r.kind == KindEmployer {
			if err := s.createOrganization(ctx, r.organization, user.ID, now); err != nil {
				return err
			}
		}

		if err := s.Events.Record(ctx, event.UserRegistered{UserID: user.ID}); err != nil {
			return err
		}

		return open(ctx, user.ID, now)
	})
}

// createOrganization stores a new organization with the name, industry and size of entered. The
// founder is its first admin. Its jobs may be held, which means that they are not public until a
// moderator has checked the organization.
func (s *Service) createOrganization(ctx context.Context, entered Organization, founderID string, now time.Time) error {
	organization, founder := NewOrganization(
		s.NewID(), s.NewID(), founderID, entered.Name, entered.Industry, entered.Size, now)
	if s.HoldNewOrganizations {
		organization.HeldAt = now
	}

	if err := s.holdIfSuspicious(ctx, &organization, now); err != nil {
		return err
	}

	if err := s.Organizations.Upsert(ctx, &organization); err != nil {
		return err
	}

	return s.Members.Upsert(ctx, &founder)
}

// requireFree fails with ErrEmailTaken if an account has the address. Otherwise it returns the
// invited user with the address, or the zero User if there is none.
func (s *Service) requireFree(ctx context.Context, email string) (User, error) {
	u, err := s.findByEmail(ctx, email)
	if err != nil {
		return User{}, fault.IfNotFound(err, nil)
	}

	if u.Status == UserActive {
		return User{}, ErrEmailTaken
	}

	return u, nil
}
