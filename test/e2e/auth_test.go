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
			guest, email := server.guest(t), newEmail()
			jobseeker := object{"email": email, "password": password, "name": "Niamh Byrne", "userType": "jobseeker"}
			registered := guest.post("/api/auth/register", jobseeker).ok(201)
			require.Equal(t, email, registered.text("data.user.email"))
			require.Equal(t, "Niamh Byrne", registered.text("data.user.name"))
			require.Equal(t, "jobseeker", registered.text("data.user.role"))
			require.NotEmpty(t, registered.text("data.user.id"))
			require.NotEmpty(t, registered.text("data.accessToken"))
			require.NotEmpty(t, registered.text("data.refreshToken"))
			guest.post("/api/auth/register", jobseeker).fails(409, "Email already registered")

			employer := object{"email": newEmail(), "password": password, "name": "Niamh Byrne", "userType": "employer"}
			require.Equal(t, "EMPLOYER", guest.post("/api/auth/register", employer).ok(201).text("data.user.role"))
		})
	})
}
