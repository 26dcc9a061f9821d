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

// noon is the present of the tests.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// eventTypes returns the types of the events, separated by spaces.
func eventTypes(events []event.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, e.Type())
	}

	return strings.Join(out, " ")
}

// TestListing_PublicChange_RecordsEvent follows one listing through its states. Each step names the events
// that its change records, or "" for none. Events are about what the public sees: a change of a draft or
// of meta, and a change without a difference, record none.
func TestListing_PublicChange_RecordsEvent(t *testing.T) {
	t.Parallel()

	listing := Listing{ID: "1", OrganizationID: "2", Status: Draft, Content: Content{Title: "Nurse", Description: "x"}}
	now := noon
	step := func(wantEvents string, change func()) {
		t.Helper()

		before := listing.clone()
		now = now.Add(time.Minute)

		change()
		require.Equal(t, wantEvents, eventTypes(listing.finishChange(&before, now)))
		require.Equal(t, listing.Public(now), listing.Open)
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

	now = listing.Deadline.Add(-time.Minute)

	step("job.closed", func() {}) // the deadline has passed
	step("job.updated", func() { require.NoError(t, listing.Renew(now, 30)) })
	require.Equal(t, posted, *listing.PostedAt, "the time of the first publication does not change")
}

// TestListing_Event_ContainsSnapshot checks that an event contains the listing as it was, without private
// fields, unless it is too large for a webhook. The character < takes six bytes in JSON.
func TestListing_Event_ContainsSnapshot(t *testing.T) {
	t.Parallel()

	snapshot := func(description string) (out Listing) {
		listing := Listing{
			ID:      "1",
			Status:  Active,
			Content: Content{Title: "Nurse", Description: description, Department: "private"},
			Meta:    json.RawMessage(`{"private":1}`),
		}

		raw := listing.finishChange(&Listing{}, noon)[0].(event.JobCreated).Listing
		if raw == nil {
			return out
		}

		require.NotContains(t, string(raw), "private")
		require.NoError(t, json.Unmarshal(raw, &out))

		return out
	}

	l := snapshot("On a ward.")
	require.Equal(t, []any{"1", "Nurse", "On a ward.", Active, noon}, []any{l.ID, l.Title, l.Description, l.Status, *l.PostedAt})
	require.Equal(t, "1", snapshot(strings.Repeat("x", 20<<10)).ID, "a listing that fits into a webhook is in the event")
	require.Empty(t, snapshot(strings.Repeat("<", 4<<10)))
}

// TestListing_DeadlinePassed_IsNotPublic checks that a listing is public before its deadline and not at it.
func TestListing_DeadlinePassed_IsNotPublic(t *testing.T) {
	t.Parallel()

	l := Listing{Status: Active, Content: Content{Deadline: &noon}}
	require.True(t, l.Public(noon.Add(-time.Microsecond)))
	require.False(t, l.Public(noon))
	require.Empty(t, eventTypes(l.finishChange(&Listing{}, noon)), "a listing that is created expired records no event")
	require.Nil(t, l.PostedAt)
}

// TestListing_Transitions checks the statuses that employers can set, and that the times of the first
// archiving and deletion remain until the listing is restored.
func TestListing_Transitions(t *testing.T) {
	t.Parallel()

	for _, s := range []Status{Draft, Archived, "gone", ""} {
		l := Listing{Status: Active}
		require.Equal(t, fault.Invalid, fault.KindOf(l.SetStatus(s)), s)
	}

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
	require.NoError(t, listing.SetStatus(Inactive))
	require.Nil(t, listing.ArchivedAt)
	require.Nil(t, listing.DeletedAt)
	require.Equal(t, Inactive, listing.Status)
}

// TestRenew_CountsFromLaterOfNowAndDeadline checks that a renewal before the deadline loses no days, and that
// it can have 1 to 365 days.
func TestRenew_CountsFromLaterOfNowAndDeadline(t *testing.T) {
	t.Parallel()

	day := 24 * time.Hour
	for name, c := range map[string]struct {
		deadline *time.Time
		want     time.Time
	}{
		"without a deadline": {deadline: nil, want: noon.Add(30 * day)},
		"expired":            {deadline: new(noon.Add(-9 * day)), want: noon.Add(30 * day)},
		"still open":         {deadline: new(noon.Add(5 * day)), want: noon.Add(35 * day)},
	} {
		l := Listing{Status: Closed, Content: Content{Deadline: c.deadline}}
		require.NoError(t, l.Renew(noon, 30), name)
		require.Equal(t, c.want, *l.Deadline, name)
		require.Equal(t, Active, l.Status, name)
	}

	for _, days := range []int{-1, 0, 366} {
		l := Listing{Status: Closed}
		require.Equal(t, fault.Invalid, fault.KindOf(l.Renew(noon, days)))
		require.Equal(t, Closed, l.Status)
	}
}

// TestCopy_IsANewListing checks that a copy has the content of a listing but none of its states and times, and
// that its title remains within 200 characters: " (Copy)" takes 7 of them.
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
	c := listing.Copy("2", noon)
	require.Equal(t, Listing{ID: "2", OrganizationID: "o", Company: "C", Status: Active, Meta: listing.Meta, CreatedAt: noon,
		Content: Content{Title: "Nurse (Copy)", Questions: []Question{{ID: "q"}}}}, c)

	listing.Title, listing.Deadline = strings.Repeat("ü", 200), new(noon.Add(time.Second))
	c = listing.Copy("2", noon)
	require.Equal(t, strings.Repeat("ü", 193)+" (Copy)", c.Title)
	require.NotNil(t, c.Deadline)
	require.NoError(t, valid.Check("", CreateInput{Title: c.Title, Description: "x"}))
}

// TestDetails_RequireFutureDeadline_RefusesPassedDeadline checks the rule of the pages for employers. The API
// accepts a deadline that has passed.
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

// TestCreateInput_TooLong_IsRefused checks the limits of the fields, in characters and not in bytes, with
// values just within and just beyond them. Questions without an id may have the same text; ids must be
// unique.
func TestCreateInput_TooLong_IsRefused(t *testing.T) {
	t.Parallel()

	good := func() CreateInput { return CreateInput{Title: "T", Description: "D"} }
	require.NoError(t, valid.Check("", good()))

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
		in := good()
		spoil(&in)

		f := fault.Of(valid.Check("", in))
		require.NotNil(t, f, field)
		require.Equal(t, fault.Invalid, f.Kind, field)
		require.Equal(t, field, f.Fields[0].Name)
	}
}

// TestSalary_MinorUnitsAndAnnualValue checks pay in minor units per year, by which listings are compared. A
// full-time year has 1,950 hours, in dollars 2,080. One amount is both ends of the range.
func TestSalary_MinorUnitsAndAnnualValue(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		in        SalaryInput
		low, high int64
	}{
		{in: SalaryInput{Min: new(30000.0), Max: new(40000.5)}, low: 3000000, high: 4000050},
		{in: SalaryInput{Min: new(20.0), Period: new("hour")}, low: 2000 * 1950, high: 2000 * 1950},
		{
			in:   SalaryInput{Max: new(20.0), Period: new("hour"), Currency: new("EUR")},
			low:  2000 * 1950,
			high: 2000 * 1950,
		},
		{
			in:   SalaryInput{Min: new(20.1), Max: new(45.55), Period: new("hour"), Currency: new("usd")},
			low:  2010 * 2080,
			high: 4555 * 2080,
		},
		{in: SalaryInput{Min: new(100.0), Period: new("day")}, low: 10000 * 260, high: 10000 * 260},
		{in: SalaryInput{Min: new(500.0), Period: new("week")}, low: 50000 * 52, high: 50000 * 52},
		{in: SalaryInput{Min: new(3000.0), Period: new("month")}, low: 300000 * 12, high: 300000 * 12},
		{in: SalaryInput{Min: new(0.0), Max: new(1e9)}, low: 0, high: 1e11},
	} {
		s, err := newSalary(c.in)
		require.NoError(t, err)

		low, high := s.Yearly()
		require.Equal(t, []int64{c.low, c.high}, []int64{low, high})
	}

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
		{Min: new(1e9 + 1)},
		{Max: new(10.005)},
		{Min: new(1.0), Currency: new("")},
		{Min: new(1.0), Currency: new("G P")},
	} {
		require.Error(t, check(in))
	}

	for _, in := range []SalaryInput{{}, {Currency: new("GBP")}} {
		s, err := newSalary(in)
		require.NoError(t, err)
		require.Nil(t, s)
	}
}

// TestMeta_Update_IsMerged checks JSON merge patches (RFC 7396), and that large numbers and the characters of
// HTML remain as the client wrote them.
func TestMeta_Update_IsMerged(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ meta, patch, want string }{ // the examples of RFC 7396 that are objects
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
		{meta: ``, patch: `{"listing":{"title":"<T> & \"t\""}}`, want: `{"listing":{"title":"<T> & \"t\""}}`},
		{meta: `{"n":1}`, patch: `{"m":12345678901234567890}`, want: `{"n":1,"m":12345678901234567890}`},
	} {
		got, err := mergeMeta(json.RawMessage(c.meta), json.RawMessage(c.patch))
		require.NoError(t, err, c.patch)
		require.JSONEq(t, c.want, string(got))
	}
}

// TestMeta_TooLarge_IsRefused checks the limits of meta: 8 levels, 100 names, 16 KiB and the numbers of a
// double. Names that begin with an underscore are reserved.
func TestMeta_TooLarge_IsRefused(t *testing.T) {
	t.Parallel()

	// deep returns n nested objects, keys an object with n different names.
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + `{}` + strings.Repeat(`}`, n-1) }
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
		}

		return "{" + b.String()[1:] + "}"
	}

	for _, good := range []string{
		deep(8),
		keys(100),
		`{"a":"` + strings.Repeat("x", maxMetaBytes-8) + `"}`,
		`{"a":{"b_":1}}`,
		`{"a":1e308,"b":-0.0,"c":0e999}`,
	} {
		_, err := mergeMeta(nil, json.RawMessage(good))
		require.NoError(t, err, good[:min(40, len(good))])
	}

	for _, bad := range []string{deep(9), keys(101), `{"a":"` + strings.Repeat("x", maxMetaBytes-7) + `"}`, `{"_a":1}`, `{"a":{"_b":1}}`, `{"a":[{"_b":1}]}`,
		`[]`, `"x"`, `null`, `1`, `{"a":1e999}`, `{"a":1e-999}`, `{"a":` + strings.Repeat("9", 65) + `}`} {
		_, err := mergeMeta(nil, json.RawMessage(bad))
		require.Equal(t, fault.Invalid, fault.KindOf(err), bad[:min(40, len(bad))])
	}

	_, err := mergeMeta(json.RawMessage(keys(100)), json.RawMessage(`{"more":1}`))
	require.Error(t, err, "counted after the merge")

	_, err = mergeMeta(json.RawMessage(keys(100)), json.RawMessage(`{"more":1,"k":null}`))
	require.NoError(t, err)
}

// TestParseMoment_DatesAndTimestamps checks deadlines: a date includes its last second, a timestamp is converted
// to UTC and microseconds, as databases store it. The years 1 and 9999 are out of the range of some
// databases.
func TestParseMoment_DatesAndTimestamps(t *testing.T) {
	t.Parallel()

	const endOfDay = true

	for s, want := range map[string]string{
		"2026-12-31":                   "2026-12-31T23:59:59Z",
		"2026-12-31T10:00:00Z":         "2026-12-31T10:00:00Z",
		"2026-12-31T10:00:00+02:00":    "2026-12-31T08:00:00Z",
		"2026-12-31T10:00:00.1234567Z": "2026-12-31T10:00:00.123456Z",
		"2024-02-29":                   "2024-02-29T23:59:59Z",
	} {
		at, err := ParseMoment(s, endOfDay)
		require.NoError(t, err, s)
		require.Equal(t, want, at.Format(time.RFC3339Nano))
	}

	for _, s := range []string{
		"", "soon", "2026-02-30", "2026-13-01", "31/12/2026", "2026-12-31T10:00:00", "0001-01-01",
		"9999-12-31", "2026-12-31T25:00:00Z",
	} {
		_, err := ParseMoment(s, endOfDay)
		require.Error(t, err, s)
	}

	day, err := ParseMoment("2026-12-31", !endOfDay)
	require.NoError(t, err)
	require.Equal(t, 0, day.Hour())
}
