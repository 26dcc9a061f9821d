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

func onboardingRoutes(s *jobseeker.Service) []web.Route {
	const tag, path = "Onboarding", "/api/jobseekers/onboarding"
	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    path,
			Auth:    web.Optional,
			Errors:  []int{403},
			Tag:     tag,
			Summary: "Get the state of the caller's onboarding steps",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in GuestCookie) (onboardingReply, error) {
					g, keep, err := s.MyOnboarding(ctx, c.Actor, in.Guest)
					if err != nil {
						return onboardingReply{}, err
					}
					return onboardingReply{
						Success: true, OnboardingComplete: g.Complete, IsGuest: c.Actor.Guest(),
						Onboarding: onboardingView{
							Steps:       web.Each(g.Steps, viewStep),
							Email:       g.Email,
							Preferences: viewPreferences(g.Preferences),
						},
						guestHeaders: guestCookieHeaders(s, in.Guest, keep, false),
					}, nil
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    path,
			Auth:    web.Optional,
			Limit:   web.PerQuarterHour(10),
			Errors:  []int{403},
			Tag:     tag,
			Summary: "Store an email address, the state of an onboarding step, or preferences",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in OnboardingForm) (onboardedReply, error) {
					keep, err := s.Onboard(ctx, c.Actor, in.Guest, in.OnboardingInput)
					return onboardedReply{
						Success:      true,
						Message:      onboarded[in.Action],
						IsGuest:      c.Actor.Guest(),
						guestHeaders: guestCookieHeaders(s, in.Guest, keep, true),
					}, err
				}),
		},
	}
}

// GuestCookie is the secret that identifies a guest's browser.
type GuestCookie struct {
	Guest string `cookie:"locum_guest"`
}

// OnboardingForm is the input of all actions.
type OnboardingForm struct {
	GuestCookie
	jobseeker.OnboardingInput
}

var onboarded = map[string]string{
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

// viewPreferences returns preferences as they were sent. The service has checked that they
// are an object.
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

// guestCookieMaxAge is the lifetime of the cookie in seconds.
const guestCookieMaxAge = "7776000"

// guestCookieHeaders returns the cookie with the secret keep: it is deleted after an account has
// taken over the data of the guest, and renewed for 90 days if it was used.
func guestCookieHeaders(s *jobseeker.Service, hadCookie, keep string, wasUsed bool) guestHeaders {
	attributes := "; Path=/api; HttpOnly; SameSite=Lax"
	if strings.HasPrefix(s.PublicURL, "https:") {
		attributes += "; Secure"
	}
	switch {
	case keep == "" && hadCookie != "":
		return guestHeaders{"locum_guest=; Max-Age=0" + attributes}
	case keep != "" && wasUsed:
		return guestHeaders{"locum_guest=" + keep + "; Max-Age=" + guestCookieMaxAge + attributes}
	}
	return guestHeaders{}
}
