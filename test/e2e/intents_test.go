package e2e

import "testing"

// TestIntent_MissingOrUnknown_ReportedFirst checks that the routes with an intent report a
// missing or unknown intent before other errors, since the intent decides which members a body
// has.
func TestIntent_MissingOrUnknown_ReportedFirst(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		for path, invalidMember := range map[string]object{
			"/api/jobseekers/billing":   {"planId": 5},
			"/api/jobseekers/dashboard": {"action": true},
			"/api/jobseekers/search":    {"contractType": "often"},
			"/api/jobseekers/documents": {"type": "photo"},
		} {
			t.Run("POST "+path, func(t *testing.T) {
				seeker.fromNewAddress().post(path, invalidMember).fails(400, "Intent is required")
				seeker.fromNewAddress().post(path, object{"intent": "nonsense"}).invalid("intent")
				seeker.fromNewAddress().post(path, object{"intent": 5}).invalid("intent")
			})
		}
	})
}
