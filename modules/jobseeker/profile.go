package jobseeker

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/text"
)

// Profile is what a jobseeker says of themselves and prefers. There is one for
// every user, also for who never said anything. Name and address are the
// account's.
type Profile struct {
	UserID string
	// FirstName and LastName are how the account's name is taken apart, and mean
	// nothing once that is another.
	FirstName, LastName string
	Bio                 string
	Phone               string
	Location            string
	Specialty           string
	CurrentRole         string
	Experience          string

	PreferredLocation string
	// LocationRadius is in miles, 0 if nothing was said.
	LocationRadius  int
	EmploymentTypes []string
	// SalaryMin and SalaryMax are pay a year, nil if nothing was said.
	SalaryMin, SalaryMax *float64

	// JobAlerts is whether new matches of saved searches are told of at all,
	// EmailNotifications whether news comes by mail: of applications, interviews
	// and matches. Mails about the account itself, and what an employer writes in
	// person, come in any case.
	JobAlerts, EmailNotifications bool
	// ShowProfile lets those whom the person has applied to see what they say of
	// themselves: bio, location, specialty, role and experience.
	ShowProfile bool
}

// NewProfile is the profile of who has said nothing yet.
func NewProfile(userID string) Profile {
	return Profile{UserID: userID, JobAlerts: true, EmailNotifications: true}
}

// Home is where the person wants to work, as far as it is known.
func (p Profile) Home() string {
	if p.PreferredLocation != "" {
		return p.PreferredLocation
	}
	return p.Location
}

// Account is a profile together with what the account says.
type Account struct {
	Profile
	Name, Email string
	// PendingEmail is the address that takes the place of Email once its owner
	// has confirmed it, empty if none waits for that.
	PendingEmail string
}

// First and Last are the parts of the name.
func (a Account) First() string { first, _ := a.nameParts(); return first }

// Last is the other part of First.
func (a Account) Last() string { _, last := a.nameParts(); return last }

func (a Account) nameParts() (first, last string) {
	if whole(a.FirstName, a.LastName) == a.Name {
		return a.FirstName, a.LastName
	}
	first, last, _ = strings.Cut(a.Name, " ")
	return first, last
}

func whole(first, last string) string { return strings.TrimSpace(first + " " + last) }

// The bounds of what people say of themselves, in characters.
const (
	maxFirst     = 100
	maxBio       = 5_000
	minPhone     = 3
	maxPhone     = 30
	maxLine      = 200
	maxRadius    = 500 // miles
	maxSalary    = 100_000_000
	maxEmailSize = 254
)

// Words is a text that may also be sent as a number.
type Words string

// UnmarshalJSON takes a string or a number.
func (w *Words) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(w))
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return fault.InvalidField("", "must be a string or a number")
	}
	*w = Words(n)
	return nil
}

// JSONTypes says for the documentation what may be sent.
func (Words) JSONTypes() []string { return []string{"string", "number"} }

// ProfileInput changes a profile: what is left out stays. An empty text, and a
// zero for a number, takes back what was said.
type ProfileInput struct {
	FirstName         *string           `json:"firstName" validate:"omitempty,max=100"`
	LastName          *string           `json:"lastName" validate:"omitempty,max=100"`
	Name              *string           `json:"name" validate:"omitempty,max=200"`
	Email             *string           `json:"email" validate:"omitempty,max=254,email"`
	Bio               *string           `json:"bio" validate:"omitempty,max=5000"`
	Phone             *string           `json:"phone" validate:"omitempty,max=30"`
	Location          *string           `json:"location" validate:"omitempty,max=200"`
	Specialty         *string           `json:"specialty" validate:"omitempty,max=200"`
	CurrentRole       *string           `json:"currentRole" validate:"omitempty,max=200"`
	Experience        *Words            `json:"experience" validate:"omitempty,max=200"`
	PreferredLocation *string           `json:"preferredLocation" validate:"omitempty,max=200"`
	LocationRadius    *float64          `json:"locationRadius" validate:"omitempty,min=0,max=500"`
	EmploymentTypes   *[]string         `json:"employmentTypes" validate:"omitempty,max=8"`
	SalaryMin         *float64          `json:"salaryMin" validate:"omitempty,min=0,max=100000000"`
	SalaryMax         *float64          `json:"salaryMax" validate:"omitempty,min=0,max=100000000"`
	Preferences       *PreferencesInput `json:"preferences"`
}

// PreferencesInput says what somebody wants to hear of.
type PreferencesInput struct {
	JobAlerts          *bool `json:"jobAlerts"`
	EmailNotifications *bool `json:"emailNotifications"`
}

// MyProfile is the caller's profile.
func (s *Service) MyProfile(ctx context.Context, by auth.Actor) (Account, error) {
	if !by.Seeker {
		return Account{}, fault.ErrForbidden
	}
	p, err := s.Profiles.Find(ctx, by.UserID)
	if err != nil {
		return Account{}, err
	}
	return s.account(ctx, p)
}

func (s *Service) account(ctx context.Context, p Profile) (Account, error) {
	people, err := s.People.ByIDs(ctx, []string{p.UserID})
	if err != nil {
		return Account{}, err
	}
	person, there := people[p.UserID]
	if !there {
		return Account{}, fault.ErrUnauthorized // deleted since the request began
	}
	pending, err := s.Accounts.PendingEmail(ctx, p.UserID)
	return Account{Profile: p, Name: person.Name, Email: person.Email, PendingEmail: pending}, err
}

// UpdateProfile changes the caller's profile. Fields are named under "profile",
// as they are sent.
func (s *Service) UpdateProfile(ctx context.Context, by auth.Actor, in ProfileInput) (Account, error) {
	return s.changeProfile(ctx, by, "profile.", in, func(*Profile) {})
}

// changeProfile applies the input, and what else is to be changed, in one
// transaction. The prefix is where the input stands in what was sent.
func (s *Service) changeProfile(ctx context.Context, by auth.Actor, prefix string, in ProfileInput, more func(*Profile)) (after Account, err error) {
	if !by.Seeker {
		return Account{}, fault.ErrForbidden
	}
	if err := in.check(prefix); err != nil {
		return Account{}, err
	}
	if in.Email != nil {
		if err := s.askForAddress(ctx, by, prefix, in); err != nil {
			return Account{}, err
		}
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Profiles.Lock(ctx, by.UserID); err != nil {
			return err
		}
		p, err := s.Profiles.Find(ctx, by.UserID)
		if err != nil {
			return err
		}
		before, err := s.account(ctx, p)
		if err != nil {
			return err
		}
		after = before
		if err := in.apply(&after, prefix); err != nil {
			return err
		}
		more(&after.Profile)
		if err := s.Profiles.Save(ctx, after.Profile); err != nil {
			return err
		}
		if after.Name != before.Name {
			if err := s.Accounts.Rename(ctx, by.UserID, after.Name); err != nil {
				return err
			}
		}
		return nil
	})
	return after, err
}

// askForAddress has the new address confirmed, if the rest of the input can be
// carried out. It comes before the transaction, because how often somebody asks
// is counted elsewhere.
func (s *Service) askForAddress(ctx context.Context, by auth.Actor, prefix string, in ProfileInput) error {
	trial, err := s.MyProfile(ctx, by)
	if err != nil {
		return err
	}
	if err := in.apply(&trial, prefix); err != nil {
		return err
	}
	return s.Accounts.ChangeEmail(ctx, by, *in.Email)
}

// check finds what is wrong with the input in itself.
func (in ProfileInput) check(prefix string) error {
	var bad []fault.Field
	wrong := func(name, message string) { bad = append(bad, fault.Field{Name: prefix + name, Message: message}) }
	text := func(name string, v *string, most int, lines bool) {
		switch {
		case v == nil:
		case strings.ContainsRune(*v, 0):
			wrong(name, "must not contain NUL")
		case utf8.RuneCountInString(*v) > most:
			wrong(name, fmt.Sprintf("must have at most %d characters", most))
		case !lines && strings.ContainsFunc(*v, unicode.IsControl):
			wrong(name, "must be one line")
		}
	}
	number := func(name string, v *float64, most float64) {
		if v != nil && (*v < 0 || *v > most || math.IsNaN(*v)) {
			wrong(name, fmt.Sprintf("must be from 0 to %.0f", most))
		}
	}
	text("firstName", in.FirstName, maxFirst, false)
	text("lastName", in.LastName, maxFirst, false)
	text("name", in.Name, maxName, false)
	text("email", in.Email, maxEmailSize, false)
	text("bio", in.Bio, maxBio, true)
	text("phone", in.Phone, maxPhone, false)
	if in.Phone != nil {
		if n := utf8.RuneCountInString(strings.TrimSpace(*in.Phone)); n > 0 && n < minPhone {
			wrong("phone", fmt.Sprintf("must have at least %d characters", minPhone))
		}
	}
	text("location", in.Location, maxLine, false)
	text("specialty", in.Specialty, maxLine, false)
	text("currentRole", in.CurrentRole, maxLine, false)
	text("experience", (*string)(in.Experience), maxLine, true)
	text("preferredLocation", in.PreferredLocation, maxQuery, false)
	number("locationRadius", in.LocationRadius, maxRadius)
	if in.LocationRadius != nil && *in.LocationRadius != math.Trunc(*in.LocationRadius) {
		wrong("locationRadius", "must be a whole number")
	}
	if in.EmploymentTypes != nil {
		if len(*in.EmploymentTypes) > maxTypes {
			wrong("employmentTypes", fmt.Sprintf("must have at most %d items", maxTypes))
		} else {
			for i, t := range *in.EmploymentTypes {
				if !slices.Contains(preferredTypes, t) {
					wrong(fmt.Sprintf("employmentTypes.%d", i), "must be one of: "+strings.Join(preferredTypes, ", "))
				}
			}
		}
	}
	number("salaryMin", in.SalaryMin, maxSalary)
	number("salaryMax", in.SalaryMax, maxSalary)
	if len(bad) > 0 {
		return fault.ErrInvalid.WithFields(bad...)
	}
	return nil
}

// apply changes the account as the input says, and refuses what does not fit
// what was there.
func (in ProfileInput) apply(a *Account, prefix string) error {
	set := func(to *string, v *string) {
		if v != nil {
			*to = strings.TrimSpace(*v)
		}
	}
	first, last := a.nameParts()
	if in.Name != nil {
		first, last, _ = strings.Cut(text.Name(*in.Name), " ")
	}
	set(&first, in.FirstName)
	set(&last, in.LastName)
	first, last = text.Name(first), text.Name(last)
	if in.Name != nil || in.FirstName != nil || in.LastName != nil {
		a.FirstName, a.LastName = first, last
		if a.Name = whole(first, a.LastName); a.Name == "" {
			name := "firstName"
			if in.Name != nil {
				name = "name"
			}
			return fault.InvalidField(prefix+name, "is required")
		}
		if utf8.RuneCountInString(a.Name) > maxName {
			return fault.InvalidField(prefix+"lastName", fmt.Sprintf("makes the name longer than %d characters", maxName))
		}
	}
	set(&a.Bio, in.Bio)
	set(&a.Phone, in.Phone)
	set(&a.Location, in.Location)
	set(&a.Specialty, in.Specialty)
	set(&a.CurrentRole, in.CurrentRole)
	set(&a.Experience, (*string)(in.Experience))
	set(&a.PreferredLocation, in.PreferredLocation)
	if in.LocationRadius != nil {
		a.LocationRadius = int(*in.LocationRadius)
	}
	if in.EmploymentTypes != nil {
		a.EmploymentTypes = slices.Clone(*in.EmploymentTypes)
	}
	amount := func(to **float64, v *float64) {
		switch {
		case v == nil:
		case *v == 0:
			*to = nil
		default:
			*to = v
		}
	}
	amount(&a.SalaryMin, in.SalaryMin)
	amount(&a.SalaryMax, in.SalaryMax)
	if a.SalaryMin != nil && a.SalaryMax != nil && *a.SalaryMin > *a.SalaryMax {
		name := "salaryMax"
		if in.SalaryMax == nil {
			name = "salaryMin"
		}
		return fault.InvalidField(prefix+name, "salaryMin must not be above salaryMax")
	}
	if p := in.Preferences; p != nil {
		if p.JobAlerts != nil {
			a.JobAlerts = *p.JobAlerts
		}
		if p.EmailNotifications != nil {
			a.EmailNotifications = *p.EmailNotifications
		}
	}
	return nil
}
