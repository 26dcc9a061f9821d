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
func (s *Service) MyEmployerAccount(ctx context.Context, actor auth.Actor) (account EmployerAccount, err error) {
	if err := actor.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}

	if account.User, err = s.getCaller(ctx, actor.UserID); err != nil {
		return EmployerAccount{}, err
	}

	if actor.OrganizationID != "" {
		if account.Organization, err = s.getOrganization(ctx, actor.OrganizationID); err != nil {
			return EmployerAccount{}, err
		}
	}

	if account.Settings, err = s.EmployerSettings.Get(ctx, actor.UserID); err != nil {
		return EmployerAccount{}, err
	}

	account.PendingEmail, err = s.PendingEmail(ctx, actor.UserID)

	return account, err
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

// organizationChanges returns the changes of the organization.
func (in EmployerInput) organizationChanges() OrganizationInput {
	return OrganizationInput{Name: in.CompanyName, Industry: in.Industry, Size: in.CompanySize}
}

// UpdateEmployer changes the caller's account, settings and organization in one transaction.
// Only admins can change the organization.
func (s *Service) UpdateEmployer(ctx context.Context, actor auth.Actor, in EmployerInput) (EmployerAccount, error) {
	if err := actor.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}

	changesOrganization := in.organizationChanges() != (OrganizationInput{})
	if changesOrganization {
		if err := actor.Require(auth.Manage); err != nil {
			return EmployerAccount{}, err
		}
	}

	if err := valid.Check("", in); err != nil {
		return EmployerAccount{}, err
	}

	// Request the new address before the transaction, because it may be refused. If the transaction
	// fails, the request does no harm: the address changes only when the user confirms it.
	if p := in.Profile; p != nil && p.Email != nil {
		if err := s.ChangeEmail(ctx, actor, *p.Email); err != nil {
			return EmployerAccount{}, err
		}
	}

	var account EmployerAccount
	err := s.withRenameLimit(ctx, actor.OrganizationID, func(ctx context.Context, isCounted bool) (err error) {
		if account, err = s.MyEmployerAccount(ctx, actor); err != nil {
			return err
		}

		now := s.Clock.Now()
		organizationChanges := in.organizationChanges()

		name := account.Name
		if in.Profile != nil {
			patch.SetName(&name, in.Profile.Name)
		}

		if name != account.Name {
			// An organization with the name of its admin gets the new name, too. closeOrganization
			// compares the names to recognize personal data.
			renamesBoth := account.keepsSharedName(organizationChanges) && actor.May(auth.Manage)
			if renamesBoth {
				organizationChanges.Name = &name
			}

			account.Rename(name, now)

			if err := s.Users.Update(ctx, &account.User); err != nil {
				return err
			}
		}

		if hasChanged := in.applyTo(&account.Settings); hasChanged {
			account.Settings.UpdatedAt = now
			if err := s.EmployerSettings.Upsert(ctx, &account.Settings); err != nil {
				return err
			}
		}

		return s.updateOrganization(ctx, &account.Organization, organizationChanges, isCounted, now)
	})

	return account, err
}

// keepsSharedName reports whether the organization has the name of the user both before and after
// the changes of the organization. The changes may contain the name that the organization has
// already.
func (a EmployerAccount) keepsSharedName(changes OrganizationInput) bool {
	nextName := a.Organization.Name
	patch.SetName(&nextName, changes.Name)

	return a.Organization.Name == a.Name && nextName == a.Name
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
			// The address was validated before. ParseEmail returns "" for "", which restores the default.
			s.Contact.Email, _ = text.ParseEmail(*c.Email)
		}
	}

	return *s != before
}

// ResetEmployerSettings restores the caller's default settings.
func (s *Service) ResetEmployerSettings(ctx context.Context, actor auth.Actor) (EmployerAccount, error) {
	if err := actor.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}

	var account EmployerAccount
	err := s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		account, err = s.MyEmployerAccount(ctx, actor)
		if err != nil || account.Settings.Version == 0 { // version 0: no settings are stored
			return err
		}

		account.Settings.Reset(s.Clock.Now())

		return s.EmployerSettings.Upsert(ctx, &account.Settings)
	})

	return account, err
}

// WantsAlerts reports whether a member wants e-mails about the organization.
func (s *Service) WantsAlerts(ctx context.Context, userID string) (bool, error) {
	settings, err := s.EmployerSettings.Get(ctx, userID)
	return settings.EmailAlerts, err
}

// MyOrganization returns the caller's organization.
func (s *Service) MyOrganization(ctx context.Context, actor auth.Actor) (Organization, error) {
	if err := actor.RequireMember(); err != nil {
		return Organization{}, err
	}

	return s.getOrganization(ctx, actor.OrganizationID)
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

	var organization Organization
	err := s.withRenameLimit(ctx, actor.OrganizationID, func(ctx context.Context, isCounted bool) (err error) {
		if organization, err = s.getOrganization(ctx, actor.OrganizationID); err != nil {
			return err
		}

		if err := s.auditSecondFactorSetting(ctx, actor, organization, in.RequireSecondFactor); err != nil {
			return err
		}

		before, now := organization, s.Clock.Now()
		if err := s.updateOrganization(ctx, &organization, in, isCounted, now); err != nil {
			return err
		}

		// A confirmed address of the caller at the domain of the new website verifies the
		// organization. A renamed organization is not verified here, because a domain does not
		// confirm a new name.
		isRenamed := organization.Name != before.Name
		hasNewDomain := domainOf(organization.Website) != domainOf(before.Website)

		if isRenamed || !hasNewDomain {
			return nil
		}

		admin, err := s.getCaller(ctx, actor.UserID)
		if err != nil {
			return err
		}

		isVerified, err := s.verifyByDomain(ctx, &organization, &admin, now)
		if err != nil || !isVerified {
			return err
		}

		return s.Organizations.Upsert(ctx, &organization)
	})

	return organization, err
}

// auditSecondFactorSetting records a change of RequireSecondFactor in the audit log. It returns a
// fault if a caller without a second factor sets it. The argument required is the new value, or nil
// to leave it unchanged.
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

		ownFactor, err := s.getSecondFactor(ctx, actor.UserID)
		if err != nil {
			return err
		}

		if !ownFactor.Enabled() {
			return fault.InvalidField("requireSecondFactor", "needs a second factor on your own account first")
		}
	}

	return s.Audit.Record(ctx, audit.By(actor, audit.SecondFactorRequired, organization.ID).With(detail))
}

// updateOrganization applies the changes to the organization and stores it. If the name changes, it
// also records an event. isCounted reports whether the rate limiter has counted the renaming. If
// the name changes and isCounted is false, updateOrganization fails with errRenameNotCounted (see
// withRenameLimit).
func (s *Service) updateOrganization(
	ctx context.Context,
	organization *Organization,
	in OrganizationInput,
	isCounted bool,
	now time.Time,
) error {
	before := *organization
	patch.SetName(&organization.Name, in.Name)
	patch.SetText(&organization.Description, in.Description)
	patch.Set(&organization.Website, in.Website)
	patch.Set(&organization.Logo, in.Logo)
	patch.SetName(&organization.Industry, in.Industry)
	patch.SetName(&organization.Size, in.Size)
	patch.Set(&organization.RequireSecondFactor, in.RequireSecondFactor)

	if *organization == before {
		return nil
	}

	isRenamed := organization.Name != before.Name
	if isRenamed && !isCounted {
		return errRenameNotCounted
	}

	organization.UpdatedAt = now
	if err := s.reviewChange(ctx, organization, before, now); err != nil {
		return err
	}

	if err := s.Organizations.Upsert(ctx, organization); err != nil {
		return err
	}

	if !isRenamed {
		return nil
	}

	renamed := event.OrganizationRenamed{OrganizationID: organization.ID, RenamedAt: now}

	return s.recordTwice(ctx, kindRename, organization.ID+"/"+encodeTime(now), renamed, now)
}

// kindRename is the kind of the task that repeats the event of a renaming; see recordTwice.
const kindRename = "identity.rename-stragglers"
