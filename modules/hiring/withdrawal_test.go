package hiring_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
)

// addressedSubjects returns each message as "ADDRESS: SUBJECT".
func addressedSubjects(messages []mail.Message) []string {
	return list.Map(messages, func(m mail.Message) string { return m.To.Email + ": " + m.Subject })
}

// TestWithdraw_Admins_AreNotified checks that admins who want alerts learn of an applicant's
// withdrawal, but not of a dismissal by their own organization.
func TestWithdraw_Admins_AreNotified(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		listing := env.newListing(employer)
		application := env.apply(ann, listing)
		env.sentMails()

		// The applicant withdraws. Of the two admins, one does not want alerts.
		env.optedOut["deputy-of-"+employer.OrganizationID] = true
		require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))

		sent := env.sentMails()
		notice := "boss-of-" + employer.OrganizationID + "@example.org: Application withdrawn: Title of " + listing
		require.Equal(t, []string{notice}, addressedSubjects(sent))
		require.Contains(t, sent[0].Text, "Name of "+ann.UserID)

		// The employer dismisses another application.
		dismissed := env.apply(newSeeker(), listing)
		env.sentMails()
		require.NoError(t, env.Dismiss(t.Context(), employer, dismissed.ID))
		require.NotContains(t, addressedSubjects(env.sentMails()), notice)
	})
}

// TestJobModerated_Restored_ApplicantsAreNotified checks that applicants who were warned of a
// listing learn that it was restored, and that a decision that reverses nothing is sent to the
// employer only.
func TestJobModerated_Restored_ApplicantsAreNotified(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann := newSeeker()
		bob := newSeeker()
		employer := newEmployer()
		listing := env.newListing(employer)
		env.apply(ann, listing)

		withdrawn := env.apply(bob, listing)
		require.NoError(t, env.Withdraw(t.Context(), bob, withdrawn.ID))
		env.sentMails()

		// decide records a decision of the moderators and returns the messages about it.
		decide := func(e event.JobModerated) []string {
			t.Helper()

			e.JobID = listing
			e.OrganizationID = employer.OrganizationID
			e.DecidedAt = env.clock.Now()
			require.NoError(t, env.Tx.Do(t.Context(), func(ctx context.Context) error { return env.Events.Record(ctx, e) }))

			return addressedSubjects(env.sentMails())
		}

		restored := decide(event.JobModerated{Decision: "kept", Reverses: true, Public: true})
		require.Len(t, restored, 3, "two admins, and the applicant who has not withdrawn")
		require.Contains(t, restored, ann.UserID+"@example.org: Job restored: Title of "+listing)
		require.Len(t, decide(event.JobModerated{Decision: "kept"}), 2, "only the admins: applicants were not notified of a hold")
	})
}
