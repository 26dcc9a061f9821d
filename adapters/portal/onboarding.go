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

// onboardingRoutes returns the routes of the onboarding: the guide through the first steps on the site, and the state of
// each step. Guests can use it, too. What they enter is stored under a secret, which is in a cookie of their browser.
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

// get returns the state of the onboarding. It deletes the cookie of a guest for which no data is stored any more.
func (h onboardingHandlers) get(ctx context.Context, c web.Call, in GuestCookie) (onboardingReply, error) {
	guide, validSecret, err := h.MyOnboarding(ctx, c.Actor, in.Guest) // validSecret is empty if no data is stored
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

	isCookieOutdated := in.Guest != "" && validSecret == ""
	if isCookieOutdated {
		reply.guestHeaders = deleteGuestCookie(h.PublicURL)
	}

	return reply, nil
}

// update stores a part of the onboarding, which the action selects. It sets the cookie of a guest, or deletes a cookie that
// is not needed any more, because an account has taken over the data.
func (h onboardingHandlers) update(ctx context.Context, c web.Call, in OnboardingForm) (onboardedReply, error) {
	// secret is the secret of the guest under which the data is stored. It is empty if the data is
	// stored for an account.
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

// GuestCookie is the cookie with the secret under which the data of a guest is stored. It is empty without the cookie.
type GuestCookie struct {
	Guest string `cookie:"locum_guest"`
}

// OnboardingForm is the input of the operation that stores a part of the onboarding. Its action selects the part.
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

// guestCookieMaxAge is the lifetime of the cookie in seconds: 90 days, which begin again with each update.
const guestCookieMaxAge = "7776000"

// setGuestCookie stores the secret of a guest in the browser.
func setGuestCookie(publicURL, secret string) guestHeaders {
	return guestHeaders{"locum_guest=" + secret + "; Max-Age=" + guestCookieMaxAge + guestCookieAttributes(publicURL)}
}

// deleteGuestCookie deletes the secret of a guest after an account has taken over the data.
func deleteGuestCookie(publicURL string) guestHeaders {
	return guestHeaders{"locum_guest=; Max-Age=0" + guestCookieAttributes(publicURL)}
}

// guestCookieAttributes returns the attributes of the cookie. They restrict it to the paths of the API and, if the public
// URL is https, to connections over TLS.
func guestCookieAttributes(publicURL string) string {
	attributes := "; Path=/api; HttpOnly; SameSite=Lax"
	if strings.HasPrefix(publicURL, "https:") {
		attributes += "; Secure"
	}

	return attributes
}
