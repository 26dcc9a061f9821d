package jobseeker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// Profile contains the profile and preferences of a jobseeker. Every user has a profile. The
// name and e-mail address of the user belong to the account.
type Profile struct {
	UserID string
	// FirstName and LastName are the parts of the account's name. They are ignored if the
	// name of the account has changed since they were stored.
	FirstName, LastName string
	Bio                 string
	Phone               string
	Location            string
	Specialty           string
	CurrentRole         string
	Experience          string

	PreferredLocation string
	// LocationRadius is in miles, 0 for none.
	LocationRadius  int
	EmploymentTypes []string
	// SalaryMin and SalaryMax are pay per year, nil for none.
	SalaryMin, SalaryMax *float64

	// JobAlerts turns on notifications of new matches of saved searches.
	// EmailNotifications turns on e-mails about applications, interviews and matches.
	// E-mails about the account and messages from employers are always sent.
	JobAlerts, EmailNotifications bool
	// ShowProfile makes bio, location, specialty, role and experience visible to the
	// organizations to which the user has applied.
	ShowProfile bool

	// Number identifies the account in conversations, for example with support. It
	// grants no access. It is 0 until the profile is stored for the first time.
	Number int64
}

// NewProfile returns the profile of a user who has not stored one.
func NewProfile(userID string) Profile {
	return Profile{UserID: userID, JobAlerts: true, EmailNotifications: true}
}

// Home returns the place where the user wants to work, or "".
func (p Profile) Home() string {
	return cmp.Or(p.PreferredLocation, p.Location)
}

// Account is a profile with the properties of the account.
type Account struct {
	Profile
	Name, Email string
	// PendingEmail is the address that replaces Email when it is confirmed, or empty.
	PendingEmail string
}

// First returns the first part of the name.
func (a Account) First() string { first, _ := a.nameParts(); return first }

// Last returns the rest of the name.
func (a Account) Last() string { _, last := a.nameParts(); return last }

// nameParts returns the stored parts of the name. If the name of the account has changed
// since, it splits the name at the first space.
func (a Account) nameParts() (first, last string) {
	if fullName(a.FirstName, a.LastName) == a.Name {
		return a.FirstName, a.LastName
	}

	first, last, _ = strings.Cut(a.Name, " ")

	return first, last
}

// fullName returns the name that consists of the two parts. One of them may be empty.
func fullName(first, last string) string { return strings.TrimSpace(first + " " + last) }

// Words is a string that clients may also send as a number.
type Words string

// UnmarshalJSON implements json.Unmarshaler for a string or a number.
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

// JSONTypes returns the accepted JSON types for the documentation.
func (Words) JSONTypes() []string { return []string{"string", "number"} }

// ProfileInput changes a profile. Fields that are nil keep their value. An empty string or 0
// clears it.
type ProfileInput struct {
	FirstName         *string           `json:"firstName" validate:"omitempty,max=100,line"`
	LastName          *string           `json:"lastName" validate:"omitempty,max=100,line"`
	Name              *string           `json:"name" validate:"omitempty,max=200,line"`
	Email             *string           `json:"email" validate:"omitempty,max=254,email"`
	Bio               *string           `json:"bio" validate:"omitempty,max=5000"`
	Phone             *string           `json:"phone" validate:"omitzero,min=3,max=30,line"`
	Location          *string           `json:"location" validate:"omitempty,max=200,line"`
	Specialty         *string           `json:"specialty" validate:"omitempty,max=200,line"`
	CurrentRole       *string           `json:"currentRole" validate:"omitempty,max=200,line"`
	Experience        *Words            `json:"experience" validate:"omitempty,max=200"`
	PreferredLocation *string           `json:"preferredLocation" validate:"omitempty,max=200,line"`
	LocationRadius    *float64          `json:"locationRadius" validate:"omitempty,min=0,max=500,whole"`
	EmploymentTypes   *[]string         `json:"employmentTypes" validate:"omitempty,max=8,dive,oneof=permanent temporary contract full-time part-time bank per-diem flexible"`
	SalaryMin         *float64          `json:"salaryMin" validate:"omitempty,min=0,max=100000000"`
	SalaryMax         *float64          `json:"salaryMax" validate:"omitempty,min=0,max=100000000"`
	Preferences       *PreferencesInput `json:"preferences"`
	// ShowProfile is not part of this request. The method UpdatePrivacy sets it.
	ShowProfile *bool `json:"-"`
}

// PreferencesInput changes notification preferences. Fields that are nil keep their
// value.
type PreferencesInput struct {
	JobAlerts          *bool `json:"jobAlerts"`
	EmailNotifications *bool `json:"emailNotifications"`
}

// ProfileService implements the use cases of profiles.
type ProfileService struct {
	*Shared
	Accounts Accounts
	People   People
}

// MyProfile returns the caller's profile.
func (s *ProfileService) MyProfile(ctx context.Context, by auth.Actor) (Account, error) {
	if err := by.RequireSeeker(); err != nil {
		return Account{}, err
	}

	p, err := s.Profiles.Get(ctx, by.UserID)
	if err != nil {
		return Account{}, err
	}

	return s.account(ctx, p)
}

// account returns the profile with the properties of its account.
func (s *ProfileService) account(ctx context.Context, p Profile) (Account, error) {
	people, err := s.People.ByIDs(ctx, []string{p.UserID})
	if err != nil {
		return Account{}, err
	}

	person, exists := people[p.UserID]
	if !exists {
		return Account{}, fault.ErrUnauthorized // the account was deleted since the request was authenticated
	}

	pending, err := s.Accounts.PendingEmail(ctx, p.UserID)

	return Account{Profile: p, Name: person.Name, Email: person.Email, PendingEmail: pending}, err
}

// UpdateProfile changes the caller's profile. Faults name fields with the prefix
// "profile.", as in the request.
func (s *ProfileService) UpdateProfile(ctx context.Context, by auth.Actor, in ProfileInput) (Account, error) {
	return s.changeProfile(ctx, by, "profile.", in)
}

// changeProfile applies the input in one transaction. Faults name fields with the given
// prefix.
func (s *ProfileService) changeProfile(ctx context.Context, by auth.Actor, prefix string, in ProfileInput) (after Account, err error) {
	if err := cmp.Or(by.RequireSeeker(), valid.Check(prefix, in)); err != nil {
		return Account{}, err
	}

	if in.Email != nil {
		if err := s.requestEmailChange(ctx, by, prefix, in); err != nil {
			return Account{}, err
		}
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		p, err := s.Profiles.Get(ctx, by.UserID)
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

		if err := s.Profiles.Update(ctx, after.Profile); err != nil {
			return err
		}

		if after.Name == before.Name {
			return nil
		}

		return s.Accounts.Rename(ctx, by.UserID, after.Name)
	})

	return after, err
}

// requestEmailChange sends a confirmation request to the new address if the rest of the
// input is valid. It must run outside a transaction, because it counts the request with a rate
// limiter, which a rollback would not undo.
func (s *ProfileService) requestEmailChange(ctx context.Context, by auth.Actor, prefix string, in ProfileInput) error {
	account, err := s.MyProfile(ctx, by)
	if err != nil {
		return err
	}

	if err := in.apply(&account, prefix); err != nil {
		return err
	}

	return s.Accounts.ChangeEmail(ctx, by, *in.Email)
}

// apply changes the account, and validates the result. Faults name fields with the given
// prefix.
func (in ProfileInput) apply(a *Account, prefix string) error {
	if err := in.applyName(a, prefix); err != nil {
		return err
	}

	patch.SetText(&a.Bio, in.Bio)
	patch.SetText(&a.Phone, in.Phone)
	patch.SetText(&a.Location, in.Location)
	patch.SetText(&a.Specialty, in.Specialty)
	patch.SetText(&a.CurrentRole, in.CurrentRole)
	patch.SetText(&a.Experience, (*string)(in.Experience))
	patch.SetText(&a.PreferredLocation, in.PreferredLocation)

	if in.LocationRadius != nil {
		a.LocationRadius = int(*in.LocationRadius)
	}

	if in.EmploymentTypes != nil {
		a.EmploymentTypes = slices.Clone(*in.EmploymentTypes)
	}

	setSalary(&a.SalaryMin, in.SalaryMin)
	setSalary(&a.SalaryMax, in.SalaryMax)

	if a.SalaryMin != nil && a.SalaryMax != nil && *a.SalaryMin > *a.SalaryMax {
		// The error names a field that the request contains.
		field := "salaryMax"
		if in.SalaryMax == nil {
			field = "salaryMin"
		}

		return fault.InvalidField(prefix+field, "salaryMin must not be above salaryMax")
	}

	patch.Set(&a.ShowProfile, in.ShowProfile)

	if p := in.Preferences; p != nil {
		patch.Set(&a.JobAlerts, p.JobAlerts)
		patch.Set(&a.EmailNotifications, p.EmailNotifications)
	}

	return nil
}

// applyName changes the name of the account and its two parts. The input may contain the whole
// name, which is divided into the parts at its first space. It may also contain each part, which
// takes precedence over the whole name.
func (in ProfileInput) applyName(a *Account, prefix string) error {
	if in.Name == nil && in.FirstName == nil && in.LastName == nil {
		return nil
	}

	first, last := a.nameParts()
	if in.Name != nil {
		first, last, _ = strings.Cut(text.Name(*in.Name), " ")
	}

	patch.SetText(&first, in.FirstName)
	patch.SetText(&last, in.LastName)

	a.FirstName, a.LastName = text.Name(first), text.Name(last)

	a.Name = fullName(a.FirstName, a.LastName)
	if a.Name == "" {
		// The error names a field that the request contains.
		field := "firstName"
		if in.Name != nil {
			field = "name"
		}

		return fault.InvalidField(prefix+field, "is required")
	}

	if utf8.RuneCountInString(a.Name) > maxName {
		return fault.InvalidField(prefix+"lastName", fmt.Sprintf("makes the name longer than %d characters", maxName))
	}

	return nil
}

// setSalary sets a salary, or clears it if the new value is 0. It does nothing if the new
// value is nil.
func setSalary(salary **float64, value *float64) {
	switch {
	case value == nil: // not in the request
	case *value == 0:
		*salary = nil
	default:
		*salary = value
	}
}

// assignNumber returns the number of the profile. A profile without a number gets one by being
// stored for the first time.
func (s *ProfileService) assignNumber(ctx context.Context, userID string) (int64, error) {
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		p, err := s.Profiles.Get(ctx, userID)
		if err != nil || p.Number != 0 {
			return err
		}

		return s.Profiles.Update(ctx, p)
	})
	if err != nil {
		return 0, err
	}

	p, err := s.Profiles.Get(ctx, userID)

	return p.Number, err
}

// NotifyInput turns optional e-mails, and notifications of new matches, on or off. Fields that
// are nil keep their value.
type NotifyInput struct{ Email, JobAlerts *bool }

// UpdateNotifications stores which notifications the caller wants.
func (s *ProfileService) UpdateNotifications(ctx context.Context, by auth.Actor, in NotifyInput) error {
	if in.Email == nil && in.JobAlerts == nil {
		return fault.InvalidField("email", "is required without jobAlerts")
	}

	_, err := s.changeProfile(ctx, by, "",
		ProfileInput{Preferences: &PreferencesInput{EmailNotifications: in.Email, JobAlerts: in.JobAlerts}})

	return err
}

// UpdatePrivacy stores whether organizations may see the caller's profile (Profile.ShowProfile).
func (s *ProfileService) UpdatePrivacy(ctx context.Context, by auth.Actor, show *bool) error {
	if show == nil {
		return fault.InvalidField("showProfile", "is required")
	}

	_, err := s.changeProfile(ctx, by, "", ProfileInput{ShowProfile: show})

	return err
}

// Table is a CSV file for a download. The caller has to close Body.
type Table struct {
	Name string
	Size int64 // in bytes
	Body io.ReadCloser
}

// ExportProfile returns the caller's profile and preferences as a table of one row.
func (s *ProfileService) ExportProfile(ctx context.Context, by auth.Actor) (Table, error) {
	a, err := s.MyProfile(ctx, by)
	if err != nil {
		return Table{}, err
	}

	formatAmount := func(amount *float64) string {
		if amount == nil {
			return ""
		}

		return strconv.FormatFloat(*amount, 'f', -1, 64)
	}

	radius := ""
	if a.LocationRadius > 0 {
		radius = strconv.Itoa(a.LocationRadius)
	}

	var header, row []string
	for _, column := range []struct{ name, value string }{
		{name: "uuid", value: a.UserID},
		{name: "email", value: a.Email},
		{name: "name", value: a.Name},
		{name: "first_name", value: a.First()},
		{name: "last_name", value: a.Last()},
		{name: "bio", value: a.Bio},
		{name: "phone", value: a.Phone},
		{name: "location", value: a.Location},
		{name: "specialty", value: a.Specialty},
		{name: "current_role", value: a.CurrentRole},
		{name: "experience", value: a.Experience},
		{name: "preferred_location", value: a.PreferredLocation},
		{name: "location_radius", value: radius},
		{name: "employment_types", value: strings.Join(a.EmploymentTypes, ", ")},
		{name: "salary_min", value: formatAmount(a.SalaryMin)},
		{name: "salary_max", value: formatAmount(a.SalaryMax)},
		{name: "show_profile", value: strconv.FormatBool(a.ShowProfile)},
		{name: "job_alerts", value: strconv.FormatBool(a.JobAlerts)},
		{name: "email_notifications", value: strconv.FormatBool(a.EmailNotifications)},
	} {
		header, row = append(header, column.name), append(row, column.value)
	}

	var page csvfile.Page
	page.Row(header)
	page.Row(row)

	text := page.Bytes()

	return Table{
		Name: "locum-my-profile-" + s.Clock.Now().Format("20060102") + ".csv",
		Size: int64(len(text)),
		Body: io.NopCloser(bytes.NewReader(text)),
	}, nil
}
