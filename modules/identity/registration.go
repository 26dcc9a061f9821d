package identity

import (
	"context"

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

// RegisterEmployerInput is the input of Register for an employer with its organization.
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
	// registration returns the normalized input, or an Invalid fault.
	registration() (registration, error)
}

// Register creates an account and opens a session. For an employer it also creates an
// organization, of which the account is the first admin. With a RegisterInput, the organization
// gets the name of the user.
func (s *Service) Register(ctx context.Context, in Registrable, from Client) (out SignedIn, err error) {
	err = s.register(ctx, in, from, s.openSessionInto(&out, from))
	return out, err
}

// registration is the normalized input of a registration.
type registration struct {
	email, password, name string
	kind                  Kind
	organization          Organization // of an employer
}

// newRegistration validates the input in, which contains the other arguments, and normalizes
// them. The error is an Invalid fault, with which the result must not be used.
func newRegistration(in any, email, password, name string, kind Kind) (registration, error) {
	err := valid.Check("", in)
	email, _ = text.ParseEmail(email)
	return registration{email: email, password: password, name: text.Name(name), kind: kind}, err
}

func (in RegisterInput) registration() (registration, error) {
	r, err := newRegistration(in, in.Email, in.Password, in.Name, Kind(in.UserType))
	r.organization.Name = r.name
	return r, err
}

func (in RegisterEmployerInput) registration() (registration, error) {
	r, err := newRegistration(in, in.Email, in.Password, in.Name, KindEmployer)
	r.organization = Organization{Name: text.Name(in.CompanyName), Industry: text.Name(in.Industry), Size: text.Name(in.CompanySize)}
	return r, err
}

// register creates the account and calls open, in one transaction.
func (s *Service) register(ctx context.Context, in Registrable, from Client, open openSessionFunc) error {
	r, err := in.registration()
	if err != nil {
		return err
	}

	// Users.Create checks this too. The early check avoids hashing a password for nothing.
	invited, err := s.requireFree(ctx, r.email)
	if err != nil {
		return err
	}

	key := s.Mailboxes.Key(r.email)
	if invited.ID != "" { // Users.Create replaces the row of the invited user
		key = invited.EmailKey()
	}

	release, err := s.gate.acquire(from.Address, "")
	if err != nil {
		return err
	}

	hash, err := s.Hasher.Hash(ctx, r.password)

	release() // before the transaction, so that a slow database does not block the hasher

	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		user := NewUser(s.NewID(), r.email, r.name, r.kind, hash, now)

		user.Key = key
		if err := s.Users.Create(ctx, &user); err != nil {
			return err
		}

		if err := s.requireNotReserved(ctx, &user, now); err != nil {
			return err
		}

		if r.kind == KindEmployer {
			o := r.organization

			org, founder := NewOrganization(s.NewID(), s.NewID(), user.ID, o.Name, o.Industry, o.Size, now)
			if s.HoldNewOrganizations {
				org.HeldAt = now
			}

			if err := s.holdIfSuspicious(ctx, &org, now); err != nil {
				return err
			}

			if err := s.Organizations.Upsert(ctx, &org); err != nil {
				return err
			}

			if err := s.Members.Upsert(ctx, &founder); err != nil {
				return err
			}
		}

		if err := s.Events.Record(ctx, event.UserRegistered{UserID: user.ID}); err != nil {
			return err
		}

		return open(ctx, user.ID, now)
	})
}

// requireFree fails with ErrEmailTaken if the address has an account. It returns the invited
// user with the address, or the zero User.
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
