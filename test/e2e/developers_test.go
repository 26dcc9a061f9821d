package e2e

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keyShape matches an API key: the prefix loc_live_ and 38 characters.
var keyShape = regexp.MustCompile(`^loc_live_[0-9A-Za-z]{38}$`)

// TestDeveloperApps checks the API for developers' apps. An app is a client of OAuth with redirect
// addresses. It has API keys, a plan, which limits its requests, and statistics of its usage. Only the
// owner can see and change an app. A secret is shown once, in the response that creates it.
func TestDeveloperApps(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// createApp creates an app of the user, with default members, replaced by those of more. It returns the app's id.
		createApp := func(owner *account, more object) string {
			body := object{"name": "Ward Finder", "redirectUris": []string{"https://wardfinder.example.com/callback"}}
			maps.Copy(body, more)

			return owner.post("/api/developers/apps", body).ok(201).text("data.app.id")
		}

		t.Run("POST /api/developers/apps", func(t *testing.T) {
			t.Parallel()

			for _, me := range []*account{server.seeker(t), server.employer(t)} {
				created := me.post("/api/developers/apps", object{
					"name":        " Ward Finder ",
					"description": "Finds wards",
					"redirectUris": []string{
						"https://a.example.com/cb?x=1",
						"http://localhost/cb",
						"http://127.0.0.1:8123/cb",
						"http://[::1]/cb",
						"https://a.example.com/cb?x=1", // repeats the first
					},
				}).
					ok(201)
				require.Equal(t,
					object{"name": "Ward Finder", "description": "Finds wards", "public": false, "plan": "free"},
					created.pick("data.app", "name", "description", "public", "plan"))
				require.Len(t, created.list("data.app.redirectUris"), 4, "each address is stored once")
				require.Equal(t, created.text("data.app.id"), created.text("data.app.clientId"))
				require.Regexp(t, `^loc_cs_[0-9A-Za-z]{43}$`, created.text("data.clientSecret"))
			}

			server.guest(t).post("/api/developers/apps", object{"name": "x"}).fails(401, "Unauthorized")
		})

		// A public client, such as an app for telephones, cannot keep a secret. Its redirect address may have a scheme of its
		// own.
		t.Run("POST /api/developers/apps creates a public client without a secret", func(t *testing.T) {
			t.Parallel()

			public := server.seeker(t).post("/api/developers/apps", object{
				"name":         "On a telephone",
				"public":       true,
				"redirectUris": []string{"com.example.app:/cb"},
			}).
				ok(201)
			require.Nil(t, public.at("data.clientSecret"))
		})

		t.Run("POST /api/developers/apps refuses invalid names and descriptions", func(t *testing.T) {
			t.Parallel()

			const maxName, maxDescription = 100, 1000 // characters

			me := server.seeker(t)
			me.post("/api/developers/apps", object{}).invalid("name")
			me.post("/api/developers/apps", object{"name": "  "}).invalid("name")
			me.post("/api/developers/apps", object{"name": strings.Repeat("x", maxName+1)}).invalid("name")
			me.post("/api/developers/apps", object{"name": "x", "description": strings.Repeat("x", maxDescription+1)}).
				invalid("description")

			// All invalid members are reported.
			twoErrors := me.post("/api/developers/apps", object{"name": "  ", "redirectUris": []string{"x"}}).invalid("name")
			require.Equal(t, "redirectUris", twoErrors.text("errors.1.field"))
		})

		// Redirect addresses are compared as text. Therefore they must be absolute and have one spelling only.
		t.Run("POST /api/developers/apps refuses invalid redirect addresses", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			for _, invalidAddress := range []string{
				// Not absolute.
				"", "x", "/cb", "https://",
				// Without TLS, and not on the user's own machine.
				"http://a.example.com/cb", "http://localhost.evil.example/",
				// With credentials, a fragment, a wildcard, or characters that need encoding.
				"https://u:p@a.example.com/",
				"https://a.example.com/#f", "https://a.example.com/#", "https://*.example.com/",
				"https://a.example.com/\u00e9", "https://a.example.com/ x", "https://a.example.com\\@b",
				// A script, and a scheme of a mobile app, which is for public clients.
				"javascript:alert(1)", "com.example.app:/cb",
			} {
				me.post("/api/developers/apps", object{"name": "x", "redirectUris": []string{invalidAddress}}).invalid("redirectUris")
			}
		})

		t.Run("GET /api/developers/apps", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			first := createApp(me, nil)
			second := createApp(me, object{"name": "Second"})

			// An app of another user, which the list does not contain.
			createApp(server.seeker(t), nil)

			// The newest app is first.
			firstPage := me.get("/api/developers/apps?limit=1").ok(200)
			require.Equal(t, second, firstPage.text("data.apps.0.id"))
			require.Equal(t, object{"total": 2.0, "page": 1.0, "limit": 1.0, "totalPages": 2.0}, firstPage.at("data.pagination"))

			secondPage := me.get("/api/developers/apps?limit=1&cursor=" + firstPage.text("data.nextCursor")).ok(200)
			require.Equal(t, first, secondPage.text("data.apps.0.id"))
			server.guest(t).get("/api/developers/apps").fails(401, "Unauthorized")
		})

		t.Run("GET and PUT and DELETE /api/developers/apps/:id", func(t *testing.T) {
			t.Parallel()

			me, other := server.employer(t), server.employer(t)
			path := "/api/developers/apps/" + createApp(me, nil)
			require.Equal(t, "Ward Finder", me.get(path).ok(200).text("data.app.name"))

			// A request cannot change the plan and the owner of an app.
			changed := me.put(path, object{
				"name":         "Bed Finder",
				"redirectUris": []string{},
				"plan":         "enterprise",
				"ownerId":      other.id,
			}).
				ok(200)
			require.Equal(t, object{"name": "Bed Finder", "plan": "free", "redirectUris": []any{}},
				changed.pick("data.app", "name", "plan", "redirectUris"))
			require.Equal(t, "Finds beds", me.put(path, object{"description": "Finds beds"}).ok(200).text("data.app.description"))

			// Invalid changes, and paths that no app has.
			me.put(path, object{"name": ""}).invalid("name")
			me.put(path, object{"redirectUris": []string{"ftp://x"}}).invalid("redirectUris")

			for _, missing := range []string{path + "0", "/api/developers/apps/nonsense"} {
				me.get(missing).fails(404, "Application not found")
			}

			// Another user does not find the app.
			other.get(path).fails(404, "Application not found")
			other.put(path, object{"name": "Mine"}).fails(404, "Application not found")
			other.delete(path).fails(404, "Application not found")

			// The owner deletes the app, once.
			me.delete(path).ok(200)
			me.get(path).fails(404, "Application not found")
			me.delete(path).fails(404, "Application not found")
		})

		t.Run("POST /api/developers/apps/:id/secret", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			path := "/api/developers/apps/" + createApp(me, nil) + "/secret"

			// Each request replaces the secret.
			firstSecret := me.post(path, nil).ok(200).text("data.clientSecret")
			secondSecret := me.post(path, nil).ok(200).text("data.clientSecret")
			require.NotEqual(t, firstSecret, secondSecret)

			// A body is optional, but must be valid JSON.
			me.post(path, `{"a":`).invalid("body")
			me.post(path, object{}).ok(200)
			server.seeker(t).post(path, nil).fails(404, "Application not found")

			publicApp := createApp(me, object{"public": true})
			me.post("/api/developers/apps/"+publicApp+"/secret", nil).fails(409, "A public application has no secret")
		})

		t.Run("POST and GET /api/developers/apps/:id/keys and DELETE /api/developers/apps/:id/keys/:keyId", func(t *testing.T) {
			t.Parallel()

			me, other := server.seeker(t), server.seeker(t)
			path := "/api/developers/apps/" + createApp(me, nil) + "/keys"
			created := me.post(path, object{"name": "Production"}).ok(201)
			secret := created.text("data.apiKey")
			require.Regexp(t, keyShape, secret)

			// Users recognize a key by its prefix: loc_live_ and four more characters.
			require.Equal(t, secret[:len("loc_live_")+4], created.text("data.key.prefix"))
			require.Nil(t, created.at("data.key.lastUsedAt"))

			list := me.get(path).ok(200)
			require.Equal(t, created.at("data.key"), list.at("data.keys.0"))
			require.NotContains(t, string(list.raw), secret, "only the first response contains the key")
			me.post(path, object{"name": ""}).invalid("name")

			// Another user finds neither the app nor its keys. The owner deletes the key once.
			other.post(path, object{"name": "x"}).fails(404, "Application not found")
			other.get(path).fails(404, "Application not found")

			key := path + "/" + created.text("data.key.id")
			other.delete(key).fails(404, "Application not found")
			me.delete(path+"/nonsense").fails(404, "API key not found")
			me.delete(key).ok(200)
			me.delete(key).fails(404, "API key not found")
		})

		t.Run("POST /api/developers/apps/:id/keys creates at most 20 keys", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			path := "/api/developers/apps/" + createApp(me, nil) + "/keys"

			const maxKeys = 20 // of an app
			for range maxKeys {
				me.post(path, object{"name": "x"}).ok(201)
			}

			me.post(path, object{"name": "x"}).fails(409, "An application has at most 20 API keys; delete one that is not used")
		})

		const (
			goodCard     = "pm_card_visa"     // the tests' payment provider is a sandbox, which accepts it
			declinedCard = "pm_card_declined" // and declines this one
			savedCard    = ""                 // a request without a payment method uses that of the payment before
		)

		// choosePlan sends the choice of a plan for the app at the path.
		choosePlan := func(owner *account, path, plan, paymentMethod string) *response {
			return owner.post(path+"/plan", object{"plan": plan, "paymentMethodId": paymentMethod})
		}

		t.Run("POST /api/developers/apps/:id/plan refuses invalid plans and payment methods", func(t *testing.T) {
			t.Parallel()

			me := server.employer(t)
			path := "/api/developers/apps/" + createApp(me, nil)

			choosePlan(me, path, "professional", savedCard).invalid("paymentMethodId") // no payment before
			choosePlan(me, path, "professional", declinedCard).
				fails(400, "The payment was declined; please try another payment method")
			choosePlan(me, path, "gold", goodCard).invalid("plan")    // unknown
			choosePlan(me, path, "premium", goodCard).invalid("plan") // a plan of jobseekers

			for body, invalidFields := range map[string][]any{
				// Errors in members that were sent come first, in the order of the body. Errors about
				// missing members follow.
				`{"paymentMethodId":"foo","plan":"nope"}`:         {"paymentMethodId", "plan"},
				`{"plan":"nope","paymentMethodId":"foo"}`:         {"plan", "paymentMethodId"},
				`{"paymentMethodId":"foo"}`:                       {"paymentMethodId", "plan"},
				`{"paymentMethodId":"foo","plan":"professional"}`: {"paymentMethodId"},
			} {
				refused := me.post(path+"/plan", body).invalid(invalidFields[0].(string))
				require.Equal(t, invalidFields, errorFields(refused), body)
			}

			// A body with a card number is refused as a whole.
			choosePlan(me, path, "professional", "4242 4242 4242 4242").invalid("body")

			// The plan is unchanged. Another user does not find the app.
			require.Equal(t, "free", me.get(path).ok(200).text("data.app.plan"))
			server.seeker(t).post(path+"/plan", object{"plan": "free"}).fails(404, "Application not found")
		})

		t.Run("POST /api/developers/apps/:id/plan", func(t *testing.T) {
			t.Parallel()

			me := server.employer(t)
			path := "/api/developers/apps/" + createApp(me, nil)
			chosenPlan := func(plan, paymentMethod string) string {
				return choosePlan(me, path, plan, paymentMethod).ok(200).text("data.plan")
			}
			minuteLimit := func() float64 { return me.get(path + "/usage").ok(200).number("data.minute.limit") }

			// A paid plan begins at once. Later changes use the same payment method.
			require.Equal(t, "professional", chosenPlan("professional", goodCard))
			require.Equal(t, "professional", me.get(path).ok(200).text("data.app.plan"))
			require.Equal(t, "enterprise", chosenPlan("enterprise", savedCard))

			// What is left of the more expensive plan pays for the cheaper one.
			require.Equal(t, "professional", chosenPlan("professional", savedCard), "the change is immediate and without a new payment")
			require.Contains(t, server.waitForMail(t, me.email, "You are on the Professional plan. What was left"), "pays for it until")

			// A cancelled plan can be chosen again without a payment until its paid period ends.
			require.Equal(t, "free", chosenPlan("free", savedCard))
			require.Contains(t, server.waitForMail(t, me.email, "Your Professional plan is cancelled"),
				"choose Professional again without a payment")
			require.Equal(t, 60.0, minuteLimit(), "requests per minute of the plan free")
			require.Equal(t, "professional", chosenPlan("professional", savedCard))
			require.Equal(t, 300.0, minuteLimit(), "requests per minute of the plan professional")
		})

		t.Run("operator changes the plan of an app", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			id := createApp(me, nil)

			// server.run executes a command of the operator: locum developers plan ID PLAN.
			require.Contains(t, server.run(t, "developers", "plan", id, "enterprise"), "Ward Finder ("+id+") is on the plan enterprise")

			used := me.get("/api/developers/apps/" + id + "/usage").ok(200)
			require.Equal(t, object{"limit": 1000.0, "remaining": 1000.0}, used.at("data.minute"))
			require.Equal(t, object{"limit": nil, "remaining": nil}, used.at("data.day"), "the plan enterprise has no limit by day")
		})

		t.Run("GET /api/developers/apps/:id/usage", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			path := "/api/developers/apps/" + createApp(me, nil) + "/usage"

			// The app has sent no requests. By default, the series has an entry for each of the last 30 days.
			used := me.get(path).ok(200)
			require.Equal(t, "free", used.text("data.plan"))
			require.Equal(t, object{"limit": 60.0, "remaining": 60.0}, used.at("data.minute"))
			require.Equal(t, object{"limit": 10000.0, "remaining": 10000.0}, used.at("data.day"))

			const defaultDays = 30
			require.Len(t, used.list("data.series"), defaultDays)

			// A period has an entry for each of its days, even without requests.
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
				"timestamps select the days in which they are")
		})

		t.Run("GET /api/developers/apps/:id/usage refuses invalid periods and other users", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			path := "/api/developers/apps/" + createApp(me, nil) + "/usage"
			me.get(path + "?from=2026-11-04&to=2026-11-03").invalid("from") // ends before it begins
			me.get(path + "?from=2020-11-04&to=2026-11-03").invalid("from") // is too long
			me.get(path + "?to=tomorrow").invalid("to")

			twoErrors := me.get(path + "?to=x&from=y").invalid("from")
			require.Equal(t, []any{"from", "to"}, errorFields(twoErrors), "both are reported")
			server.seeker(t).get(path).fails(404, "Application not found")
		})
	})
}
