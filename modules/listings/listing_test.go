package listings

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/valid"
)

// noon is the present time of the tests.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// eventTypes returns the types of the events, separated by spaces.
func eventTypes(events []event.Event) string {
	var types []string
	for _, e := range events {
		types = append(types, e.Type())
	}

	return strings.Join(types, " ")
}

// TestListing_PublicChange_RecordsEvent follows one listing through its states. Each step changes the listing and names
// the event that finishChange then records. Events are about what the public sees. Therefore a change of a draft, a
// change of meta, which is private, and a change without a difference record none.
func TestListing_PublicChange_RecordsEvent(t *testing.T) {
	t.Parallel()

	const noEvent, created, updated, closed = "", "job.created", "job.updated", "job.closed"

	listing := Listing{ID: "1", OrganizationID: "2", Status: Draft, Content: Content{Title: "Nurse", Description: "x"}}
	now := noon
	step := func(wantEvent string, change func()) {
		t.Helper()

		before := listing.clone()
		now = now.Add(time.Minute) // each step is a minute after the one before

		change()
		require.Equal(t, wantEvent, eventTypes(listing.finishChange(&before, now)))
		require.Equal(t, listing.IsPublic(now), listing.Open)
		require.Equal(t, now, listing.UpdatedAt)
	}
	setStatus := func(status Status) func() {
		return func() { require.NoError(t, listing.SetStatus(status)) }
	}
	changeNothing := func() {}

	// A draft is published.
	step(noEvent, changeNothing)
	step(noEvent, func() { listing.Title = "Senior nurse" })
	require.Nil(t, listing.PostedAt)
	step(created, setStatus(Active))

	firstPostedAt := *listing.PostedAt

	// The public listing changes.
	step(noEvent, changeNothing)
	step(noEvent, func() { listing.Meta = json.RawMessage(`{"a":1}`) })
	step(updated, func() { listing.Title = "Nurse" })
	step(updated, func() { listing.Salary = &Salary{Currency: "GBP", Period: "year"} })

	// The listing becomes private, changes, and is published again.
	step(closed, setStatus(Inactive))
	step(noEvent, func() { listing.Title = "Changed while not public" })
	step(noEvent, setStatus(Closed))
	step(updated, setStatus(Active))

	// The listing is archived and deleted, and is restored each time.
	step(closed, func() { listing.Archive(now) })
	step(noEvent, func() { listing.Delete(now) })
	step(updated, func() { require.NoError(t, listing.Restore()) })
	step(closed, func() { listing.Delete(now) })
	step(updated, func() {
		const days = 1

		require.NoError(t, listing.Renew(now, days))
	})

	// The next step happens at the deadline, from which the listing is not public.
	now = listing.Deadline.Add(-time.Minute)

	step(closed, changeNothing)
	step(updated, func() {
		const days = 30

		require.NoError(t, listing.Renew(now, days))
	})
	require.Equal(t, firstPostedAt, *listing.PostedAt, "the time of the first publication does not change")
}

// TestListing_Event_ContainsSnapshot checks that an event contains the listing as it was at the time of the event,
// without private fields. The event of a listing that is too large for a webhook has no snapshot.
func TestListing_Event_ContainsSnapshot(t *testing.T) {
	t.Parallel()

	// snapshot returns the listing in the event about its creation, or an empty one if the event has none.
	snapshot := func(description string) (inEvent Listing) {
		listing := Listing{
			ID:      "1",
			Status:  Active,
			Content: Content{Title: "Nurse", Description: description, Department: "private"},
			Meta:    json.RawMessage(`{"private":1}`),
		}

		raw := listing.finishChange(&Listing{}, noon)[0].(event.JobCreated).Listing
		if raw == nil {
			return inEvent
		}

		require.NotContains(t, string(raw), "private")
		require.NoError(t, json.Unmarshal(raw, &inEvent))

		return inEvent
	}

	inEvent := snapshot("On a ward.")
	require.Equal(t, "1", inEvent.ID)
	require.Equal(t, "Nurse", inEvent.Title)
	require.Equal(t, "On a ward.", inEvent.Description)
	require.Equal(t, Active, inEvent.Status)
	require.Equal(t, noon, *inEvent.PostedAt)

	// 20 KiB fit into a webhook. The character < takes six bytes in JSON, so that 4 KiB of it become 24 KiB.
	fits := strings.Repeat("x", 20<<10)
	doesNotFit := strings.Repeat("<", 4<<10)

	require.Equal(t, "1", snapshot(fits).ID, "a listing that fits into a webhook is in the event")
	require.Empty(t, snapshot(doesNotFit), "a listing that does not fit into a webhook is not in the event")
}

// TestListing_DeadlinePassed_IsNotPublic checks that a listing is public before its deadline and not at it.
func TestListing_DeadlinePassed_IsNotPublic(t *testing.T) {
	t.Parallel()

	listing := Listing{Status: Active, Content: Content{Deadline: &noon}}
	require.True(t, listing.IsPublic(noon.Add(-time.Microsecond)), "just before the deadline")
	require.False(t, listing.IsPublic(noon), "at the deadline")

	beforeCreation := Listing{}
	events := listing.finishChange(&beforeCreation, noon)
	require.Empty(t, eventTypes(events), "a listing that is created expired records no event")
	require.Nil(t, listing.PostedAt)
}

// TestListing_SetStatus_OtherStatus_IsRefused checks that employers cannot set an active listing to a status that has
// an operation of its own, such as Archive, or that does not exist.
func TestListing_SetStatus_OtherStatus_IsRefused(t *testing.T) {
	t.Parallel()

	for _, refused := range []Status{Draft, Archived, "gone", ""} {
		listing := Listing{Status: Active}
		err := listing.SetStatus(refused)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "status %q", refused)
	}
}

// TestListing_ArchiveAndDelete_KeepFirstTimes checks that the times of the first archiving and deletion remain until the
// listing is restored by another status.
func TestListing_ArchiveAndDelete_KeepFirstTimes(t *testing.T) {
	t.Parallel()

	listing := Listing{Status: Active}
	anHourLater := noon.Add(time.Hour)

	require.ErrorIs(t, listing.Restore(), ErrNotDeleted)

	// The listing is archived at noon, and again an hour later.
	listing.Archive(noon)
	require.Equal(t, Archived, listing.Status)
	require.ErrorIs(t, listing.Restore(), ErrNotDeleted, "archived is not deleted")
	listing.Archive(anHourLater)
	require.Equal(t, noon, *listing.ArchivedAt, "the time of the first archiving does not change")

	// The archived listing is deleted.
	listing.Delete(anHourLater)
	require.Equal(t, noon, *listing.ArchivedAt)
	require.Equal(t, anHourLater, *listing.DeletedAt)

	// Another status restores the listing.
	require.NoError(t, listing.SetStatus(Inactive))
	require.Nil(t, listing.ArchivedAt)
	require.Nil(t, listing.DeletedAt)
	require.Equal(t, Inactive, listing.Status)
}

// TestRenew_CountsFromLaterOfNowAndDeadline checks the deadline after a renewal. The days count from the present, or from
// the old deadline if it is later, so that an early renewal loses no days. A renewal can have 1 to 365 days.
func TestRenew_CountsFromLaterOfNowAndDeadline(t *testing.T) {
	t.Parallel()

	const (
		day         = 24 * time.Hour
		renewalDays = 30
	)

	for name, test := range map[string]struct {
		deadline     *time.Time
		wantDeadline time.Time
	}{
		"without a deadline": {deadline: nil, wantDeadline: noon.Add(renewalDays * day)},
		"expired":            {deadline: new(noon.Add(-9 * day)), wantDeadline: noon.Add(renewalDays * day)},
		"still open":         {deadline: new(noon.Add(5 * day)), wantDeadline: noon.Add((5 + renewalDays) * day)},
	} {
		listing := Listing{Status: Closed, Content: Content{Deadline: test.deadline}}
		require.NoError(t, listing.Renew(noon, renewalDays), name)
		require.Equal(t, test.wantDeadline, *listing.Deadline, name)
		require.Equal(t, Active, listing.Status, name)
	}

	// Numbers outside of 1 to 365 are refused, and the listing stays closed.
	for _, days := range []int{-1, 0, 366} {
		listing := Listing{Status: Closed}
		err := listing.Renew(noon, days)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%d days", days)
		require.Equal(t, Closed, listing.Status, "%d days", days)
	}
}

// TestCopy_IsANewListing checks that a copy has the content of a listing but none of its states and times. A deadline
// that has passed is not copied. The suffix " (Copy)" is added to the title, which is cut off if it would be longer than
// 200 characters.
func TestCopy_IsANewListing(t *testing.T) {
	t.Parallel()

	listing := Listing{
		ID:             "1",
		OrganizationID: "o",
		Version:        7,
		Company:        "C",
		Status:         Archived,
		PostedAt:       &noon,
		DeletedAt:      &noon,
		Meta:           json.RawMessage(`{"a":1}`),
		Content:        Content{Title: "Nurse", Deadline: new(noon.Add(-time.Second)), Questions: []Question{{ID: "q"}}},
	}

	const newID = "2"

	wantDuplicate := Listing{
		ID:             newID,
		OrganizationID: "o",
		Company:        "C",
		Status:         Active,
		Meta:           listing.Meta,
		CreatedAt:      noon,
		Content:        Content{Title: "Nurse (Copy)", Questions: []Question{{ID: "q"}}},
	}
	require.Equal(t, wantDuplicate, listing.Copy(newID, noon))

	// A title of the maximum length, and a deadline that has not passed.
	const maxTitle, suffix = 200, " (Copy)"

	listing.Title = strings.Repeat("ü", maxTitle)
	listing.Deadline = new(noon.Add(time.Second))

	duplicate := listing.Copy(newID, noon)
	require.Equal(t, strings.Repeat("ü", maxTitle-len(suffix))+suffix, duplicate.Title)
	require.NotNil(t, duplicate.Deadline)
	require.NoError(t, check(CreateInput{Title: duplicate.Title, Description: "x"}))
}

// TestDetails_RequireFutureDeadline_RefusesPassedDeadline checks a rule that the pages for employers set by
// RequireFutureDeadline. The API does not set it and accepts a deadline that has passed.
func TestDetails_RequireFutureDeadline_RefusesPassedDeadline(t *testing.T) {
	t.Parallel()

	withoutDeadline := &Listing{}
	past := &Listing{Content: Content{Deadline: &noon}}
	future := &Listing{Content: Content{Deadline: new(noon.Add(time.Second))}}

	ofPages := Details{RequireFutureDeadline: true}
	ofAPI := Details{RequireFutureDeadline: false}

	refusal := fault.Of(ofPages.checkDeadline(past, noon))
	require.Equal(t, "applicationDeadline", refusal.Fields[0].Name)
	require.NoError(t, ofPages.checkDeadline(future, noon))
	require.NoError(t, ofPages.checkDeadline(withoutDeadline, noon))
	require.NoError(t, ofAPI.checkDeadline(past, noon))
}

// check validates the input of a new listing. The names of invalid fields have no prefix.
func check(input CreateInput) error { return valid.Check("", input) }

// TestCreateInput_TooLong_IsRefused checks the limits of the fields with values at and just above each limit. Limits are
// in characters and not in bytes. Questions without an id may have the same text, but the ids of questions must be
// unique.
func TestCreateInput_TooLong_IsRefused(t *testing.T) {
	t.Parallel()

	good := func() CreateInput { return CreateInput{Title: "T", Description: "D"} }
	require.NoError(t, check(good()))

	// long returns a text of n characters and 2n bytes.
	long := func(n int) string { return strings.Repeat("é", n) }
	atLimits := CreateInput{Title: long(200), Description: long(20_000), Details: Details{
		Department:     new(long(200)),
		Specialty:      new(long(200)),
		Location:       new(long(200)),
		ContractType:   new(""),
		EmploymentType: new(""),
		Requirements:   &[]string{long(500)},
		Benefits:       &[]string{},
		Questions:      &[]QuestionInput{{ID: long(64), Text: long(500)}, {Text: "a"}, {Text: "a"}},
	}}
	require.NoError(t, check(atLimits))

	for field, spoil := range map[string]func(*CreateInput){
		"title":            func(input *CreateInput) { input.Title = " " },
		"description":      func(input *CreateInput) { input.Description = long(20_001) },
		"department":       func(input *CreateInput) { input.Department = new(long(201)) },
		"contractType":     func(input *CreateInput) { input.ContractType = new("forever") },
		"employmentType":   func(input *CreateInput) { input.EmploymentType = new("never") },
		"specialty":        func(input *CreateInput) { input.Specialty = new(long(201)) },
		"location":         func(input *CreateInput) { input.Location = new(long(201)) },
		"requirements":     func(input *CreateInput) { input.Requirements = new(make([]string, 51)) },
		"requirements.1":   func(input *CreateInput) { input.Requirements = &[]string{"a", " "} },
		"benefits.0":       func(input *CreateInput) { input.Benefits = &[]string{long(501)} },
		"questions":        func(input *CreateInput) { input.Questions = new(make([]QuestionInput, 51)) },
		"questions.0.text": func(input *CreateInput) { input.Questions = &[]QuestionInput{{ID: "a"}} },
		"questions.1.id": func(input *CreateInput) {
			input.Questions = &[]QuestionInput{{ID: "a", Text: "x"}, {ID: "a", Text: "y"}}
		},
	} {
		// field is the only field that is wrong after spoil.
		input := good()
		spoil(&input)

		refusal := fault.Of(check(input))
		require.NotNil(t, refusal, field)
		require.Equal(t, fault.Invalid, refusal.Kind, field)
		require.Equal(t, field, refusal.Fields[0].Name)
	}
}

// TestSalary_Yearly_IsInMinorUnits checks the pay for a year in minor units, such as pence, by which listings are
// compared. If only one amount is given, it is both ends of the range.
func TestSalary_Yearly_IsInMinorUnits(t *testing.T) {
	t.Parallel()

	// The numbers of a full-time year.
	const (
		hours        = 1950
		hoursForUSD  = 2080 // for pay in dollars
		days         = 260
		weeks        = 52
		months       = 12
		minorPerUnit = 100 // pence in a pound, cents in a dollar or euro
	)

	for _, test := range []struct {
		input             SalaryInput
		wantLow, wantHigh int64
	}{
		{input: SalaryInput{Min: new(30000.0), Max: new(40000.5)}, wantLow: 30000 * minorPerUnit, wantHigh: 40000.5 * minorPerUnit},
		{
			input:    SalaryInput{Min: new(20.0), Period: new("hour")},
			wantLow:  20 * minorPerUnit * hours,
			wantHigh: 20 * minorPerUnit * hours,
		},
		{
			input:    SalaryInput{Max: new(20.0), Period: new("hour"), Currency: new("EUR")},
			wantLow:  20 * minorPerUnit * hours,
			wantHigh: 20 * minorPerUnit * hours,
		},
		{
			input:    SalaryInput{Min: new(20.1), Max: new(45.55), Period: new("hour"), Currency: new("usd")},
			wantLow:  20.1 * minorPerUnit * hoursForUSD,
			wantHigh: 45.55 * minorPerUnit * hoursForUSD,
		},
		{
			input:    SalaryInput{Min: new(100.0), Period: new("day")},
			wantLow:  100 * minorPerUnit * days,
			wantHigh: 100 * minorPerUnit * days,
		},
		{
			input:    SalaryInput{Min: new(500.0), Period: new("week")},
			wantLow:  500 * minorPerUnit * weeks,
			wantHigh: 500 * minorPerUnit * weeks,
		},
		{
			input:    SalaryInput{Min: new(3000.0), Period: new("month")},
			wantLow:  3000 * minorPerUnit * months,
			wantHigh: 3000 * minorPerUnit * months,
		},
		{input: SalaryInput{Min: new(0.0), Max: new(1e9)}, wantLow: 0, wantHigh: 1e9 * minorPerUnit},
	} {
		salary, err := newSalary(test.input)
		require.NoError(t, err)

		low, high := salary.Yearly()
		require.Equal(t, test.wantLow, low, "%+v", salary)
		require.Equal(t, test.wantHigh, high, "%+v", salary)
	}
}

// TestSalary_InvalidInput_IsRefused checks the rules of each field of pay. An input without an amount is no pay.
func TestSalary_InvalidInput_IsRefused(t *testing.T) {
	t.Parallel()

	checkSalary := func(salary SalaryInput) error {
		return check(CreateInput{Title: "T", Description: "D", Details: Details{Salary: &salary}})
	}

	for field, invalid := range map[string]SalaryInput{
		"salary.min":      {Min: new(-1.0)},
		"salary.max":      {Min: new(5.0), Max: new(4.0)},
		"salary.currency": {Min: new(1.0), Currency: new("XXZ")},
		"salary.period":   {Min: new(1.0), Period: new("fortnight")},
	} {
		require.Equal(t, field, fault.Of(checkSalary(invalid)).Fields[0].Name)
	}

	for _, invalid := range []SalaryInput{
		{Min: new(1e9 + 1)}, // above the maximum
		{Max: new(10.005)},  // a part of a penny
		{Min: new(1.0), Currency: new("")},
		{Min: new(1.0), Currency: new("G P")}, // not three letters
	} {
		require.Error(t, checkSalary(invalid), "%+v", invalid)
	}

	for _, withoutAmount := range []SalaryInput{{}, {Currency: new("GBP")}} {
		salary, err := newSalary(withoutAmount)
		require.NoError(t, err)
		require.Nil(t, salary)
	}
}

// TestMeta_Update_IsMerged checks that an update of meta is a JSON merge patch (RFC 7396). Large numbers and the
// characters of HTML remain as the client wrote them.
func TestMeta_Update_IsMerged(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ meta, patch, want string }{
		// the examples of RFC 7396 in which all values are objects
		{meta: `{"a":"b"}`, patch: `{"a":"c"}`, want: `{"a":"c"}`},
		{meta: `{"a":"b"}`, patch: `{"b":"c"}`, want: `{"a":"b","b":"c"}`},
		{meta: `{"a":"b"}`, patch: `{"a":null}`, want: `{}`},
		{meta: `{"a":"b","b":"c"}`, patch: `{"a":null}`, want: `{"b":"c"}`},
		{meta: `{"a":["b"]}`, patch: `{"a":"c"}`, want: `{"a":"c"}`},
		{meta: `{"a":"c"}`, patch: `{"a":["b"]}`, want: `{"a":["b"]}`},
		{meta: `{"a":{"b":"c"}}`, patch: `{"a":{"b":"d","c":null}}`, want: `{"a":{"b":"d"}}`},
		{meta: `{"a":[{"b":"c"}]}`, patch: `{"a":[1]}`, want: `{"a":[1]}`},
		{meta: `{"e":null}`, patch: `{"a":1}`, want: `{"e":null,"a":1}`},
		{meta: `{}`, patch: `{"a":{"bb":{"ccc":null}}}`, want: `{"a":{"bb":{}}}`},
		// HTML and a number that a double cannot represent
		{meta: ``, patch: `{"listing":{"title":"<T> & \"t\""}}`, want: `{"listing":{"title":"<T> & \"t\""}}`},
		{meta: `{"n":1}`, patch: `{"m":12345678901234567890}`, want: `{"n":1,"m":12345678901234567890}`},
	} {
		merged, err := mergeMeta(json.RawMessage(test.meta), json.RawMessage(test.patch))
		require.NoError(t, err, test.patch)
		require.JSONEq(t, test.want, string(merged), test.patch)
	}
}

// TestMeta_TooLarge_IsRefused checks the limits of meta: 8 levels of objects, 100 names, maxMetaBytes (16 KiB), and
// numbers within the range of a double. Names that begin with an underscore are reserved.
func TestMeta_TooLarge_IsRefused(t *testing.T) {
	t.Parallel()

	// deep returns n nested objects.
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + `{}` + strings.Repeat(`}`, n-1) }

	// keys returns an object with the n different names k, kx, kxx, …
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
		}

		return "{" + b.String()[1:] + "}"
	}

	// ofSize returns an object of n bytes.
	ofSize := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }

	const maxLevels, maxNames = 8, 100

	var noMeta json.RawMessage // of a listing that has none yet

	// beginning returns the first 40 bytes of a patch, for messages.
	beginning := func(patch string) string { return patch[:min(40, len(patch))] }

	for _, good := range []string{
		deep(maxLevels),
		keys(maxNames),
		ofSize(maxMetaBytes),
		`{"a":{"b_":1}}`, // a name that ends with an underscore
		`{"a":1e308,"b":-0.0,"c":0e999}`,
	} {
		_, err := mergeMeta(noMeta, json.RawMessage(good))
		require.NoError(t, err, beginning(good))
	}

	for _, bad := range []string{
		deep(maxLevels + 1), keys(maxNames + 1), ofSize(maxMetaBytes + 1),
		`{"_a":1}`, `{"a":{"_b":1}}`, `{"a":[{"_b":1}]}`, // reserved names
		`[]`, `"x"`, `null`, `1`, // not objects
		`{"a":1e999}`, `{"a":1e-999}`, `{"a":` + strings.Repeat("9", 65) + `}`, // numbers
	} {
		_, err := mergeMeta(noMeta, json.RawMessage(bad))
		require.Equal(t, fault.Invalid, fault.KindOf(err), beginning(bad))
	}

	// The names are counted after the patch is merged. A null in a patch removes a name.
	full := json.RawMessage(keys(maxNames))

	_, err := mergeMeta(full, json.RawMessage(`{"more":1}`))
	require.Error(t, err, "101 names")

	_, err = mergeMeta(full, json.RawMessage(`{"more":1,"k":null}`))
	require.NoError(t, err, "100 names")
}

// TestParseMoment_DatesAndTimestamps checks how the text of a deadline is read. A date means its last second. A timestamp
// is converted to UTC and to microseconds, the precision of databases. The years 1 and 9999 are refused, because they
// are out of the range of some databases.
func TestParseMoment_DatesAndTimestamps(t *testing.T) {
	t.Parallel()

	const endOfDay = true

	for text, want := range map[string]string{
		"2026-12-31":                   "2026-12-31T23:59:59Z",
		"2026-12-31T10:00:00Z":         "2026-12-31T10:00:00Z",
		"2026-12-31T10:00:00+02:00":    "2026-12-31T08:00:00Z",
		"2026-12-31T10:00:00.1234567Z": "2026-12-31T10:00:00.123456Z",
		"2024-02-29":                   "2024-02-29T23:59:59Z",
	} {
		at, err := ParseMoment(text, endOfDay)
		require.NoError(t, err, text)
		require.Equal(t, want, at.Format(time.RFC3339Nano), text)
	}

	for _, text := range []string{
		"", "soon", "2026-02-30", "2026-13-01", "31/12/2026", "2026-12-31T10:00:00", "0001-01-01",
		"9999-12-31", "2026-12-31T25:00:00Z",
	} {
		_, err := ParseMoment(text, endOfDay)
		require.Error(t, err, text)
	}

	// Otherwise a date means its first second.
	day, err := ParseMoment("2026-12-31", !endOfDay)
	require.NoError(t, err)
	require.Equal(t, 0, day.Hour())
}
