package listings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChangesSuspicion checks which changes of a suspicious listing that moderators have kept require another
// review: every change of what its score is computed from, even if the score remains the same, since an
// employer could otherwise replace the reviewed text. A harmless title and space do not.
func TestChangesSuspicion(t *testing.T) {
	t.Parallel()

	kept := Listing{Status: Active, Content: Content{
		Title:        "Nurse",
		Description:  "We pay the registration fee.",
		Requirements: []string{"PIN"},
		Salary:       &Salary{Min: new(int64(30_000_00)), Currency: "GBP", Period: "year"},
	}}
	for name, test := range map[string]struct {
		change func(l *Listing)
		want   bool
	}{
		"no change":         {change: func(*Listing) {}, want: false},
		"status":            {change: func(l *Listing) { l.Status = Closed }, want: false},
		"harmless title":    {change: func(l *Listing) { l.Title = "Nurse, ICU" }, want: false},
		"space in the text": {change: func(l *Listing) { l.Description += "\n" }, want: false},
		"suspicious title":  {change: func(l *Listing) { l.Title = "Pay the deposit" }, want: true},
		"text of equal score": {
			change: func(l *Listing) { l.Description = "Send us the registration fee." },
			want:   true,
		},
		"other reason":           {change: func(l *Listing) { l.Description = "Send us gift cards." }, want: true},
		"requirement":            {change: func(l *Listing) { l.Requirements = []string{"A visa fee"} }, want: true},
		"benefit":                {change: func(l *Listing) { l.Benefits = []string{"Call Bob"} }, want: true},
		"pay in the usual range": {change: func(l *Listing) { l.Salary.Min = new(int64(40_000_00)) }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			changed := kept.clone()
			salary := *kept.Salary
			changed.Salary = &salary
			test.change(&changed)
			require.Equal(t, test.want, changesSuspicion(&kept, &changed))
		})
	}

	draft := kept.clone()
	draft.Status = Draft
	require.True(t, changesSuspicion(&draft, &kept), "drafts are not reviewed")
}
