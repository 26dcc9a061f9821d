package e2e

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/web"
)

// largestPage is the maximum page size of the lists where it is not 100.
var largestPage = map[string]float64{"GET /api/jobseekers/search": 20}

// TestLists_EachHasPages checks that every list has the same pagination, by the route table: a
// new list is tested without a change here.
func TestLists_EachHasPages(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker, moderator := server.employer(t), server.seeker(t), server.moderator(t)
		for _, route := range routes() {
			if route.Method != http.MethodGet || !slices.Contains(fieldNames(route.Op.In, "query"), "limit") {
				continue
			}
			t.Run(route.Path, func(t *testing.T) {
				c, path := server.guest(t), route.Path
				if strings.Contains(path, ":webhookId") {
					app := seeker.app()
					hook := seeker.post("/api/developers/apps/"+app+"/webhooks", object{
						"url":    "https://hooks.example.com/",
						"events": []string{"job.created"},
					}).
						ok(201).
						text("data.webhook.id")
					path = strings.NewReplacer(":id", app, ":webhookId", hook).Replace(path)
				}
				switch {
				case route.Audience == web.Employer:
					c.token = employer.token
				case route.Audience == web.Moderator:
					c.token = moderator.token
				case route.Auth != web.None:
					c.token = seeker.token
				}
				for _, name := range []string{"page", "limit"} {
					for _, odd := range []string{"0", "-1", "x", "1.5", "99999999999999999999999", "1%00"} {
						c.get(path + "?" + name + "=" + odd).invalid(name)
					}
				}
				c.get(path + "?page=10001").invalid("page") // numbered pages end at 10,000 items
				most := cmp.Or(largestPage["GET "+route.Path], 100)
				c.get(fmt.Sprintf("%s?page=%.0f&limit=100", path, 10_000/most+1)).invalid("page")
				c.get(path + "?cursor=nonsense").invalid("cursor")
				res := c.get(path + "?limit=100000").ok(200)
				pages, hasPages := find(res.body, "pagination").(object)
				if !hasPages {
					return // the list has only a total
				}
				require.Equal(t, most, pages["limit"])
				require.Equal(t, 1., pages["page"])
				require.Equal(t, 7., find(c.get(path+"?page=7").ok(200).body, "pagination").(object)["page"])
			})
		}
	})
}

// find returns the first member with the name at any depth, or nil.
func find(v any, name string) any {
	if o, ok := v.(object); ok {
		if found, ok := o[name]; ok {
			return found
		}
		for _, inner := range o {
			if found := find(inner, name); found != nil {
				return found
			}
		}
	}
	return nil
}
