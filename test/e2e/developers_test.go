package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keyShape matches an API key.
var keyShape = regexp.MustCompile(`^loc_live_[0-9A-Za-z]{38}$`)

// TestDeveloperApps checks the API for developers' apps: clients of OAuth with redirect
// addresses, API keys, plans and usage. An app is its owner's, and secrets are in the response
// that creates them only.
func TestDeveloperApps(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		app := func(a *account, more object) string {
			in := object{"name": "Ward Finder", "redirectUris": []string{"https://wardfinder.example.com/callback"}}
			for name, value := range more {
				in[name] = value
			}

			return a.post("/api/developers/apps", in).ok(201).text("data.app.id")
		}

		t.Run("POST /api/developers/apps", func(t *testing.T) {
			t.Parallel()

			for _, me := range []*account{server.seeker(t), server.employer(t)} {
				made := me.post("/api/developers/apps", object{
					"name":        " Ward Finder ",
					"description": "Finds wards",
					"redirectUris": []string{
						"https://a.example.com/cb?x=1", "http://localhost/cb", "http://127.0.0.1:8123/cb", "http://[::1]/cb", "https://a.example.com/cb?x=1"},
				}).
					ok(201)
				require.Equal(t,
					object{"name": "Ward Finder", "description": "Finds wards", "public": false, "plan": "free"},
					made.pick("data.app", "name", "description", "public", "plan"))
				require.Len(t, made.list("data.app.redirectUris"), 4, "each once")
				require.Equal(t, made.text("data.app.id"), made.text("data.app.clientId"))
				require.Regexp(t, `^loc_cs_[0-9A-Za-z]{43}$`, made.text("data.clientSecret"))
			}

			me := server.seeker(t)
			require.Nil(
				t,
				me.post("/api/developers/apps", object{
					"name":         "On a telephone",
					"public":       true,
					"redirectUris": []string{"com.example.app:/cb"},
				}).
					ok(201).
					at("data.clientSecret"),
			)
			me.post("/api/developers/apps", object{}).invalid("name")
			me.post("/api/developers/apps", object{"name": "  "}).invalid("name")
			me.post("/api/developers/apps", object{"name": strings.Repeat("x", 101)}).invalid("name")
			me.post("/api/developers/apps", object{"name": "x", "description": strings.Repeat("x", 1001)}).invalid("description")

			both := me.post("/api/developers/apps", object{"name": "  ", "redirectUris": []string{"x"}}).invalid("name")
			require.Equal(t, "redirectUris", both.text("errors.1.field"))

			// Redirect addresses are compared as text, so that they must be absolute and
			// unambiguous: no fragment, credentials, wildcards or characters to encode, and
			// plain http to this machine only. Schemes of mobile apps are for public clients,
			// above.
			for _, bad := range []string{
				"", "x", "/cb", "http://a.example.com/cb", "https://", "https://u:p@a.example.com/",
				"https://a.example.com/#f", "https://a.example.com/#", "https://*.example.com/",
				"javascript:alert(1)", "com.example.app:/cb", "https://a.example.com/\u00e9",
				"https://a.example.com/ x", "http://localhost.evil.example/",
				"https://a.example.com\\@b",
			} {
				me.post("/api/developers/apps", object{"name": "x", "redirectUris": []string{bad}}).invalid("redirectUris")
			}

			server.guest(t).post("/api/developers/apps", object{"name": "x"}).fails(401, "Unauthorized")
		})

		t.Run("GET /api/developers/apps", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			first, second := app(me, nil), app(me, object{"name": "Second"})
			app(server.seeker(t), nil)

			list := me.get("/api/developers/apps?limit=1").ok(200)
			require.Equal(t, second, list.text("data.apps.0.id"))
			require.Equal(t, object{"total": 2.0, "page": 1.0, "limit": 1.0, "totalPages": 2.0}, list.at("data.pagination"))
			require.Equal(t, first,
				me.get("/api/developers/apps?limit=1&cursor="+list.text("data.nextCursor")).ok(200).text("data.apps.0.id"))
			server.guest(t).get("/api/developers/apps").fails(401, "Unauthorized")
		})

		t.Run("GET and PUT and DELETE /api/developers/apps/:id", func(t *testing.T) {
			t.Parallel()

			me, other := server.employer(t), server.employer(t)
			path := "/api/developers/apps/" + app(me, nil)
			require.Equal(t, "Ward Finder", me.get(path).ok(200).text("data.app.name"))

			changed := me.put(path, object{"name": "Bed Finder", "redirectUris": []string{}, "plan": "enterprise", "ownerId": other.id}).
				ok(200)
			require.Equal(t, object{"name": "Bed Finder", "plan": "free", "redirectUris": []any{}},
				changed.pick("data.app", "name", "plan", "redirectUris"))
			require.Equal(t, "Finds beds", me.put(path, object{"description": "Finds beds"}).ok(200).text("data.app.description"))
			me.put(path, object{"name": ""}).invalid("name")
			me.put(path, object{"redirectUris": []string{"ftp://x"}}).invalid("redirectUris")

			for _, missing := range []string{path + "0", "/api/developers/apps/nonsense"} {
				me.get(missing).fails(404, "Application not found")
			}

			other.get(path).fails(404, "Application not found")
			other.put(path, object{"name": "Mine"}).fails(404, "Application not found")
			other.delete(path).fails(404, "Application not found")
			me.delete(path).ok(200)
			me.get(path).fails(404, "Application not found")
			me.delete(path).fails(404, "Application not found")
		})

		t.Run("POST /api/developers/apps/:id/secret", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			path := "/api/developers/apps/" + app(me, nil) + "/secret"
			one := me.post(path, nil).ok(200).text("data.clientSecret")
			two := me.post(path, nil).ok(200).text("data.clientSecret")
			require.NotEqual(t, one, two)
			me.post(path, `{"a":`).invalid("body")
			me.post(path, object{}).ok(200)
			server.seeker(t).post(path, nil).fails(404, "Application not found")
			me.post("/api/developers/apps/"+app(me, object{"public": true})+"/secret", nil).fails(409, "A public application has no secret")
		})

		t.Run("POST and GET /api/developers/apps/:id/keys and DELETE /api/developers/apps/:id/keys/:keyId", func(t *testing.T) {
			t.Parallel()

			me, other := server.seeker(t), server.seeker(t)
			path := "/api/developers/apps/" + app(me, nil) + "/keys"
			made := me.post(path, object{"name": "Production"}).ok(201)
			secret := made.text("data.apiKey")
			require.Regexp(t, keyShape, secret)

			// The prefix is loc_live_ and four characters, by which users recognize a key.
			require.Equal(t, secret[:13], made.text("data.key.prefix"))
			require.Nil(t, made.at("data.key.lastUsedAt"))

			list := me.get(path).ok(200)
			require.Equal(t, made.at("data.key"), list.at("data.keys.0"))
			require.NotContains(t, string(list.raw), secret)
			me.post(path, object{"name": ""}).invalid("name")
			other.post(path, object{"name": "x"}).fails(404, "Application not found")
			other.get(path).fails(404, "Application not found")

			key := path + "/" + made.text("data.key.id")
			other.delete(key).fails(404, "Application not found")
			me.delete(path+"/nonsense").fails(404, "API key not found")
			me.delete(key).ok(200)
			me.delete(key).fails(404, "API key not found")

			for range 20 {
				me.post(path, object{"name": "x"}).ok(201)
			}

			me.post(path, object{"name": "x"}).fails(409, "An application has at most 20 API keys; delete one that is not used")
		})

		t.Run("POST /api/developers/apps/:id/plan", func(t *testing.T) {
			t.Parallel()

			me := server.employer(t)
			path := "/api/developers/apps/" + app(me, nil)
			choose := func(plan, method string) *response {
				return me.post(path+"/plan", object{"plan": plan, "paymentMethodId": method})
			}
			choose("professional", "").invalid("paymentMethodId")
			choose("professional", "pm_card_declined").fails(400, "The payment was declined; please try another payment method")
			choose("gold", "pm_card_visa").invalid("plan")    // unknown
			choose("premium", "pm_card_visa").invalid("plan") // a plan of jobseekers

			for body, fields := range map[string][]any{
				// The errors of members that were sent are in their order in the body, and
				// missing members follow.
				`{"paymentMethodId":"foo","plan":"nope"}`:         {"paymentMethodId", "plan"},
				`{"plan":"nope","paymentMethodId":"foo"}`:         {"plan", "paymentMethodId"},
				`{"paymentMethodId":"foo"}`:                       {"paymentMethodId", "plan"},
				`{"paymentMethodId":"foo","plan":"professional"}`: {"paymentMethodId"},
			} {
				a := me.post(path+"/plan", body).invalid(fields[0].(string))
				require.Equal(t, fields, errorFields(a), body)
			}

			// A body with a card number is refused as a whole.
			choose("professional", "4242 4242 4242 4242").invalid("body")
			require.Equal(t, "free", me.get(path).ok(200).text("data.app.plan"))
			require.Equal(t, "professional", choose("professional", "pm_card_visa").ok(200).text("data.plan"))
			require.Equal(t, "professional", me.get(path).ok(200).text("data.app.plan"))
			require.Equal(t, "enterprise", choose("enterprise", "").ok(200).text("data.plan"))
			require.Equal(t, "professional", choose("professional", "").ok(200).text("data.plan"),
				"the change is immediate and without a new payment")
			require.Contains(t, server.waitForMail(t, me.email, "You are on the Professional plan. What was left"), "pays for it until")
			require.Equal(t, "free", choose("free", "").ok(200).text("data.plan"))
			require.Contains(t, server.waitForMail(t, me.email, "Your Professional plan is cancelled"),
				"choose Professional again without a payment")
			require.Equal(t, 60.0, me.get(path+"/usage").ok(200).number("data.minute.limit"))
			require.Equal(t, "professional", choose("professional", "").ok(200).text("data.plan"))
			require.Equal(t, 300.0, me.get(path+"/usage").ok(200).number("data.minute.limit"))
			server.seeker(t).post(path+"/plan", object{"plan": "free"}).fails(404, "Application not found")
		})

		t.Run("operator changes the plan of an app", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			id := app(me, nil)
			require.Contains(t, server.run(t, "developers", "plan", id, "enterprise"), "Ward Finder ("+id+") is on the plan enterprise")

			used := me.get("/api/developers/apps/" + id + "/usage").ok(200)
			require.Equal(t, object{"limit": 1000.0, "remaining": 1000.0}, used.at("data.minute"))
			require.Equal(t, object{"limit": nil, "remaining": nil}, used.at("data.day"), "it has no limit")
		})

		t.Run("GET /api/developers/apps/:id/usage", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			path := "/api/developers/apps/" + app(me, nil) + "/usage"
			used := me.get(path).ok(200)
			require.Equal(t, "free", used.text("data.plan"))
			require.Equal(t, object{"limit": 60.0, "remaining": 60.0}, used.at("data.minute"))
			require.Equal(t, object{"limit": 10000.0, "remaining": 10000.0}, used.at("data.day"))
			require.Len(t, used.list("data.series"), 30)

			days := me.get(path + "?from=2026-11-01&to=2026-11-03").ok(200)
			require.Equal(
				t,
				[]any{
					object{"date": "2026-11-01", "requests": 0.0, "errors": 0.0},
					object{"date": "2026-11-02", "requests": 0.0, "errors": 0.0},
					object{"date": "2026-11-03", "requests": 0.0, "errors": 0.0},
				},
				days.at("data.series"),
			)
			require.Equal(t, days.at("data.series"),
				me.get(path+"?from=2026-11-01T09:30:00Z&to=2026-11-03T23:30:00-00:00").ok(200).at("data.series"),
				"by the days of two timestamps")
			me.get(path + "?from=2026-11-04&to=2026-11-03").invalid("from")
			me.get(path + "?from=2020-11-04&to=2026-11-03").invalid("from")
			me.get(path + "?to=tomorrow").invalid("to")
			require.Equal(t, []any{"from", "to"}, errorFields(me.get(path+"?to=x&from=y").invalid("from")))
			server.seeker(t).get(path).fails(404, "Application not found")
		})
	})
}
