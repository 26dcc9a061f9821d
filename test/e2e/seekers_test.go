package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// notification is a notification as its user sees it.
type notification struct {
	id, kind, message string
}

// waitForNotifications waits until the user has n notifications and returns them, newest first.
// It fails if there are more.
func (a *account) waitForNotifications(n int) (notifications []notification) {
	a.t.Helper()
	require.Eventually(a.t, func() bool {
		notifications = nil

		resp := a.get("/api/jobseekers/notifications?limit=100").ok(200)
		for _, item := range resp.list("data.notifications") {
			members := item.(object)
			notifications = append(notifications, notification{
				id:      members["id"].(string),
				kind:    members["type"].(string),
				message: members["message"].(string),
			})
		}

		return len(notifications) >= n
	}, waitTimeout, 50*time.Millisecond)
	require.Len(a.t, notifications, n)

	return notifications
}

// waitForNotification waits for a notification whose message contains the words and returns its
// id.
func (a *account) waitForNotification(words string) (id string) {
	a.t.Helper()
	require.Eventually(a.t, func() bool {
		for _, item := range a.fromNewAddress().get("/api/jobseekers/notifications?limit=100").ok(200).list("data.notifications") {
			members := item.(object)
			if strings.Contains(members["message"].(string), words) {
				id = members["id"].(string)
			}
		}

		return id != ""
	}, waitTimeout, 50*time.Millisecond)

	return id
}

// TestJobseekerNotifications checks the notifications and activities of a jobseeker, which only
// the user can read and change.
func TestJobseekerNotifications(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		seeker := server.seeker(t)
		otherUser := server.seeker(t)

		application := seeker.application(employer.listing(object{"title": "Theatre Nurse"}), nil)
		for _, status := range []string{"review", "review", "interview", "accepted"} {
			employer.fromNewAddress().put("/api/employers/applications/"+application, object{"status": status}).ok(200)
		}

		employer.fromNewAddress().put("/api/employers/applications/"+application, object{"status": "nonsense"}).fails(400, "Invalid status")

		// The same status again and a refused one notify nothing.
		notifications := seeker.waitForNotifications(3)

		t.Run("GET /api/jobseekers/notifications", func(t *testing.T) {
			require.ElementsMatch(t, []string{
				"Your application for Theatre Nurse is under review",
				"Your application for Theatre Nurse has moved to the interview stage",
				"Your application for Theatre Nurse has been accepted",
			}, []string{notifications[0].message, notifications[1].message, notifications[2].message})

			// The second page of two, by number and by cursor, has the oldest notification.
			resp := seeker.get("/api/jobseekers/notifications?limit=2").ok(200)
			require.Equal(t, "application", resp.text("data.notifications.0.type"))
			require.Equal(t, false, resp.at("data.notifications.0.read"))
			require.Equal(t, 3.0, resp.number("data.pagination.total"))
			require.Equal(t, true, resp.at("data.pagination.hasNext"))
			require.Equal(t, false, resp.at("data.pagination.hasPrev"))
			require.Equal(t, notifications[2].id,
				seeker.get("/api/jobseekers/notifications?limit=2&page=2").ok(200).text("data.notifications.0.id"))
			require.Equal(
				t,
				notifications[2].id,
				seeker.get("/api/jobseekers/notifications?limit=2&cursor="+resp.text("data.nextCursor")).
					ok(200).
					text("data.notifications.0.id"),
			)
			require.Empty(t, otherUser.get("/api/jobseekers/notifications").ok(200).list("data.notifications"))
			seeker.get("/api/jobseekers/notifications?page=0").invalid("page")
			seeker.get("/api/jobseekers/notifications?cursor=x").invalid("cursor")
		})

		t.Run("PUT /api/jobseekers/notifications/:id", func(t *testing.T) {
			client := seeker.fromNewAddress()
			path := "/api/jobseekers/notifications/" + notifications[0].id

			// The notification is marked as read, and then as unread again.
			require.NotEmpty(t, client.put(path, object{"read": true}).ok(200).text("message"))
			require.Equal(t, true, client.get("/api/jobseekers/notifications").ok(200).at("data.notifications.0.read"))
			client.put(path, object{}).ok(200) // the default is true
			require.Equal(t, true, client.get("/api/jobseekers/notifications").ok(200).at("data.notifications.0.read"))
			client.put(path, object{"read": false}).ok(200)
			require.Equal(t, false, client.get("/api/jobseekers/notifications").ok(200).at("data.notifications.0.read"))
			client.put(path, object{"read": "yes"}).invalid("read")

			for _, absent := range []string{nowhere, "nonsense"} {
				client.put("/api/jobseekers/notifications/"+absent, object{"read": true}).fails(404, "Notification not found")
			}

			otherUser.fromNewAddress().put(path, object{"read": true}).fails(404, "Notification not found")
		})

		t.Run("PUT /api/jobseekers/notifications/:id is limited by address", func(t *testing.T) {
			client := seeker.fromNewAddress()

			// Ten requests in 15 minutes, successful or not, are the limit of an address.
			for range 10 {
				client.put("/api/jobseekers/notifications/"+nowhere, object{"read": true}).fails(404, "Notification not found")
			}

			refused := client.put("/api/jobseekers/notifications/"+notifications[0].id, object{"read": true}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, refused.header.Get("Retry-After"))
		})

		t.Run("DELETE /api/jobseekers/notifications/:id", func(t *testing.T) {
			path := "/api/jobseekers/notifications/" + notifications[1].id
			otherUser.delete(path).fails(404, "Notification not found")
			require.NotEmpty(t, seeker.delete(path).ok(200).text("message"))
			seeker.delete(path).fails(404, "Notification not found")
			seeker.delete("/api/jobseekers/notifications/nonsense").fails(404, "Notification not found")
			seeker.waitForNotifications(2)
		})

		t.Run("GET /api/jobseekers/activity", func(t *testing.T) {
			seeker.delete("/api/jobseekers/applications/" + application).ok(200)
			require.Eventually(t, func() bool {
				// The application, three changes of its status, and the withdrawal.
				return seeker.get("/api/jobseekers/activity").ok(200).number("data.total") == 5
			}, waitTimeout, 50*time.Millisecond)

			// The newest activity is the withdrawal, and the oldest, on the fifth page of one, is the application.
			resp := seeker.get("/api/jobseekers/activity?limit=1").ok(200)
			require.Equal(t, "application", resp.text("data.activities.0.type"))
			require.Equal(t, "withdrew", resp.text("data.activities.0.action"))
			require.Equal(t, "Withdrew the application for Theatre Nurse", resp.text("data.activities.0.description"))

			_, err := time.Parse(time.RFC3339, resp.text("data.activities.0.timestamp"))
			require.NoError(t, err)
			require.Equal(t, "applied", seeker.get("/api/jobseekers/activity?limit=1&page=5").ok(200).text("data.activities.0.action"))
			require.NotEmpty(t, seeker.get("/api/jobseekers/activity?cursor="+resp.text("data.nextCursor")).ok(200).list("data.activities"))
			require.Empty(t, otherUser.get("/api/jobseekers/activity").ok(200).list("data.activities"))
			seeker.waitForNotifications(2)
			server.guest(t).get("/api/jobseekers/activity").fails(401, "Unauthorized")
		})
	})
}
