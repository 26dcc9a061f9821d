package identity

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
)

// EmployerSettings are the settings of a member of an organization. They belong to
// the user, not to the organization.
type EmployerSettings struct {
	UserID   string
	JobTitle string
	// Contact replaces the name and address of the account where it is not empty.
	Contact Contact
	// EmailAlerts enables mails about the organization. Mails about the account are
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
	s.Contact, s.EmailAlerts, s.UpdatedAt = Contact{}, true, now
}

// The limits of an employer's texts, in characters.
const (
	maxAbout = 10_000
	maxURL   = 2048
	minPhone = 3
	maxPhone = 30
)

// EmployerAccount is the account of an employer or member of an organization.
type EmployerAccount struct {
	User
	// PendingEmail is the address that waits for confirmation, or empty.
	PendingEmail string
	Organization Organization // zero without one
	Settings     EmployerSettings
}

// Contact returns the contact details with the defaults.
func (a EmployerAccount) Contact() Contact {
	c := a.Settings.Contact
	if c.Name == "" {
		c.Name = a.Name
	}
	if c.Email == "" {
		c.Email = a.Email
	}
	return c
}

// MyEmployerAccount returns the caller's account.
func (s *Service) MyEmployerAccount(ctx context.Context, a auth.Actor) (EmployerAccount, error) {
	out, err := s.employerAccount(ctx, a)
	if err != nil {
		return EmployerAccount{}, err
	}
	out.PendingEmail, err = s.PendingEmail(ctx, a.UserID)
	return out, err
}

func (s *Service) employerAccount(ctx context.Context, a auth.Actor) (out EmployerAccount, err error) {
	if err := a.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}
	if out.User, err = s.user(ctx, a.UserID); errors.Is(err, ErrUserNotFound) {
		return EmployerAccount{}, fault.ErrUnauthorized // deleted since the request began
	} else if err != nil {
		return EmployerAccount{}, err
	}
	if a.OrganizationID != "" {
		if out.Organization, err = s.organization(ctx, a.OrganizationID); err != nil {
			return EmployerAccount{}, err
		}
	}
	out.Settings, err = s.EmployerSettings.Get(ctx, a.UserID)
	return out, err
}

// EmployerInput contains changes of an employer's account and organization; nil
// fields are unchanged.
type EmployerInput struct {
	Profile     *EmployerProfileInput `json:"profile"`
	CompanyName *string               `json:"companyName" validate:"omitempty,notblank,max=200"`
	Industry    *string               `json:"industry" validate:"omitempty,max=200"`
	CompanySize *string               `json:"companySize" validate:"omitempty,max=200"`
	EmailAlerts *bool                 `json:"emailAlerts"`
	Contact     *ContactInput         `json:"contact"`
}

// EmployerProfileInput contains changes of an employer's profile. Another address is
// used after it was confirmed.
type EmployerProfileInput struct {
	Name     *string `json:"name" validate:"omitempty,notblank,max=200"`
	JobTitle *string `json:"jobTitle" validate:"omitempty,max=200"`
	Email    *string `json:"email" validate:"omitempty,max=254,email"`
}

// ContactInput is the input for Contact; an empty value restores the account's.
type ContactInput struct {
	Name  *string `json:"name" validate:"omitempty,max=200"`
	Email *string `json:"email" validate:"omitempty,max=254"`
	Phone *string `json:"phone" validate:"omitempty,max=30"`
}

// company returns the changes of the organization.
func (in EmployerInput) company() OrganizationInput {
	return OrganizationInput{Name: in.CompanyName, Industry: in.Industry, Size: in.CompanySize}
}

// UpdateEmployer applies all changes or none. Only admins can change the
// organization.
func (s *Service) UpdateEmployer(ctx context.Context, a auth.Actor, in EmployerInput) (EmployerAccount, error) {
	if err := a.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}
	company := in.company()
	if !company.empty() {
		if err := a.Require(auth.Manage); err != nil {
			return EmployerAccount{}, err
		}
	}
	var c checks
	if p := in.Profile; p != nil {
		c.replace("profile.name", p.Name, true)
		c.replace("profile.jobTitle", p.JobTitle, false)
		if p.Email != nil {
			if _, ok := ParseEmail(*p.Email); !ok {
				c.bad("profile.email", "must be a valid email address")
			}
		}
	}
	company.check(&c, "companyName", "industry", "companySize")
	in.Contact.check(&c)
	if err := c.err(); err != nil {
		return EmployerAccount{}, err
	}
	// The address comes first: it may be refused, and waits for confirmation anyway.
	if p := in.Profile; p != nil && p.Email != nil {
		if err := s.ChangeEmail(ctx, a, *p.Email); err != nil {
			return EmployerAccount{}, err
		}
	}
	var out EmployerAccount
	err := s.maybeRenaming(ctx, a.OrganizationID, func(ctx context.Context, counted bool) (err error) {
		if out, err = s.employerAccount(ctx, a); err != nil {
			return err
		}
		now, company := s.Clock.Now(), company
		if p := in.Profile; p != nil && p.Name != nil && *p.Name != out.Name {
			// An organization with the name of its admin is renamed with the admin, as
			// dissolve relies on the equal names. A form repeats unchanged values.
			unchanged := company.Name == nil || *company.Name == out.Organization.Name
			if unchanged && a.May(auth.Manage) && out.Organization.Name == out.Name {
				company.Name = p.Name
			}
			out.Rename(*p.Name, now)
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
		return s.rewrite(ctx, &out.Organization, company, counted, now)
	})
	if err != nil {
		return EmployerAccount{}, err
	}
	out.PendingEmail, err = s.PendingEmail(ctx, a.UserID)
	return out, err
}

// applyTo applies the input to the settings and reports whether they have changed.
func (in EmployerInput) applyTo(s *EmployerSettings) bool {
	before := *s
	if in.Profile != nil {
		set(&s.JobTitle, in.Profile.JobTitle)
	}
	if in.EmailAlerts != nil {
		s.EmailAlerts = *in.EmailAlerts
	}
	if c := in.Contact; c != nil {
		set(&s.Contact.Name, c.Name)
		set(&s.Contact.Email, c.Email)
		set(&s.Contact.Phone, c.Phone)
	}
	return *s != before
}

func set(to *string, from *string) {
	if from != nil {
		*to = *from
	}
}

// replace checks and trims a line of an input unless it is nil.
func (c *checks) replace(field string, s *string, required bool) {
	if s != nil {
		*s = c.line(field, *s, required)
	}
}

func (in *ContactInput) check(c *checks) {
	if in == nil {
		return
	}
	c.replace("contact.name", in.Name, false)
	c.replace("contact.phone", in.Phone, false)
	if in.Email != nil && *in.Email != "" {
		email, ok := ParseEmail(*in.Email)
		if !ok {
			c.bad("contact.email", "must be a valid email address")
		}
		*in.Email = email
	}
	if in.Phone != nil && *in.Phone != "" {
		if n := utf8.RuneCountInString(*in.Phone); n < minPhone || n > maxPhone {
			c.bad("contact.phone", "must have 3 to 30 characters")
		}
	}
}

// ResetEmployerSettings restores the caller's default settings.
func (s *Service) ResetEmployerSettings(ctx context.Context, a auth.Actor) (EmployerAccount, error) {
	if err := a.RequireEmployer(); err != nil {
		return EmployerAccount{}, err
	}
	var out EmployerAccount
	err := s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if out, err = s.employerAccount(ctx, a); err != nil || out.Settings.Version == 0 {
			return err
		}
		out.Settings.Reset(s.Clock.Now())
		return s.EmployerSettings.Upsert(ctx, &out.Settings)
	})
	return out, err
}

// WantsAlerts reports whether a member receives mails about the organization.
func (s *Service) WantsAlerts(ctx context.Context, userID string) (bool, error) {
	found, err := s.EmployerSettings.Get(ctx, userID)
	return found.EmailAlerts, err
}

// MyOrganization returns the caller's organization.
func (s *Service) MyOrganization(ctx context.Context, a auth.Actor) (Organization, error) {
	if err := a.RequireMember(); err != nil {
		return Organization{}, err
	}
	return s.organization(ctx, a.OrganizationID)
}

// OrganizationInput contains changes of an organization; nil fields are unchanged.
type OrganizationInput struct {
	Name        *string `json:"name" validate:"omitempty,notblank,max=200" sample:"St Brigid’s Hospital"`
	Description *string `json:"description" validate:"omitempty,max=10000"`
	Website     *string `json:"website" validate:"omitempty,max=2048"`
	Logo        *string `json:"logo" validate:"omitempty,max=2048"`
	Industry    *string `json:"industry" validate:"omitempty,max=200"`
	Size        *string `json:"size" validate:"omitempty,max=200"`
	// RequireSecondFactor keeps members without a second factor from doing
	// anything for the organization. Only an admin who has one can set it.
	RequireSecondFactor *bool `json:"requireSecondFactor"`
}

func (in OrganizationInput) empty() bool { return in == OrganizationInput{} }

// check validates the input. The parameters are the names of its fields.
func (in OrganizationInput) check(c *checks, name, industry, size string) {
	c.replace(name, in.Name, true)
	if in.Description != nil {
		*in.Description = strings.TrimSpace(*in.Description)
		switch {
		case utf8.RuneCountInString(*in.Description) > maxAbout:
			c.bad("description", "must have at most 10000 characters")
		case strings.ContainsRune(*in.Description, 0) || !utf8.ValidString(*in.Description):
			c.bad("description", "must not contain control characters")
		}
	}
	for _, link := range []struct {
		field string
		value *string
	}{{"website", in.Website}, {"logo", in.Logo}} {
		if link.value != nil && *link.value != "" && !safeLink(*link.value) {
			c.bad(link.field, "must be an https address without user and password, of at most 2048 characters")
		}
	}
	c.replace(industry, in.Industry, false)
	c.replace(size, in.Size, false)
}

// safeLink reports whether the text can be a link on a page. The service never opens
// it.
func safeLink(s string) bool {
	if len(s) > maxURL || hasControl(s) || strings.ContainsAny(s, " \"<>\\^`{|}") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.User == nil && u.Hostname() != ""
}

// UpdateOrganization changes the caller's organization. Only admins can call it.
func (s *Service) UpdateOrganization(ctx context.Context, a auth.Actor, in OrganizationInput) (Organization, error) {
	if err := a.Require(auth.Manage); err != nil {
		return Organization{}, err
	}
	var c checks
	in.check(&c, "name", "industry", "size")
	if err := c.err(); err != nil {
		return Organization{}, err
	}
	var out Organization
	err := s.maybeRenaming(ctx, a.OrganizationID, func(ctx context.Context, counted bool) (err error) {
		if out, err = s.organization(ctx, a.OrganizationID); err != nil {
			return err
		}
		if err := s.requireSecondFactor(ctx, a, out, in.RequireSecondFactor); err != nil {
			return err
		}
		return s.rewrite(ctx, &out, in, counted, s.Clock.Now())
	})
	return out, err
}

// requireSecondFactor checks and records a change of the organization's setting.
func (s *Service) requireSecondFactor(ctx context.Context, a auth.Actor, o Organization, wanted *bool) error {
	if wanted == nil || *wanted == o.RequireSecondFactor {
		return nil
	}
	detail := "off"
	if *wanted {
		detail = "on"
		if f, err := s.SecondFactors.Get(ctx, a.UserID); errors.Is(err, ErrNoSecondFactor) || err == nil && !f.Enabled() {
			return fault.InvalidField("requireSecondFactor", "needs a second factor on your own account first")
		} else if err != nil {
			return err
		}
	}
	return s.Audit.Record(ctx, audit.By(a, audit.SecondFactorRequired, o.ID).With(detail))
}

// rewrite stores the changes of the organization and records the event of another
// name, for which the rate limit is taken before (counted).
func (s *Service) rewrite(ctx context.Context, o *Organization, in OrganizationInput, counted bool, now time.Time) error {
	before := *o
	set(&o.Name, in.Name)
	set(&o.Description, in.Description)
	set(&o.Website, in.Website)
	set(&o.Logo, in.Logo)
	set(&o.Industry, in.Industry)
	set(&o.Size, in.Size)
	if in.RequireSecondFactor != nil {
		o.RequireSecondFactor = *in.RequireSecondFactor
	}
	if *o == before {
		return nil
	}
	if o.Name != before.Name && !counted {
		return errRenames
	}
	o.UpdatedAt = now
	if err := s.Organizations.Upsert(ctx, o); err != nil {
		return err
	}
	if o.Name == before.Name {
		return nil
	}
	return s.recordRenamed(ctx, o.ID, now)
}

const kindRename = "identity.rename-stragglers"

// recordRenamed records the event of a new name now, and again when no request can
// still store the old one.
func (s *Service) recordRenamed(ctx context.Context, organizationID string, now time.Time) error {
	e := event.OrganizationRenamed{OrganizationID: organizationID, RenamedAt: now}
	again := task.New(kindRename, task.Events, kindRename+"/"+organizationID+"/"+timestamp(now), e)
	again.RunAt = now.Add(stragglersTake)
	if err := s.Tasks.Add(ctx, again); err != nil {
		return err
	}
	return s.Events.Record(ctx, e)
}
