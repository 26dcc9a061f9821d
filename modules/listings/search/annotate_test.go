package search

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loadVocabulary returns the embedded vocabulary.
func loadVocabulary(tb testing.TB) *Vocabulary {
	tb.Helper()

	vocabulary, err := Load()
	require.NoError(tb, err)

	return vocabulary
}

// describe prints the concepts that an advert names, as groups "name=id,id" separated by spaces. It also prints concepts
// that the vocabulary attaches to a named one, as spec=dietetics to a dietitian. It does not print the more general
// concepts above a named one. The groups are
//
//	head=        main roles of the title: what the job is
//	second=      second choices: the role that a trainee learns, or that brackets list
//	other=       roles that the title only mentions: the director of "PA to the director"
//	field=       roles of the specialty or department field
//	text=        roles of the description, if nothing else names one
//	spec=        specialties of the title; in the same way grade=, setting=, contract=,
//	             hours=, shift= and experience=
//	spec@field=  specialties of a field or of the employer's name
//	spec@text=   specialties of the description or the requirements
//
// The ids are those of vocabulary.txt.
func describe(a *Annotation) string {
	idsByGroup := map[string][]string{}

	var groups []string // in the order of their first tags
	for _, tag := range a.Tags {
		if !tag.Named {
			continue
		}

		group := groupOf(tag)
		if idsByGroup[group] == nil {
			groups = append(groups, group)
		}

		idsByGroup[group] = append(idsByGroup[group], tag.Concept)
	}

	for i, group := range groups {
		groups[i] = group + "=" + strings.Join(idsByGroup[group], ",")
	}

	return strings.Join(groups, " ")
}

// groupOf returns the name of the group in which describe prints a tag. Roles of a title have three levels and thus
// three groups. The other kinds of concepts have one level in a title.
func groupOf(tag Tag) string {
	if tag.Kind == Role {
		groups := [...]string{Head: "head", SecondChoice: "second", InTitle: "other", InField: "field", InText: "text"}
		return groups[tag.Level]
	}

	suffixes := [...]string{InTitle: "", InField: "@field", InText: "@text"}

	return tag.Kind.String() + suffixes[tag.Level]
}

// TestAnnotate_Adverts checks which fields of an advert may name which concepts. The title has priority over the other
// fields, and these have priority over the description. In the description, words count only in phrases that leave no
// doubt. want has the concepts of the advert in the notation of describe.
//
// For example, an advert with the title "Staff Nurse" and the specialty "Cardiology" has the concepts
// "head=registered-nurse spec@field=cardiology".
func TestAnnotate_Adverts(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	for _, test := range []struct {
		name   string
		advert Advert
		want   string
	}{
		{
			name:   "role in the description after a cue",
			advert: Advert{Title: "Join our team!", Description: "We are looking for a Staff Nurse for our ICU."},
			want:   "text=registered-nurse spec@text=intensive-care",
		},
		{
			name:   "role in the description without a cue",
			advert: Advert{Title: "Join our team!", Description: "Our nurses love it here."},
			want:   "",
		},
		{
			name: "role in the description beside one in the title",
			advert: Advert{
				Title:       "Ward Clerk",
				Description: "As a ward clerk you support nurses. We are looking for a Staff Nurse too.",
			},
			want: "head=ward-clerk",
		},
		{
			name:   "role in the specialty field",
			advert: Advert{Title: "Great opportunity", Specialty: "Physiotherapist"},
			want:   "field=physiotherapist spec@field=physiotherapy",
		},
		{
			name:   "specialty and department",
			advert: Advert{Title: "Staff Nurse", Specialty: "Cardiology", Department: "Cath Lab"},
			want:   "head=registered-nurse spec@field=cardiology,cath-lab",
		},
		{
			name:   "title before field",
			advert: Advert{Title: "Staff Nurse – Cardiology", Specialty: "Cardiology"},
			want:   "head=registered-nurse spec=cardiology",
		},
		{
			name:   "contract and hours fields",
			advert: Advert{Title: "Porter", ContractType: "temporary", EmploymentType: "part-time"},
			want:   "head=porter contract@field=temporary hours@field=part-time",
		},
		{
			name:   "remote field",
			advert: Advert{Title: "Medical Coder", Remote: true},
			want:   "head=medical-coder spec=health-records setting@field=work-from-home",
		},
		{
			name:   "clear phrases in the description", // a band implies the NHS
			advert: Advert{Title: "Staff Nurse", Description: "This is a permanent contract with night shifts, full time, Band 5."},
			want:   "head=registered-nurse grade@text=band-5 setting@text=nhs contract@text=permanent hours@text=full-time shift@text=nights",
		},
		{
			name:   "loose words in the description",
			advert: Advert{Title: "Staff Nurse", Description: "Spend your nights well with a permanent smile and a flexible mind."},
			want:   "head=registered-nurse",
		},
		{
			name:   "fields before description",
			advert: Advert{Title: "Staff Nurse", EmploymentType: "bank", Description: "We also have full time posts."},
			want:   "head=registered-nurse hours@field=bank",
		},
		{
			name:   "hours a week",
			advert: Advert{Title: "Staff Nurse", Description: "You work 37.5 hours per week."},
			want:   "head=registered-nurse hours@text=full-time",
		},
		{
			name:   "few hours a week",
			advert: Advert{Title: "Staff Nurse", Requirements: []string{"27 hours a week"}},
			want:   "head=registered-nurse hours@text=part-time",
		},
		{
			name:   "requirements",
			advert: Advert{Title: "Staff Nurse", Requirements: []string{"Experience in haematology"}},
			want:   "head=registered-nurse spec@text=haematology",
		},
		// MSW is a master of social work in the United States and a maternity support worker in
		// Britain.
		{
			name:   "US abbreviation",
			advert: Advert{Title: "MSW", Country: "us"},
			want:   "head=social-worker spec=social-work",
		},
		{
			name:   "abbreviation decided by the description", // RT may also be a respiratory therapist
			advert: Advert{Title: "RT – Nights", Description: "Operate the linac and plan radiation treatment."},
			want:   "head=therapeutic-radiographer spec=radiotherapy shift=nights",
		},
		{
			name:   "abbreviation decided by the field", // ED is usually the emergency department
			advert: Advert{Title: "ED Nurse", Specialty: "Mental Health"},
			want:   "head=nurse spec=eating-disorders,mental-health",
		},
		{
			name:   "abbreviation decided by the other words", // PA may also be a physician associate
			advert: Advert{Title: "PA", Description: "Diary management for our directors."},
			want:   "head=personal-assistant",
		},
		// OR in capitals would be the operating room.
		{
			name:   "lower case is no abbreviation",
			advert: Advert{Title: "Nurse or midwife"},
			want:   "head=nurse,midwife spec=maternity",
		},
		{name: "empty", advert: Advert{}, want: ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			annotation := vocabulary.Annotate(&test.advert)
			assert.Equal(t, test.want, describe(&annotation))
		})
	}
}

// TestAnnotate_AddsMoreGeneralConcepts checks that an advert gets the more general concepts above those that it names,
// so that a search for nurses finds a ward sister. The vocabulary links a ward sister, the concept charge-nurse, to
// nurse, and as a second choice of strength 0.5 to registered-nurse. The tag of a concept has the strength of its link.
func TestAnnotate_AddsMoreGeneralConcepts(t *testing.T) {
	t.Parallel()

	annotation := loadVocabulary(t).Annotate(&Advert{Title: "Ward Sister – Cath Lab"})
	for concept, want := range map[string]Tag{ // Concept and Kind are set below
		"charge-nurse":     {Level: Head, Strength: 1, Named: true},
		"nurse":            {Level: Head, Strength: 1},
		"registered-nurse": {Level: SecondChoice, Strength: .5},
		"cath-lab":         {Level: InTitle, Strength: 1, Named: true},
		"cardiology":       {Level: InTitle, Strength: 1},
		"medicine":         {Level: InTitle, Strength: 1},
	} {
		tag, isFound := annotation.Find(concept)
		require.True(t, isFound, concept)

		want.Concept, want.Kind = concept, tag.Kind
		assert.Equal(t, want, tag, concept)
	}

	_, isFound := annotation.Find("healthcare-assistant")
	assert.False(t, isFound, "a concept that is not above those of the title")
}

// TestAnnotate_Years checks how many years of experience an advert requires. A number of years counts if it stands
// beside the word "experience" and is plausible: from 1 to 30. Other numbers may be the age of the employer.
func TestAnnotate_Years(t *testing.T) {
	t.Parallel()

	vocabulary := loadVocabulary(t)
	const noYears = 0

	for text, wantYears := range map[string]int{
		"At least 2 years of ICU experience":  2,
		"5+ years' experience":                5,
		"1 year post-registration experience": 1,
		"We have 20 years of history.":        noYears,
		"99 years experience":                 noYears,
		"":                                    noYears,
	} {
		annotation := vocabulary.Annotate(&Advert{Title: "Nurse", Description: text})
		assert.Equal(t, wantYears, annotation.Years, text)
	}
}

// advert200 is an advert of about 200 words, for benchmarks.
var advert200 = Advert{
	Title:          "Senior Staff Nurse / RGN (ICU) – Band 6, Nights",
	Department:     "Critical Care",
	Specialty:      "Intensive Care",
	ContractType:   "permanent",
	EmploymentType: "full-time",
	Description: strings.Repeat(
		"We are looking for a registered nurse to join our friendly intensive care team at St Mary’s Hospital. "+
			"You will look after patients who need ventilation and dialysis, teach students and newly qualified staff, "+
			"and work 37.5 hours a week on rotating days and nights. ",
		4, // times about 45 words
	),
	Requirements: []string{"NMC registration", "At least 2 years of critical care experience", "Good communication skills"},
}

// BenchmarkAnnotate measures Annotate with a long advert.
func BenchmarkAnnotate(b *testing.B) {
	vocabulary := loadVocabulary(b)
	b.ReportAllocs()

	for b.Loop() {
		vocabulary.Annotate(&advert200)
	}
}

// FuzzAnnotate checks that no text makes Annotate panic. The seeds are the titles of annotate_titles_test.go, and two
// texts that end in the middle of a series of bands, where the parser looks for another number.
func FuzzAnnotate(f *testing.F) {
	vocabulary := loadVocabulary(f)
	for _, test := range titles {
		f.Add(test.title, "")
	}

	f.Add("Band 5 to", "Band - / Bands 5-")
	f.Fuzz(func(_ *testing.T, title, text string) {
		vocabulary.Annotate(&Advert{Title: title, Department: text, Description: text})
	})
}
