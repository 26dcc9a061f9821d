package site

import (
	"maps"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
)

// Navs returns the sub-navigation of each area of the site. The key is the path below which pages show it.
func Navs() map[string]pages.SubNav {
	return map[string]pages.SubNav{"/account": AccountNav, "/employer": EmployerNav, "/moderation": moderationNav}
}

// Notices returns the messages that pages show after a form was handled. The redirect to the page has the key of the
// message in the query parameter done.
func Notices() map[string]string {
	notices := maps.Clone(AccountNotices)
	maps.Copy(notices, EmployerNotices)

	return notices
}
