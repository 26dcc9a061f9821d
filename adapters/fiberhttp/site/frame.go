package site

import (
	"maps"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
)

// Navs returns the second rows of links, by the path below which they are shown.
func Navs() map[string]pages.SubNav {
	return map[string]pages.SubNav{"/account": AccountNav, "/employer": EmployerNav, "/moderation": moderationNav}
}

// Notices returns the messages after forms, by the value of the parameter done.
func Notices() map[string]string {
	all := maps.Clone(AccountNotices)
	maps.Copy(all, EmployerNotices)
	return all
}
