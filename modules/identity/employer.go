package identity

import (
	"cmp"
	"context"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// EmployerSettings are the settings of a member of an organization. They belong to
// the user, not to the organization.
type EmployerSettings struct {
	UserID   string
	JobTitle string
	// Contact replaces the name and address of the account where it is not empty.
	Contact Contact
	// EmailAlerts enables e-mails about the organization. E-mails about the account are
	// always sent.
	EmailAlerts bool
	UpdatedAt   time.Time
	Version     int64 // 0 if no settings are stored
}

// Contact contains the contact details of a user.
type Contact struct{ Name, Email, Phone string }

// DefaultSettings returns the settings of users who have changed none.
func DefaultSettings(userID string) EmployerSettings {
	return EmployerSettings{UserID: userID, EmailAlerts: true}
}

// Reset restores the default settings. The job title is not a setting.
func (s *EmployerSettings) Reset(now time.Time) {
	s.Contact = Contact{}
	s.EmailAlerts = true
	s.UpdatedAt = now
}

// EmployerAccount is the account of an employer or member of an organization.
type EmployerAccount struct {
	User
	// PendingEmail is the requested address that is not yet confirmed, or empty.
	PendingEmail string
	Organization Organization // zero if the user has none
	Settings     EmployerSettings
}

// Contact returns the contact details. The name and address of the account are the defaults.
func (a EmployerAccount) Contact() Contact {
	c := a.Settings.Contact
	return Contact{Name: cmp.Or(c.Name, a.Name), Email: cmp.Or(c.Email, a.Email), Phone: c.Phone}
}

// MyEmployerAccount returns the caller's account.
func (s *Service) MyEmployerAccount(ctx context.Context, actor auth.Actor) (out EmployerAccount, err error) {
	if err := actor.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}

	if out.User, err = s.getCaller(ctx, actor.UserID); err != nil {
		return EmployerAccount{}, err
	}

	if actor.OrganizationID != "" {
		if out.Organization, err = s.getOrganization(ctx, actor.OrganizationID); err != nil {
			return EmployerAccount{}, err
		}
	}

	if out.Settings, err = s.EmployerSettings.Get(ctx, actor.UserID); err != nil {
		return EmployerAccount{}, err
	}

	out.PendingEmail, err = s.PendingEmail(ctx, actor.UserID)

	return out, err
}

// EmployerInput contains changes of an employer's account and organization. A nil field leaves
// its value unchanged.
type EmployerInput struct {
	Profile     *EmployerProfileInput `json:"profile"`
	CompanyName *string               `json:"companyName" validate:"omitempty,notblank,max=200,line"`
	Industry    *string               `json:"industry" validate:"omitempty,max=200,line"`
	CompanySize *string               `json:"companySize" validate:"omitempty,max=200,line"`
	EmailAlerts *bool                 `json:"emailAlerts"`
	Contact     *ContactInput         `json:"contact"`
}

// EmployerProfileInput contains changes of an employer's profile. A new address is used after
// it has been confirmed.
type EmployerProfileInput struct {
	Name     *string `json:"name" validate:"omitempty,notblank,max=200,line"`
	JobTitle *string `json:"jobTitle" validate:"omitempty,max=200,line"`
	Email    *string `json:"email" validate:"omitempty,max=254,email"`
}

// ContactInput contains changes of the contact details. An empty value restores the default.
type ContactInput struct {
	Name  *string `json:"name" validate:"omitempty,max=200,line"`
	Email *string `json:"email" validate:"omitzero,max=254,email"`
	Phone *string `json:"phone" validate:"omitzero,min=3,max=30,line"`
}

// company returns the changes of the organization.
func (in EmployerInput) company() OrganizationInput {
	return OrganizationInput{Name: in.CompanyName, Industry: in.Industry, Size: in.CompanySize}
}

// UpdateEmployer changes the caller's account, settings and organization in one transaction.
// Only admins can change the organization.
func (s *Service) UpdateEmployer(ctx context.Context, actor auth.Actor, in EmployerInput) (EmployerAccount, error) {
	if err := actor.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}

	if in.company() != (OrganizationInput{}) {
		if err := actor.Require(auth.Manage); err != nil {
			return EmployerAccount{}, err
		}
	}

	if err := valid.Check("", in); err != nil {
		return EmployerAccount{}, err
	}

	// The address is changed first, because it may be refused. It has to be confirmed anyway.
	if p := in.Profile; p != nil && p.Email != nil {
		if err := s.ChangeEmail(ctx, actor, *p.Email); err != nil {
			return EmployerAccount{}, err
		}
	}

	var out EmployerAccount
	err := s.withRenameLimit(ctx, actor.OrganizationID, func(ctx context.Context, isCounted bool) (err error) {
		if out, err = s.MyEmployerAccount(ctx, actor); err != nil {
			return err
		}

		now := s.Clock.Now()
		company := in.company()

		name := out.Name
		if in.Profile != nil {
			patch.SetName(&name, in.Profile.Name)
		}

		if name != out.Name {
			// An organization with the name of its admin keeps having the same name:
			// closeOrganization replaces an equal name, which is personal data. The input
			// may contain the unchanged name of the organization.
			companyName := out.Organization.Name
			patch.SetName(&companyName, company.Name)

			if companyName == out.Name && out.Organization.Name == out.Name && actor.May(auth.Manage) {
				company.Name = &name
			}

			out.Rename(name, now)

			if err := s.Users.Update(ctx, &out.User); err != nil {
				return err
			}
		}

		if in.applyTo(&out.Settings) {
			out.Settings.UpdatedAt = now
			if err := s.EmployerSettings.Upsert(ctx, &out.Settings); err != nil {
				return err
			}
		}

		return s.updateOrganization(ctx, &out.Organization, company, isCounted, now)
	})

	return out, err
}

// applyTo applies the input to the settings and reports whether they have changed.
func (in EmployerInput) applyTo(s *EmployerSettings) bool {
	before := *s
	if in.Profile != nil {
		patch.SetName(&s.JobTitle, in.Profile.JobTitle)
	}

	patch.Set(&s.EmailAlerts, in.EmailAlerts)

	if c := in.Contact; c != nil {
		patch.SetName(&s.Contact.Name, c.Name)
		patch.SetName(&s.Contact.Phone, c.Phone)

		if c.Email != nil {
			s.Contact.Email, _ = text.ParseEmail(*c.Email) // validated before; empty restores the default
		}
	}

	return *s != before
}

// ResetEmployerSettings restores the caller's default settings.
func (s *Service) ResetEmployerSettings(ctx context.Context, a auth.Actor) (EmployerAccount, error) {
	if err := a.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}

	var out EmployerAccount
	err := s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		out, err = s.MyEmployerAccount(ctx, a)
		if err != nil || out.Settings.Version == 0 {
			return err
		}

		out.Settings.Reset(s.Clock.Now())

		return s.EmployerSettings.Upsert(ctx, &out.Settings)
	})

	return out, err
}

// WantsAlerts reports whether a member wants e-mails about the organization.
func (s *Service) WantsAlerts(ctx context.Context, userID string) (bool, error) {
	settings, err := s.EmployerSettings.Get(ctx, userID)
	return settings.EmailAlerts, err
}

// MyOrganization returns the caller's organization.
func (s *Service) MyOrganization(ctx context.Context, a auth.Actor) (Organization, error) {
	if err := a.RequireMember(); err != nil {
		return Organization{}, err
	}

	return s.getOrganization(ctx, a.OrganizationID)
}

// OrganizationInput contains changes of an organization. A nil field leaves its value
// unchanged.
type OrganizationInput struct {
	Name        *string `json:"name" validate:"omitempty,notblank,max=200,line" sample:"St Brigid’s Hospital"`
	Description *string `json:"description" validate:"omitempty,max=10000"`
	Website     *string `json:"website" validate:"omitzero,max=2048,https"`
	Logo        *string `json:"logo" validate:"omitzero,max=2048,https"`
	Industry    *string `json:"industry" validate:"omitempty,max=200,line"`
	Size        *string `json:"size" validate:"omitempty,max=200,line"`
	// RequireSecondFactor takes all permissions from members without a second factor. Only an
	// admin with a second factor can set it.
	RequireSecondFactor *bool `json:"requireSecondFactor"`
}

// UpdateOrganization changes the caller's organization. Only admins can call it.
func (s *Service) UpdateOrganization(ctx context.Context, actor auth.Actor, in OrganizationInput) (Organization, error) {
	if err := cmp.Or(actor.Require(auth.Manage), valid.Check("", in)); err != nil {
		return Organization{}, err
	}

	var out Organization
	err := s.withRenameLimit(ctx, actor.OrganizationID, func(ctx context.Context, isCounted bool) (err error) {
		if out, err = s.getOrganization(ctx, actor.OrganizationID); err != nil {
			return err
		}

		if err := s.auditSecondFactorSetting(ctx, actor, out, in.RequireSecondFactor); err != nil {
			return err
		}

		before, now := out, s.Clock.Now()
		if err := s.updateOrganization(ctx, &out, in, isCounted, now); err != nil {
			return err
		}

		// A domain does not confirm a new name.
		if out.Name != before.Name || domainOf(out.Website) == domainOf(before.Website) {
			return nil
		}

		u, err := s.getCaller(ctx, actor.UserID)
		if err != nil {
			return err
		}

		if isChanged, err := s.verifyByDomain(ctx, &out, &u, now); err != nil || !isChanged {
			return err
		}

		return s.Organizations.Upsert(ctx, &out)
	})

	return out, err
}

// auditSecondFactorSetting records a change of RequireSecondFactor in the audit log. It refuses
// to set it if the caller has no second factor.
func (s *Service) auditSecondFactorSetting(
	ctx context.Context,
	actor auth.Actor,
	organization Organization,
	required *bool,
) error {
	if required == nil || *required == organization.RequireSecondFactor {
		return nil
	}

	detail := "off"
	if *required {
		detail = "on"

		switch f, err := s.getSecondFactor(ctx, actor.UserID); {
		case err != nil:
			return err
		case !f.Enabled():
			return fault.InvalidField("requireSecondFactor", "needs a second factor on your own account first")
		}
	}

	return s.Audit.Record(ctx, audit.By(actor, audit.SecondFactorRequired, organization.ID).With(detail))
}

// updateOrganization applies the changes to the organization and stores it. If the name
// changes, it also records an event, and fails with errRenameNotCounted unless isCounted is set.
func (s *Service) updateOrganization(
	ctx context.Context,
	o *Organization,
	in OrganizationInput,
	isCounted bool,
	now time.Time,
) error {
	before := *o
	patch.SetName(&o.Name, in.Name)
	patch.SetText(&o.Description, in.Description)
	patch.Set(&o.Website, in.Website)
	patch.Set(&o.Logo, in.Logo)
	patch.SetName(&o.Industry, in.Industry)
	patch.SetName(&o.Size, in.Size)
	patch.Set(&o.RequireSecondFactor, in.RequireSecondFactor)

	if *o == before {
		return nil
	}

	if o.Name != before.Name && !isCounted {
		return errRenameNotCounted
	}

	o.UpdatedAt = now
	if err := s.reviewChange(ctx, o, before, now); err != nil {
		return err
	}

	if err := s.Organizations.Upsert(ctx, o); err != nil {
		return err
	}

	if o.Name == before.Name {
		return nil
	}

	return s.recordTwice(ctx, kindRename, o.ID+"/"+encodeTime(now), event.OrganizationRenamed{OrganizationID: o.ID, RenamedAt: now}, now)
}

// kindRename is the kind of the task that repeats the event of a renaming; see recordTwice.
const kindRename = "identity.rename-stragglers"
