package web

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

//go:embed descriptions.txt
var descriptionLines string

// descriptions returns the texts of descriptions.txt by name.
var descriptions = sync.OnceValue(func() map[string]string {
	lines := strings.NewReplacer(
		"{page.MaxExact}", number(page.MaxExact), "{hiring.MaxBatch}", number(hiring.MaxBatch), "{listings.MaxBatch}", number(listings.MaxBatch),
		"{listings.DefaultCurrency}", listings.DefaultCurrency, "{listings.DefaultPeriod}", listings.DefaultPeriod,
		"{listings.DefaultRadius}", number(listings.DefaultRadius),
	).Replace(descriptionLines)
	out := map[string]string{}
	for line := range strings.Lines(lines) {
		if name, text, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			out[name] = text
		}
	}
	return out
})
