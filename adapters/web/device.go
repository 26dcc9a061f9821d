package web

import "strings"

// DeviceCookieName is the cookie that marks a device on which an account has
// signed in.
const DeviceCookieName = "locum_device"

// DeviceCookie returns the Set-Cookie header value for a device token, which
// browsers keep for 180 days.
func DeviceCookie(token, publicURL string) string {
	cookie := DeviceCookieName + "=" + token + "; Path=/; Max-Age=15552000; HttpOnly; SameSite=Lax"
	if strings.HasPrefix(publicURL, "https:") {
		cookie += "; Secure"
	}
	return cookie
}
