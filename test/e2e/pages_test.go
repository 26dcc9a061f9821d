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

// TestLists_EachHasPages checks that every list has the same pagination. It finds the lists in the table of routes by their
// parameter limit, so that a new list is tested without a change here.
func TestLists_EachHasPages(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		seeker := server.seeker(t)

		moderator := server.moderator(t)
		for _, route := range routes() {
			if route.Method != http.MethodGet || !slices.Contains(fieldNames(route.Op.In, "query"), "limit") {
				continue
			}

			t.Run(route.Path, func(t *testing.T) {
				client := server.guest(t)

				path := route.Path
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
					client.token = employer.token
				case route.Audience == web.Moderator:
					client.token = moderator.token
				case route.Auth != web.None:
					client.token = seeker.token
				}

				for _, name := range []string{"page", "limit"} {
					for _, invalid := range []string{"0", "-1", "x", "1.5", "99999999999999999999999", "1%00"} {
						client.get(path + "?" + name + "=" + invalid).invalid(name)
					}
				}

				// Numbered pages end at this item; only a cursor reaches later ones. The first request is for pages with one
				// item or more, the second for pages of the maximum size.
				const maxNumberedItems = 10_000
				client.get(fmt.Sprintf("%s?page=%d", path, maxNumberedItems+1)).invalid("page")

				maxLimit := cmp.Or(largestPage["GET "+route.Path], 100)
				client.get(fmt.Sprintf("%s?page=%.0f&limit=100", path, maxNumberedItems/maxLimit+1)).invalid("page")
				client.get(path + "?cursor=nonsense").invalid("cursor")

				// A larger size than the maximum is reduced to it.
				res := client.get(path + "?limit=100000").ok(200)

				pages, hasPages := findMember(res.body, "pagination").(object)
				if !hasPages {
					return // the list has only a total
				}

				require.Equal(t, maxLimit, pages["limit"])
				require.Equal(t, 1., pages["page"])
				require.Equal(t, 7., findMember(client.get(path+"?page=7").ok(200).body, "pagination").(object)["page"])
			})
		}
	})
}

// findMember returns a member of the JSON object with the name, at any depth outside of arrays, or
// nil.
func findMember(value any, name string) any {
	if members, isObject := value.(object); isObject {
		if found, has := members[name]; has {
			return found
		}

		for _, inner := range members {
			if found := findMember(inner, name); found != nil {
				return found
			}
		}
	}

	return nil
}
