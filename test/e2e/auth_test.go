package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAuthenticationAndUser checks both kinds of registration, each with the role in its
// spelling of the API: "jobseeker" and "EMPLOYER".
func TestAuthenticationAndUser(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/auth/register", func(t *testing.T) {
			g, email := server.guest(t), newEmail()
			body := object{"email": email, "password": password, "name": "Niamh Byrne", "userType": "jobseeker"}
			resp := g.post("/api/auth/register", body).ok(201)
			require.Equal(t, email, resp.text("data.user.email"))
			require.Equal(t, "Niamh Byrne", resp.text("data.user.name"))
			require.Equal(t, "jobseeker", resp.text("data.user.role"))
			require.NotEmpty(t, resp.text("data.user.id"))
			require.NotEmpty(t, resp.text("data.accessToken"))
			require.NotEmpty(t, resp.text("data.refreshToken"))
			g.post("/api/auth/register", body).fails(409, "Email already registered")

			body["email"], body["userType"] = newEmail(), "employer"
			require.Equal(t, "EMPLOYER", g.post("/api/auth/register", body).ok(201).text("data.user.role"))
		})
	})
}
