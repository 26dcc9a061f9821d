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

// minListingAge is the least age of the listings to which demo accounts apply: the earliest of
// demoApplications is 13 days old.
const minListingAge = 15 * 24 * time.Hour

// maxOpen is the number of listings to which demo accounts apply: demoApplications refers to
// them by index.
const maxOpen = 5

// demoApplication is an application of the demo data.
type demoApplication struct {
	seeker      int // index of seeder.seekers
	listing     int // index of seeder.open
	daysAgo     int
	coverLetter string
	// statuses are the statuses that the employer sets, one per day.
	statuses []hiring.Status
}

// demoApplications are the applications of the first jobseeker and a few others.
var demoApplications = []demoApplication{
	{
		seeker:  0,
		listing: 0,
		daysAgo: 13,
		coverLetter: "I have followed the work of your trust since I trained nearby, and the post is what I have been preparing for. " +
			"My registration is current and I could start after four weeks’ notice.",
		statuses: []hiring.Status{hiring.Review, hiring.Rejected},
	},
	{
		seeker:      1,
		listing:     1,
		daysAgo:     12,
		coverLetter: "I am returning to practice after two years abroad and would be glad to tell you about them.",
		statuses:    []hiring.Status{hiring.Review},
	},
	{
		seeker:      2,
		listing:     2,
		daysAgo:     11,
		coverLetter: "Please find my application. I have covered this specialty on the bank since spring and know your wards.",
		statuses:    []hiring.Status{hiring.Review, hiring.Interviewing, hiring.Accepted},
	},
	{
		seeker:  0,
		listing: 1,
		daysAgo: 10,
		coverLetter: "My last three years were in this specialty, on a busy unit of twenty-four beds. " +
			"I mentor students and would like to go on doing so with you.",
		statuses: []hiring.Status{hiring.Review, hiring.Interviewing, hiring.Accepted},
	},
	{
		seeker:      0,
		listing:     2,
		daysAgo:     8,
		coverLetter: "I enjoyed your open day and spoke with the team about the rota. I would be happy to work weekends.",
		statuses:    []hiring.Status{hiring.Review, hiring.Interviewing},
	},
	{
		seeker:      3,
		listing:     2,
		daysAgo:     6,
		coverLetter: "I am newly qualified and looking for a team with a good preceptorship.",
	},
	{
		seeker:      0,
		listing:     3,
		daysAgo:     5,
		coverLetter: "I hold the certificate that you ask for and have used both of your record systems.",
		statuses:    []hiring.Status{hiring.Review},
	},
	{
		seeker:      4,
		listing:     3,
		daysAgo:     3,
		coverLetter: "I live five minutes away and could start at once.",
	},
	{
		seeker:      0,
		listing:     4,
		daysAgo:     2,
		coverLetter: "Your flexible hours would let me finish my master’s degree while I work. References are ready.",
	},
}

// interviewIndex is the index of the application with a future interview.
const interviewIndex = 4

// pastClock is a clock that is set to the times of the demo data. Its ids have these times.
type pastClock struct {
	now     time.Time
	idCount int
}

// Now implements clock.Clock.
func (p *pastClock) Now() time.Time { return p.now }

// newID returns ids that are the same in every run.
func (p *pastClock) newID() string {
	p.idCount++
	return demoID(p.now, "hiring", p.idCount)
}

// createApplications creates applications to the first organization and the decisions of its
// recruiter. It skips applications to listings that a small board does not have. The transaction may run twice.
func (s *seeder) createApplications(ctx context.Context, hiringSvc *hiring.Service, clock *pastClock) error {
	clock.idCount = 0 // so that a repeated transaction creates the same ids
	membership := identity.Membership{Role: identity.Recruiter, Permissions: identity.Recruiter.Defaults()}

	recruiter := auth.Actor{
		UserID:         s.recruiter,
		Role:           auth.EmployerTeam,
		OrganizationID: s.orgs[0].ID,
		Permissions:    membership.Grants(),
	}
	for i, a := range demoApplications {
		if a.listing >= len(s.open) {
			continue
		}

		// Applications are submitted at different hours, from 9 o'clock.
		clock.now = s.now.AddDate(0, 0, -a.daysAgo).Add(time.Duration(9+i) * time.Hour)

		applicationID, err := s.apply(ctx, hiringSvc, a)
		if err != nil {
			return fmt.Errorf("application %d: %w", i, err)
		}

		for _, status := range a.statuses {
			clock.now = clock.now.Add(26 * time.Hour) // the next day, at another time of the day

			if err := hiringSvc.Decide(ctx, recruiter, hiring.Decision{ID: applicationID, Status: string(status)}); err != nil {
				return fmt.Errorf("application %d: %w", i, err)
			}
		}

		if i == interviewIndex {
			if _, err := hiringSvc.Schedule(ctx, recruiter, applicationID, s.newInterview()); err != nil {
				return fmt.Errorf("interview: %w", err)
			}
		}
	}

	return nil
}

// apply creates the application and returns its id.
func (s *seeder) apply(ctx context.Context, hiringSvc *hiring.Service, a demoApplication) (string, error) {
	listing := s.open[a.listing]

	in := hiring.ApplyInput{ListingID: listing.ID, CoverLetter: a.coverLetter}
	for _, q := range listing.Questions {
		in.Answers = append(in.Answers, hiring.Answer{QuestionID: q.ID, Answer: s.Answers[q.Text]})
	}

	seeker := auth.Actor{UserID: s.seekers[a.seeker], Role: auth.Jobseeker, Seeker: true}
	application, err := hiringSvc.Apply(ctx, seeker, in)

	return application.ID, err
}

// newInterview returns an interview next week.
func (s *seeder) newInterview() hiring.AppointmentInput {
	at := s.now.AddDate(0, 0, 6).Add(10 * time.Hour).Format(time.RFC3339)
	return hiring.AppointmentInput{ScheduledAt: &at, Location: new("Education Centre, room 2"), Interviewer: &s.lead}
}

// remember stores the latest maxOpen open listings of the first organization that are old
// enough for applications.
func (s *seeder) remember(l listings.Listing) {
	if l.OrganizationID != s.orgs[0].ID || !l.Open || l.PostedAt.After(s.now.Add(-minListingAge)) {
		return
	}

	s.open = append(s.open, l)
	if len(s.open) > maxOpen {
		s.open = s.open[1:]
	}
}
