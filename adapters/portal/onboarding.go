package portal

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/jobseeker"
)

// onboardingRoutes returns the routes of the onboarding, the guide through the first steps on the site. Guests can take
// them too: a secret in a cookie identifies the browser of a guest.
func onboardingRoutes(s *jobseeker.Service) []web.Route {
	const tag, path = "Onboarding", "/api/jobseekers/onboarding"
	h := onboardingHandlers{s}

	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    path,
			Auth:    web.Optional,
			Errors:  []int{403},
			Tag:     tag,
			Summary: "Get the state of the caller's onboarding steps",
			Op:      web.Op(h.get),
		},
		{
			Method:  http.MethodPost,
			Path:    path,
			Auth:    web.Optional,
			Limit:   web.PerQuarterHour(10),
			Errors:  []int{403},
			Tag:     tag,
			Summary: "Store an email address, the state of an onboarding step, or preferences",
			Op:      web.Op(h.update),
		},
	}
}

// onboardingHandlers handles the requests of onboardingRoutes.
type onboardingHandlers struct{ *jobseeker.Service }

// get returns the steps, and deletes a cookie that no longer leads to any.
func (h onboardingHandlers) get(ctx context.Context, c web.Call, in GuestCookie) (onboardingReply, error) {
	// secret is that of the guest, and empty if no steps are stored for it.
	guide, secret, err := h.MyOnboarding(ctx, c.Actor, in.Guest)
	if err != nil {
		return onboardingReply{}, err
	}

	reply := onboardingReply{
		Success:            true,
		OnboardingComplete: guide.Complete,
		IsGuest:            c.Actor.Guest(),
		Onboarding: onboardingView{
			Steps:       web.Each(guide.Steps, viewStep),
			Email:       guide.Email,
			Preferences: viewPreferences(guide.Preferences),
		},
	}
	if secret == "" && in.Guest != "" {
		reply.guestHeaders = deleteGuestCookie(h.PublicURL)
	}

	return reply, nil
}

// update does one action. It sets the cookie of a guest whose steps are stored now, and deletes
// one that is no longer needed.
func (h onboardingHandlers) update(ctx context.Context, c web.Call, in OnboardingForm) (onboardedReply, error) {
	secret, err := h.Onboard(ctx, c.Actor, in.Guest, in.OnboardingInput)

	reply := onboardedReply{
		Success: true,
		Message: onboardingMessages[in.Action],
		IsGuest: c.Actor.Guest(),
	}
	switch {
	case secret != "":
		reply.guestHeaders = setGuestCookie(h.PublicURL, secret)
	case in.Guest != "":
		reply.guestHeaders = deleteGuestCookie(h.PublicURL)
	}

	return reply, err
}

// GuestCookie is the secret that identifies a guest's browser.
type GuestCookie struct {
	Guest string `cookie:"locum_guest"`
}

// OnboardingForm is the input of the operation that stores a part of the onboarding, which its action names.
type OnboardingForm struct {
	GuestCookie
	jobseeker.OnboardingInput
}

// onboardingMessages are the messages of the response by action.
var onboardingMessages = map[string]string{
	"capture_email":      "Email captured successfully",
	"track_step":         "Step tracked successfully",
	"update_preferences": "Preferences updated successfully",
}

type onboardingReply struct {
	Success            bool           `json:"success"`
	OnboardingComplete bool           `json:"onboardingComplete"`
	Onboarding         onboardingView `json:"onboarding"`
	IsGuest            bool           `json:"isGuest"`
	guestHeaders
}

type onboardedReply struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	IsGuest bool   `json:"isGuest"`
	guestHeaders
}

type onboardingView struct {
	Steps []stepView `json:"steps"`
	// Email is the address that the guest entered in this browser before.
	Email       string                     `json:"email,omitempty"`
	Preferences map[string]json.RawMessage `json:"preferences,omitempty"`
}

type stepView struct {
	ID          string               `json:"id"`
	Title       string               `json:"title"`
	Status      jobseeker.StepStatus `json:"status"`
	ViewedAt    *time.Time           `json:"viewedAt,omitempty"`
	CompletedAt *time.Time           `json:"completedAt,omitempty"`
	SkippedAt   *time.Time           `json:"skippedAt,omitempty"`
}

// viewPreferences returns preferences as they were sent. The error is ignored: the service has
// checked that they are an object, and an empty text stands for none.
func viewPreferences(text string) (object map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(text), &object)
	return object
}

func viewStep(s jobseeker.Step) stepView {
	return stepView{
		ID:          s.Step,
		Title:       s.Title,
		Status:      s.Status(),
		ViewedAt:    optional(s.ViewedAt),
		CompletedAt: optional(s.CompletedAt),
		SkippedAt:   optional(s.SkippedAt),
	}
}

// guestHeaders sets the cookie of a guest, if there is one.
type guestHeaders struct{ cookie string }

// Headers returns the header Set-Cookie.
func (h guestHeaders) Headers() map[string]string {
	if h.cookie == "" {
		return nil
	}

	return map[string]string{"Set-Cookie": h.cookie}
}

// guestCookieMaxAge is the lifetime of the cookie in seconds: 90 days after each update.
const guestCookieMaxAge = "7776000"

// setGuestCookie stores the secret of a guest in the browser.
func setGuestCookie(publicURL, secret string) guestHeaders {
	return guestHeaders{"locum_guest=" + secret + "; Max-Age=" + guestCookieMaxAge + guestCookieAttributes(publicURL)}
}

// deleteGuestCookie deletes the secret of a guest after an account has taken over the data.
func deleteGuestCookie(publicURL string) guestHeaders {
	return guestHeaders{"locum_guest=; Max-Age=0" + guestCookieAttributes(publicURL)}
}

// guestCookieAttributes restricts the cookie to the paths of the APIs, and to HTTPS if the service has
// it.
func guestCookieAttributes(publicURL string) string {
	attributes := "; Path=/api; HttpOnly; SameSite=Lax"
	if strings.HasPrefix(publicURL, "https:") {
		attributes += "; Secure"
	}

	return attributes
}
