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

// EmployerSettings is what a person on the employers' side says of themselves
// and wishes to be told of. It is the person's own, not the organization's.
type EmployerSettings struct {
	UserID   string
	JobTitle string
	// Contact is whom to turn to, as the person wrote it; what is empty is the
	// account's own.
	Contact Contact
	// EmailAlerts is whether news of the organization come by mail. Mails about
	// the account itself come in any case.
	EmailAlerts bool
	UpdatedAt   time.Time
	Version     int64 // 0 of defaults that were never changed
}

// Contact is how to reach a person.
type Contact struct{ Name, Email, Phone string }

// DefaultSettings is what everybody begins with.
func DefaultSettings(userID string) EmployerSettings {
	return EmployerSettings{UserID: userID, EmailAlerts: true}
}

// Reset takes back what the person has set; their job title is no setting.
func (s *EmployerSettings) Reset(now time.Time) {
	s.Contact, s.EmailAlerts, s.UpdatedAt = Contact{}, true, now
}

// The bounds of what an employer writes, in characters.
const (
	maxAbout = 10_000
	maxURL   = 2048
	minPhone = 3
	maxPhone = 30
)

// EmployerAccount is a person on the employers' side with what belongs to them.
type EmployerAccount struct {
	User
	// PendingEmail is the address that waits to be confirmed, or empty.
	PendingEmail string
	Organization Organization // zero for who has none any more
	Settings     EmployerSettings
}

// Contact is whom to turn to.
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

// MyEmployerAccount is the caller's own.
func (s *Service) MyEmployerAccount(ctx context.Context, a auth.Actor) (EmployerAccount, error) {
	out, err := s.employerAccount(ctx, a)
	if err != nil {
		return EmployerAccount{}, err
	}
	out.PendingEmail, err = s.PendingEmail(ctx, a.UserID)
	return out, err
}

func (s *Service) employerAccount(ctx context.Context, a auth.Actor) (out EmployerAccount, err error) {
	if a.Role == auth.Jobseeker || a.Guest() {
		return EmployerAccount{}, fault.ErrForbidden
	}
	if out.User, err = s.Users.Find(ctx, a.UserID); errors.Is(err, ErrUserNotFound) {
		return EmployerAccount{}, fault.ErrUnauthorized // deleted since the request began
	} else if err != nil {
		return EmployerAccount{}, err
	}
	if a.OrganizationID != "" {
		if out.Organization, err = s.Organizations.Find(ctx, a.OrganizationID); err != nil {
			return EmployerAccount{}, err
		}
	}
	out.Settings, err = s.EmployerSettings.Find(ctx, a.UserID)
	return out, err
}

// EmployerInput is what an employer changes of themselves and of the
// organization; what is nil stays.
type EmployerInput struct {
	Profile     *EmployerProfileInput `json:"profile"`
	CompanyName *string               `json:"companyName" validate:"omitempty,notblank,max=200"`
	Industry    *string               `json:"industry" validate:"omitempty,max=200"`
	CompanySize *string               `json:"companySize" validate:"omitempty,max=200"`
	EmailAlerts *bool                 `json:"emailAlerts"`
	Contact     *ContactInput         `json:"contact"`
}

// EmployerProfileInput is what an employer says of themselves. Another address
// becomes theirs once it was confirmed.
type EmployerProfileInput struct {
	Name     *string `json:"name" validate:"omitempty,notblank,max=200"`
	JobTitle *string `json:"jobTitle" validate:"omitempty,max=200"`
	Email    *string `json:"email" validate:"omitempty,max=254,email"`
}

// ContactInput is Contact; what is empty is the account's own again.
type ContactInput struct {
	Name  *string `json:"name" validate:"omitempty,max=200"`
	Email *string `json:"email" validate:"omitempty,max=254"`
	Phone *string `json:"phone" validate:"omitempty,max=30"`
}

// company is what of the input is about the organization.
func (in EmployerInput) company() OrganizationInput {
	return OrganizationInput{Name: in.CompanyName, Industry: in.Industry, Size: in.CompanySize}
}

// UpdateEmployer changes what is given, all of it or nothing. What belongs to
// the organization is its admins' to change.
func (s *Service) UpdateEmployer(ctx context.Context, a auth.Actor, in EmployerInput) (EmployerAccount, error) {
	company := in.company()
	if a.Role == auth.Jobseeker || a.Guest() || !company.empty() && !a.May(auth.Manage) {
		return EmployerAccount{}, fault.ErrForbidden
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
	// The address first: it may be refused, and is a request that waits anyway.
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
			// An organization that bears the name of its admin goes on doing so: it
			// is to forget the name with the person. A form repeats what it was given.
			unchanged := company.Name == nil || *company.Name == out.Organization.Name
			if unchanged && a.May(auth.Manage) && out.Organization.Name == out.Name {
				company.Name = p.Name
			}
			out.Rename(*p.Name, now)
			if err := s.Users.Save(ctx, &out.User); err != nil {
				return err
			}
		}
		if in.settle(&out.Settings) {
			out.Settings.UpdatedAt = now
			if err := s.EmployerSettings.Save(ctx, &out.Settings); err != nil {
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

// settle brings the person's own settings up to the input. False if they are
// that already.
func (in EmployerInput) settle(s *EmployerSettings) bool {
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

// replace checks a line of an input, if it is given, and trims it.
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

// ResetEmployerSettings gives the caller the defaults again.
func (s *Service) ResetEmployerSettings(ctx context.Context, a auth.Actor) (EmployerAccount, error) {
	var out EmployerAccount
	err := s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if out, err = s.employerAccount(ctx, a); err != nil || out.Settings.Version == 0 {
			return err
		}
		out.Settings.Reset(s.Clock.Now())
		return s.EmployerSettings.Save(ctx, &out.Settings)
	})
	return out, err
}

// WantsAlerts reports whether a member wants news of the organization by mail.
func (s *Service) WantsAlerts(ctx context.Context, userID string) (bool, error) {
	found, err := s.EmployerSettings.Find(ctx, userID)
	return found.EmailAlerts, err
}

// MyOrganization is the one that the caller works for.
func (s *Service) MyOrganization(ctx context.Context, a auth.Actor) (Organization, error) {
	if a.OrganizationID == "" {
		return Organization{}, fault.ErrForbidden
	}
	return s.Organizations.Find(ctx, a.OrganizationID)
}

// OrganizationInput is what an admin changes of the organization; what is nil
// stays.
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

// check finds what is wrong, under the names by which the input knows them.
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

// safeLink reports whether the text may stand as a link on a page. It is shown
// to others and never opened by us.
func safeLink(s string) bool {
	if len(s) > maxURL || hasControl(s) || strings.ContainsAny(s, " \"<>\\^`{|}") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.User == nil && u.Hostname() != ""
}

// UpdateOrganization changes what is given of the caller's organization. Admins
// only.
func (s *Service) UpdateOrganization(ctx context.Context, a auth.Actor, in OrganizationInput) (Organization, error) {
	if !a.May(auth.Manage) {
		return Organization{}, fault.ErrForbidden
	}
	var c checks
	in.check(&c, "name", "industry", "size")
	if err := c.err(); err != nil {
		return Organization{}, err
	}
	var out Organization
	err := s.maybeRenaming(ctx, a.OrganizationID, func(ctx context.Context, counted bool) (err error) {
		if out, err = s.Organizations.Find(ctx, a.OrganizationID); err != nil {
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

// rewrite stores what the input changes of the organization, and tells of
// another name, which is to be counted before.
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
	if err := s.Organizations.Save(ctx, o); err != nil {
		return err
	}
	if o.Name == before.Name {
		return nil
	}
	return s.tellRenamed(ctx, o.ID, now)
}

const kindRename = "identity.rename-stragglers"

// tellRenamed tells of the new name now and once more when nobody can be
// writing under the old one any longer.
func (s *Service) tellRenamed(ctx context.Context, organizationID string, now time.Time) error {
	e := event.OrganizationRenamed{OrganizationID: organizationID, RenamedAt: now}
	again := task.New(kindRename, task.Events, kindRename+"/"+organizationID+"/"+moment(now), e)
	again.RunAt = now.Add(stragglersTake)
	if err := s.Tasks.Add(ctx, again); err != nil {
		return err
	}
	return s.Events.Record(ctx, e)
}
