package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuthenticationAndUser(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("POST /api/auth/register", func(t *testing.T) {
			g, email := server.guest(t), newEmail()
			body := object{"email": email, "password": password, "name": "Niamh Byrne", "userType": "jobseeker"}
			a := g.post("/api/auth/register", body).ok(201)
			require.Equal(t, email, a.text("data.user.email"))
			require.Equal(t, "Niamh Byrne", a.text("data.user.name"))
			require.Equal(t, "jobseeker", a.text("data.user.role"))
			require.NotEmpty(t, a.text("data.user.id"))
			require.NotEmpty(t, a.text("data.accessToken"))
			require.NotEmpty(t, a.text("data.refreshToken"))
			g.post("/api/auth/register", body).fails(409, "Email already registered")
			body["email"], body["userType"] = newEmail(), "employer"
			require.Equal(t, "EMPLOYER", g.post("/api/auth/register", body).ok(201).text("data.user.role"))
		})
	})
}
