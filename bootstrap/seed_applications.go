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

// minListingAge is the least age of the listings to which demo accounts apply. The earliest of
// demoApplications is 13 days old, and must be later than its listing.
const minListingAge = 15 * 24 * time.Hour

// maxOpen is the number of listings to which demo accounts apply. demoApplications refers to
// them by index.
const maxOpen = 5

// demoApplication is an application of the demo data.
type demoApplication struct {
	seeker      int // index in seeder.seekerIDs
	listing     int // index in seeder.open
	daysAgo     int // when it is submitted
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

// interviewIndex is the index in demoApplications of the application with a future interview.
const interviewIndex = 4

// pastClock is a clock that is set to the times of the demo data. Its ids contain these times.
type pastClock struct {
	now     time.Time
	idCount int // the number of ids that newID has returned
}

// Now implements clock.Clock.
func (p *pastClock) Now() time.Time { return p.now }

// newID returns ids that are the same in every run.
func (p *pastClock) newID() string {
	p.idCount++
	return demoID(p.now, "hiring", p.idCount)
}

// createApplications creates the applications to the first organization, and the decisions of its recruiter about
// them. It sets the clock to the time of each step. A small board has fewer listings, so applications to missing
// listings are skipped. The transaction in which createApplications runs may be repeated.
func (s *seeder) createApplications(ctx context.Context, hiringSvc *hiring.Service, clock *pastClock) error {
	clock.idCount = 0 // so that a repeated transaction creates the same ids
	membership := identity.Membership{Role: identity.Recruiter, Permissions: identity.Recruiter.Defaults()}

	recruiter := auth.Actor{
		UserID:         s.recruiterID,
		Role:           auth.EmployerTeam,
		OrganizationID: s.orgs[0].ID,
		Permissions:    membership.Grants(),
	}
	for i, application := range demoApplications {
		if application.listing >= len(s.open) {
			continue
		}

		// Applications are submitted at different hours, from 9 o'clock.
		day := s.now.AddDate(0, 0, -application.daysAgo)
		clock.now = day.Add(time.Duration(9+i) * time.Hour)

		applicationID, err := s.apply(ctx, hiringSvc, application)
		if err != nil {
			return fmt.Errorf("application %d: %w", i, err)
		}

		for _, status := range application.statuses {
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
func (s *seeder) apply(ctx context.Context, hiringSvc *hiring.Service, demo demoApplication) (id string, err error) {
	listing := s.open[demo.listing]

	input := hiring.ApplyInput{ListingID: listing.ID, CoverLetter: demo.coverLetter}
	for _, question := range listing.Questions {
		answer := hiring.Answer{QuestionID: question.ID, Answer: s.Answers[question.Text]}
		input.Answers = append(input.Answers, answer)
	}

	seeker := auth.Actor{UserID: s.seekerIDs[demo.seeker], Role: auth.Jobseeker, Seeker: true}
	application, err := hiringSvc.Apply(ctx, seeker, input)

	return application.ID, err
}

// newInterview returns an interview next week.
func (s *seeder) newInterview() hiring.AppointmentInput {
	day := s.now.AddDate(0, 0, 6)
	at := day.Add(10 * time.Hour).Format(time.RFC3339) // 10 o'clock

	return hiring.AppointmentInput{ScheduledAt: &at, Location: new("Education Centre, room 2"), Interviewer: &s.interviewerName}
}

// remember adds a listing to s.open if demo accounts can apply to it: an open listing of the first
// organization that is old enough. Listings come in the order of posting, and s.open has the latest
// maxOpen of them.
func (s *seeder) remember(listing listings.Listing) {
	isOfFirstOrganization := listing.OrganizationID == s.orgs[0].ID
	if !isOfFirstOrganization || !listing.Open || listing.PostedAt.After(s.now.Add(-minListingAge)) {
		return
	}

	s.open = append(s.open, listing)
	if len(s.open) > maxOpen {
		s.open = s.open[1:]
	}
}
