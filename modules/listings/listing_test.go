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
// the events that finishChange then records, or "" for none. Events are about what the public sees. Therefore a change
// of a draft, a change of meta, which is private, and a change without a difference record none.
func TestListing_PublicChange_RecordsEvent(t *testing.T) {
	t.Parallel()

	listing := Listing{ID: "1", OrganizationID: "2", Status: Draft, Content: Content{Title: "Nurse", Description: "x"}}
	now := noon
	step := func(wantEvents string, change func()) {
		t.Helper()

		before := listing.clone()
		now = now.Add(time.Minute) // each step is a minute after the one before

		change()
		require.Equal(t, wantEvents, eventTypes(listing.finishChange(&before, now)))
		require.Equal(t, listing.IsPublic(now), listing.Open)
		require.Equal(t, now, listing.UpdatedAt)
	}

	step("", func() {})
	step("", func() { listing.Title = "Senior nurse" })
	require.Nil(t, listing.PostedAt)
	step("job.created", func() { require.NoError(t, listing.SetStatus(Active)) })

	posted := *listing.PostedAt

	step("", func() {})
	step("", func() { listing.Meta = json.RawMessage(`{"a":1}`) })
	step("job.updated", func() { listing.Title = "Nurse" })
	step("job.updated", func() { listing.Salary = &Salary{Currency: "GBP", Period: "year"} })
	step("job.closed", func() { require.NoError(t, listing.SetStatus(Inactive)) })
	step("", func() { listing.Title = "Changed while not public" })
	step("", func() { require.NoError(t, listing.SetStatus(Closed)) })
	step("job.updated", func() { require.NoError(t, listing.SetStatus(Active)) })
	step("job.closed", func() { listing.Archive(now) })
	step("", func() { listing.Delete(now) })
	step("job.updated", func() { require.NoError(t, listing.Restore()) })
	step("job.closed", func() { listing.Delete(now) })
	step("job.updated", func() { require.NoError(t, listing.Renew(now, 1)) })

	// The next step happens at the deadline, from which the listing is not public.
	now = listing.Deadline.Add(-time.Minute)

	step("job.closed", func() {})
	step("job.updated", func() { require.NoError(t, listing.Renew(now, 30)) })
	require.Equal(t, posted, *listing.PostedAt, "the time of the first publication does not change")
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

	l := snapshot("On a ward.")
	require.Equal(t, []any{"1", "Nurse", "On a ward.", Active, noon}, []any{l.ID, l.Title, l.Description, l.Status, *l.PostedAt})
	require.Equal(t, "1", snapshot(strings.Repeat("x", 20<<10)).ID, "a listing that fits into a webhook is in the event")

	// The character < takes six bytes in JSON, so that this shorter text is larger than the one above.
	require.Empty(t, snapshot(strings.Repeat("<", 4<<10)), "a listing that does not fit into a webhook is not in the event")
}

// TestListing_DeadlinePassed_IsNotPublic checks that a listing is public before its deadline and not at it.
func TestListing_DeadlinePassed_IsNotPublic(t *testing.T) {
	t.Parallel()

	l := Listing{Status: Active, Content: Content{Deadline: &noon}}
	require.True(t, l.IsPublic(noon.Add(-time.Microsecond)))
	require.False(t, l.IsPublic(noon))
	require.Empty(t, eventTypes(l.finishChange(&Listing{}, noon)), "a listing that is created expired records no event")
	require.Nil(t, l.PostedAt)
}

// TestListing_SetStatus_OtherStatus_IsRefused checks that employers cannot set an active listing to a status that has
// an operation of its own, such as Archive, or that does not exist.
func TestListing_SetStatus_OtherStatus_IsRefused(t *testing.T) {
	t.Parallel()

	for _, status := range []Status{Draft, Archived, "gone", ""} {
		listing := Listing{Status: Active}
		require.Equal(t, fault.Invalid, fault.KindOf(listing.SetStatus(status)), status)
	}
}

// TestListing_ArchiveAndDelete_KeepFirstTimes checks that the times of the first archiving and deletion remain until the
// listing is restored by another status.
func TestListing_ArchiveAndDelete_KeepFirstTimes(t *testing.T) {
	t.Parallel()

	listing := Listing{Status: Active}
	require.ErrorIs(t, listing.Restore(), ErrNotDeleted)
	listing.Archive(noon)
	require.Equal(t, Archived, listing.Status)
	require.ErrorIs(t, listing.Restore(), ErrNotDeleted, "archived is not deleted")
	listing.Archive(noon.Add(time.Hour))
	require.Equal(t, noon, *listing.ArchivedAt, "the time of the first archiving does not change")
	listing.Delete(noon.Add(time.Hour))
	require.Equal(t, noon, *listing.ArchivedAt)
	require.Equal(t, noon.Add(time.Hour), *listing.DeletedAt)
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

	for name, c := range map[string]struct {
		deadline *time.Time
		want     time.Time
	}{
		"without a deadline": {deadline: nil, want: noon.Add(renewalDays * day)},
		"expired":            {deadline: new(noon.Add(-9 * day)), want: noon.Add(renewalDays * day)},
		"still open":         {deadline: new(noon.Add(5 * day)), want: noon.Add((5 + renewalDays) * day)},
	} {
		l := Listing{Status: Closed, Content: Content{Deadline: c.deadline}}
		require.NoError(t, l.Renew(noon, renewalDays), name)
		require.Equal(t, c.want, *l.Deadline, name)
		require.Equal(t, Active, l.Status, name)
	}

	// Numbers outside of 1 to 365 are refused, and the listing stays closed.
	for _, days := range []int{-1, 0, 366} {
		l := Listing{Status: Closed}
		require.Equal(t, fault.Invalid, fault.KindOf(l.Renew(noon, days)))
		require.Equal(t, Closed, l.Status)
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
	duplicate := listing.Copy("2", noon)
	require.Equal(t, Listing{ID: "2", OrganizationID: "o", Company: "C", Status: Active, Meta: listing.Meta, CreatedAt: noon,
		Content: Content{Title: "Nurse (Copy)", Questions: []Question{{ID: "q"}}}}, duplicate)

	// A title of the maximum length, and a deadline that has not passed.
	const maxTitle, suffix = 200, " (Copy)"

	listing.Title, listing.Deadline = strings.Repeat("ü", maxTitle), new(noon.Add(time.Second))
	duplicate = listing.Copy("2", noon)
	require.Equal(t, strings.Repeat("ü", maxTitle-len(suffix))+suffix, duplicate.Title)
	require.NotNil(t, duplicate.Deadline)
	require.NoError(t, valid.Check("", CreateInput{Title: duplicate.Title, Description: "x"}))
}

// TestDetails_RequireFutureDeadline_RefusesPassedDeadline checks a rule that the pages for employers set by
// RequireFutureDeadline. The API does not set it and accepts a deadline that has passed.
func TestDetails_RequireFutureDeadline_RefusesPassedDeadline(t *testing.T) {
	t.Parallel()

	past := &Listing{}
	future := &Listing{}
	required := Details{RequireFutureDeadline: true}
	past.Deadline, future.Deadline = &noon, new(noon.Add(time.Second))
	require.Equal(t, "applicationDeadline", fault.Of(required.checkDeadline(past, noon)).Fields[0].Name)
	require.NoError(t, required.checkDeadline(future, noon))
	require.NoError(t, required.checkDeadline(&Listing{}, noon))
	require.NoError(t, Details{}.checkDeadline(past, noon))
}

// TestCreateInput_TooLong_IsRefused checks the limits of the fields with values at and just above each limit. Limits are
// in characters and not in bytes. Questions without an id may have the same text, but the ids of questions must be
// unique.
func TestCreateInput_TooLong_IsRefused(t *testing.T) {
	t.Parallel()

	good := func() CreateInput { return CreateInput{Title: "T", Description: "D"} }
	require.NoError(t, valid.Check("", good()))

	// long returns a text of n characters and 2n bytes.
	long := func(n int) string { return strings.Repeat("é", n) }
	require.NoError(t, valid.Check("", CreateInput{Title: long(200), Description: long(20_000), Details: Details{
		Department:     new(long(200)),
		Specialty:      new(long(200)),
		Location:       new(long(200)),
		ContractType:   new(""),
		EmploymentType: new(""),
		Requirements:   &[]string{long(500)},
		Benefits:       &[]string{},
		Questions:      &[]QuestionInput{{ID: long(64), Text: long(500)}, {Text: "a"}, {Text: "a"}},
	}}))

	for field, spoil := range map[string]func(*CreateInput){
		"title":            func(in *CreateInput) { in.Title = " " },
		"description":      func(in *CreateInput) { in.Description = long(20_001) },
		"department":       func(in *CreateInput) { in.Department = new(long(201)) },
		"contractType":     func(in *CreateInput) { in.ContractType = new("forever") },
		"employmentType":   func(in *CreateInput) { in.EmploymentType = new("never") },
		"specialty":        func(in *CreateInput) { in.Specialty = new(long(201)) },
		"location":         func(in *CreateInput) { in.Location = new(long(201)) },
		"requirements":     func(in *CreateInput) { in.Requirements = new(make([]string, 51)) },
		"requirements.1":   func(in *CreateInput) { in.Requirements = &[]string{"a", " "} },
		"benefits.0":       func(in *CreateInput) { in.Benefits = &[]string{long(501)} },
		"questions":        func(in *CreateInput) { in.Questions = new(make([]QuestionInput, 51)) },
		"questions.0.text": func(in *CreateInput) { in.Questions = &[]QuestionInput{{ID: "a"}} },
		"questions.1.id":   func(in *CreateInput) { in.Questions = &[]QuestionInput{{ID: "a", Text: "x"}, {ID: "a", Text: "y"}} },
	} {
		// field is the only field that is wrong after spoil.
		in := good()
		spoil(&in)

		f := fault.Of(valid.Check("", in))
		require.NotNil(t, f, field)
		require.Equal(t, fault.Invalid, f.Kind, field)
		require.Equal(t, field, f.Fields[0].Name)
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

	for _, c := range []struct {
		in        SalaryInput
		low, high int64
	}{
		{in: SalaryInput{Min: new(30000.0), Max: new(40000.5)}, low: 30000 * minorPerUnit, high: 40000.5 * minorPerUnit},
		{
			in:   SalaryInput{Min: new(20.0), Period: new("hour")},
			low:  20 * minorPerUnit * hours,
			high: 20 * minorPerUnit * hours,
		},
		{
			in:   SalaryInput{Max: new(20.0), Period: new("hour"), Currency: new("EUR")},
			low:  20 * minorPerUnit * hours,
			high: 20 * minorPerUnit * hours,
		},
		{
			in:   SalaryInput{Min: new(20.1), Max: new(45.55), Period: new("hour"), Currency: new("usd")},
			low:  20.1 * minorPerUnit * hoursForUSD,
			high: 45.55 * minorPerUnit * hoursForUSD,
		},
		{in: SalaryInput{Min: new(100.0), Period: new("day")}, low: 100 * minorPerUnit * days, high: 100 * minorPerUnit * days},
		{in: SalaryInput{Min: new(500.0), Period: new("week")}, low: 500 * minorPerUnit * weeks, high: 500 * minorPerUnit * weeks},
		{
			in:   SalaryInput{Min: new(3000.0), Period: new("month")},
			low:  3000 * minorPerUnit * months,
			high: 3000 * minorPerUnit * months,
		},
		{in: SalaryInput{Min: new(0.0), Max: new(1e9)}, low: 0, high: 1e9 * minorPerUnit},
	} {
		salary, err := newSalary(c.in)
		require.NoError(t, err)

		low, high := salary.Yearly()
		require.Equal(t, []int64{c.low, c.high}, []int64{low, high})
	}
}

// TestSalary_InvalidInput_IsRefused checks the rules of each field of pay. An input without an amount is no pay.
func TestSalary_InvalidInput_IsRefused(t *testing.T) {
	t.Parallel()

	check := func(in SalaryInput) error {
		return valid.Check("", CreateInput{Title: "T", Description: "D", Details: Details{Salary: &in}})
	}
	for field, in := range map[string]SalaryInput{
		"salary.min":      {Min: new(-1.0)},
		"salary.max":      {Min: new(5.0), Max: new(4.0)},
		"salary.currency": {Min: new(1.0), Currency: new("XXZ")},
		"salary.period":   {Min: new(1.0), Period: new("fortnight")},
	} {
		require.Equal(t, field, fault.Of(check(in)).Fields[0].Name)
	}

	for _, in := range []SalaryInput{
		{Min: new(1e9 + 1)}, // above the maximum
		{Max: new(10.005)},  // a part of a penny
		{Min: new(1.0), Currency: new("")},
		{Min: new(1.0), Currency: new("G P")},
	} {
		require.Error(t, check(in))
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

	for _, c := range []struct{ meta, patch, want string }{
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
		merged, err := mergeMeta(json.RawMessage(c.meta), json.RawMessage(c.patch))
		require.NoError(t, err, c.patch)
		require.JSONEq(t, c.want, string(merged))
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

	for _, good := range []string{
		deep(8),
		keys(100),
		ofSize(maxMetaBytes),
		`{"a":{"b_":1}}`,
		`{"a":1e308,"b":-0.0,"c":0e999}`,
	} {
		_, err := mergeMeta(nil, json.RawMessage(good))
		require.NoError(t, err, good[:min(40, len(good))])
	}

	for _, bad := range []string{
		deep(9), keys(101), ofSize(maxMetaBytes + 1),
		`{"_a":1}`, `{"a":{"_b":1}}`, `{"a":[{"_b":1}]}`, // reserved names
		`[]`, `"x"`, `null`, `1`, // not objects
		`{"a":1e999}`, `{"a":1e-999}`, `{"a":` + strings.Repeat("9", 65) + `}`, // numbers
	} {
		_, err := mergeMeta(nil, json.RawMessage(bad))
		require.Equal(t, fault.Invalid, fault.KindOf(err), bad[:min(40, len(bad))])
	}

	// The names are counted after the patch is merged. A null in a patch removes a name.
	_, err := mergeMeta(json.RawMessage(keys(100)), json.RawMessage(`{"more":1}`))
	require.Error(t, err, "101 names")

	_, err = mergeMeta(json.RawMessage(keys(100)), json.RawMessage(`{"more":1,"k":null}`))
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
		require.Equal(t, want, at.Format(time.RFC3339Nano))
	}

	for _, text := range []string{
		"", "soon", "2026-02-30", "2026-13-01", "31/12/2026", "2026-12-31T10:00:00", "0001-01-01",
		"9999-12-31", "2026-12-31T25:00:00Z",
	} {
		_, err := ParseMoment(text, endOfDay)
		require.Error(t, err, text)
	}

	day, err := ParseMoment("2026-12-31", !endOfDay)
	require.NoError(t, err)
	require.Equal(t, 0, day.Hour())
}
