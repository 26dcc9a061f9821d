package site

import (
	"maps"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
)

// Navs returns the sub-navigation of each area of the site, by the path below which it is
// shown.
func Navs() map[string]pages.SubNav {
	return map[string]pages.SubNav{"/account": AccountNav, "/employer": EmployerNav, "/moderation": moderationNav}
}

// Notices returns the message that is shown after a form, by the value of the query
// parameter done.
func Notices() map[string]string {
	all := maps.Clone(AccountNotices)
	maps.Copy(all, EmployerNotices)
	return all
}
