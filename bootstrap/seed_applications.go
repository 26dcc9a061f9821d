package bootstrap

import (
	"context"
	"fmt"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// minListingAge is the least age of the listings to which demo accounts apply.
const minListingAge = 15 * 24 * time.Hour

// candidacy is an application of the demo data.
type candidacy struct {
	seeker, listing int // which of them, in the order of posting
	daysAgo         int
	letter          string
	// statuses are the statuses that the employer sets, one per day.
	statuses []hiring.Status
}

// candidacies are the applications of the first jobseeker and a few others.
var candidacies = []candidacy{
	{
		0,
		0,
		13,
		"I have followed the work of your trust since I trained nearby, and the post is what I have been preparing for. My registration is current and I could start after four weeks’ notice.",
		[]hiring.Status{hiring.Review, hiring.Rejected},
	},
	{
		1,
		1,
		12,
		"I am returning to practice after two years abroad and would be glad to tell you about them.",
		[]hiring.Status{hiring.Review},
	},
	{
		2,
		2,
		11,
		"Please find my application. I have covered this specialty on the bank since spring and know your wards.",
		[]hiring.Status{hiring.Review, hiring.Interview, hiring.Accepted},
	},
	{
		0,
		1,
		10,
		"My last three years were in this specialty, on a busy unit of twenty-four beds. I mentor students and would like to go on doing so with you.",
		[]hiring.Status{hiring.Review, hiring.Interview, hiring.Accepted},
	},
	{
		0,
		2,
		8,
		"I enjoyed your open day and spoke with the team about the rota. I would be happy to work weekends.",
		[]hiring.Status{hiring.Review, hiring.Interview},
	},
	{3, 2, 6, "I am newly qualified and looking for a team with a good preceptorship.", nil},
	{0, 3, 5, "I hold the certificate that you ask for and have used both of your record systems.", []hiring.Status{hiring.Review}},
	{4, 3, 3, "I live five minutes away and could start at once.", nil},
	{0, 4, 2, "Your flexible hours would let me finish my master’s degree while I work. References are ready.", nil},
}

// interviewIndex is the application with a future interview.
const interviewIndex = 4

// pastClock is a clock that can be set, and the source of ids of its times.
type pastClock struct {
	now     time.Time
	idCount int
}

// Now implements clock.Clock.
func (p *pastClock) Now() time.Time { return p.now }

func (p *pastClock) newID() string {
	p.idCount++
	return demoID(p.now, "hiring", p.idCount)
}

// createApplications creates applications to the first organization and the decisions of its
// recruiter. A board with too few listings gets none. The transaction may run twice.
func (sd *seeder) createApplications(ctx context.Context, hiringSvc *hiring.Service, clock *pastClock) error {
	clock.idCount = 0
	recruiter := auth.Actor{UserID: sd.recruiter, Role: auth.EmployerTeam, OrganizationID: sd.orgs[0].ID, Permissions: recruits()}
	for i, a := range candidacies {
		if a.listing >= len(sd.open) {
			continue
		}
		clock.now = sd.now.AddDate(0, 0, -a.daysAgo).Add(time.Duration(9+i) * time.Hour)
		in := hiring.ApplyInput{ListingID: sd.open[a.listing].ID, CoverLetter: a.letter}
		for _, q := range sd.open[a.listing].Questions {
			in.Answers = append(in.Answers, hiring.Answer{QuestionID: q.ID, Answer: sd.Answers[q.Text]})
		}
		applied, err := hiringSvc.Apply(ctx, auth.Actor{UserID: sd.seekers[a.seeker], Role: auth.Jobseeker, Seeker: true}, in)
		if err != nil {
			return fmt.Errorf("application %d: %w", i, err)
		}
		for _, status := range a.statuses {
			clock.now = clock.now.Add(26 * time.Hour)
			if err := hiringSvc.Decide(ctx, recruiter, hiring.Decision{ID: applied.ID, Status: string(status)}); err != nil {
				return fmt.Errorf("application %d: %w", i, err)
			}
		}
		if i == interviewIndex {
			at, where, who := sd.now.AddDate(0, 0, 6).Add(10*time.Hour).Format(time.RFC3339), "Education Centre, room 2", sd.lead
			if _, err := hiringSvc.Schedule(ctx, recruiter, applied.ID, hiring.AppointmentInput{ScheduledAt: &at, Location: &where, Interviewer: &who}); err != nil {
				return fmt.Errorf("interview: %w", err)
			}
		}
	}
	return nil
}

// recruits are a recruiter's permissions.
func recruits() []auth.Permission {
	m := identity.Membership{Role: identity.Recruiter, Permissions: identity.Recruiter.Defaults()}
	return m.Grants()
}

// remember stores the open listings of the first organization that are old enough for
// applications, the latest ones.
func (sd *seeder) remember(l listings.Listing) {
	if l.OrganizationID != sd.orgs[0].ID || !l.Open || l.PostedAt.After(sd.now.Add(-minListingAge)) {
		return
	}
	if sd.open = append(sd.open, l); len(sd.open) > 5 {
		sd.open = sd.open[1:]
	}
}
