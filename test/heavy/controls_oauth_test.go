package heavy

// The files from which controls are removed. server is the package of tests on a running server.
const (
	oauthServer = "adapters/fiberhttp/oauth/oauth.go"
	oauth       = "modules/integrations/oauth.go"
	oauthPages  = "adapters/fiberhttp/oauth/authorize.go"
	signInPages = "adapters/fiberhttp/pages/session.go"
	pageGuard   = "adapters/fiberhttp/pages/guard.go"
	developers  = "adapters/developer/authenticator.go"
	apps        = "adapters/gormdb/integrations_apps.go"
	grants      = "adapters/gormdb/oauth.go"
	gateway     = "adapters/fiberhttp/server.go"
	admission   = "adapters/web/admission.go"
	redisQuota  = "adapters/redislimit/redislimit.go"

	server = "./test/e2e"
)

// serverTest returns a test on a running server with SQLite.
func serverTest(test, subtest string) testName {
	return testName{server, test + "/sqlite+embedded+memory/" + subtest}
}

func oauthTest(part string) testName { return serverTest("TestOAuthAttacks", part) }

// storageTest returns a conformance test of the storage on SQLite.
func storageTest(part string) testName {
	return testName{"./adapters/gormdb", "TestStorage_Conformance/sqlite/" + part}
}

// signInControls returns the controls of OAuth, of keys and of the pages.
func signInControls() []removal {
	ownClient := []testName{oauthTest("code and refresh token of another client")}
	ownTokens := []testName{serverTest("TestOAuth", "introspection of own tokens only")}
	ownAddress := []testName{oauthTest("unregistered redirect URI")}
	noDowngrade := []testName{oauthTest("missing PKCE and plain")}
	verified := []testName{oauthTest("wrong or missing verifier")}
	codeOnce := []testName{oauthTest("code replay revokes its tokens")}
	refreshOnce := []testName{oauthTest("refresh token replay revokes the family")}
	noFrame := []testName{oauthTest("frames are refused")}
	return []removal{
		{
			"replayed codes and refresh tokens revoke the grant",
			[]cut{
				{
					oauth,
					"if isReused = t.Token.UsedAt != nil; isReused {",
					"if isReused = t.Token.UsedAt != nil && kind == \"\"; isReused {",
				},
			},
			[]testName{codeOnce[0], refreshOnce[0]},
		},
		{"used codes and refresh tokens are refused", []cut{
			{oauth, "if isReused = t.Token.UsedAt != nil; isReused {", "t.Token.UsedAt = nil\n\t\tisActive = true\n\t\tif isReused {"},
			{oauth, "} else if !isMarked {", "} else if !isMarked && kind == \"\" {"}}, []testName{codeOnce[0], refreshOnce[0]}},
		{
			"concurrent uses of a code or refresh token: one succeeds",
			[]cut{{grants, "hash = ? AND grant_id = ? AND used_at IS NULL", "hash = ? AND grant_id = ?"}},
			[]testName{storageTest("integrations/grants/concurrent use")},
		},
		{
			"rotation revokes the previous access token",
			[]cut{{grants, "grant_id = ? AND kind = 'access' AND used_at IS NULL", "1 = 0 AND grant_id = ?"}},
			[]testName{oauthTest("rotation revokes the previous access token")},
		},
		{
			"client mix-up: codes and refresh tokens belong to one client",
			[]cut{{oauth, "if t.App.ID != client.ID {\n\t\t\treturn ErrInvalidGrant", "if false {\n\t\t\treturn ErrInvalidGrant"}},
			ownClient,
		},
		{
			"client mix-up: the secret is verified",
			[]cut{{oauth, "[]byte(auth.HashSecret(secret))) == 1", "[]byte(auth.HashSecret(secret))) < 2"}},
			ownClient,
		},
		{
			"client mix-up: introspection and revocation of own tokens only",
			[]cut{{oauth, "isActive && t.App.ID == client.ID, err", "isActive, err"}},
			ownTokens,
		},
		{
			"client mix-up: the response names the issuer",
			[]cut{{oauthPages, `q.Set("iss", s.issuer)`, ""}},
			[]testName{serverTest("TestOAuth", "the whole flow with golang.org/x/oauth2")},
		},
		{
			"client mix-up: one authentication method per request",
			[]cut{{oauthServer, `case form.Get("client_secret") != "":`, `case form.Get("client_secret") == "?":`}},
			[]testName{oauthTest("two authentication methods are refused")},
		},
		{
			"client mix-up: one client id per request",
			[]cut{{oauthServer, `case named != "" && named != clientID:`, `case named == "?":`}},
			[]testName{oauthTest("two authentication methods are refused")},
		},
		{
			"redirect variants at authorization",
			[]cut{
				{oauth, "if err != nil || !r.App.RedirectsTo(uri) {", "if err != nil || !strings.HasPrefix(uri, r.App.RedirectURIs[0]) {"},
			},
			ownAddress,
		},
		{
			"redirect variants of a loopback address",
			[]cut{{"modules/integrations/app.go", "return ip.String() + rest, true", "_ = rest\n\treturn ip.String(), true"}},
			[]testName{oauthTest("loopback redirect URI with any port")},
		},
		{
			"redirect variants at the exchange",
			[]cut{
				{
					oauth,
					`if t.Token.RedirectURI != "" && t.Token.RedirectURI != redirectURI {`,
					`if t.Token.RedirectURI == "" && t.Token.RedirectURI != redirectURI {`,
				},
			},
			ownAddress,
		},
		{"PKCE downgrade to none", []cut{{oauth, `params.Get("code_challenge_method") != s256 || !s256Challenge.MatchString(r.challenge):`,
			`r.challenge != "" && (params.Get("code_challenge_method") != s256 || !s256Challenge.MatchString(r.challenge)):`}}, noDowngrade},
		{"PKCE downgrade to plain", []cut{{oauth, `params.Get("code_challenge_method") != s256 || `, ""}}, noDowngrade},
		{
			"PKCE: a verifier is required",
			[]cut{
				{
					oauth,
					"if !matchesChallenge(verifier, t.Token.Challenge) {",
					`if verifier != "" && !matchesChallenge(verifier, t.Token.Challenge) {`,
				},
			},
			verified,
		},
		{
			"PKCE: the verifier is compared",
			[]cut{{oauth, "subtle.ConstantTimeCompare([]byte(expected), []byte(challenge)) == 1", `expected != ""`}},
			verified,
		},
		{
			"scope widening by a refresh",
			[]cut{{oauth, "if !areKnown || !Covers(t.Token.Scopes, scopes) {", "if !areKnown {"}},
			[]testName{oauthTest("refresh cannot widen scopes")},
		},
		{
			"scope widening at authorization",
			[]cut{{oauth, "case !areKnown:", `case !areKnown && mode == "?":`}},
			[]testName{oauthTest("unknown and missing scopes")},
		},
		{
			"scope widening: a consent covers only its scopes",
			[]cut{
				{
					oauth,
					"if err == nil && (!exists || !Covers(c.Scopes, r.Scopes)) {",
					"if err == nil && (!exists || len(c.Scopes) == 0) {",
				},
			},
			[]testName{serverTest("TestOAuth", "consent is remembered until more is requested")},
		},
		{
			"scope widening: routes check the scopes of a token",
			[]cut{{admission, `if route.Scope != "" && !call.Caller.May(route.Scope) {`, `if route.Scope == "?" {`}},
			[]testName{serverTest("TestDeveloperRoleMatrix", "GET /api/v1/applications")},
		},
		{"CSRF on the consent: the token in the form", []cut{{oauthPages, "if !s.renderer.ValidCSRF(c) {", "if c == nil {"}},
			[]testName{oauthTest("consent requires the CSRF token of the session")}},
		{
			"CSRF on every form: the origin is checked",
			[]cut{{pageGuard, "if isForm && !r.sameOrigin(c) {", "if isForm && !r.sameOrigin(c) && c.Method() == \"\" {"}},
			[]testName{
				oauthTest("consent requires the CSRF token of the session"),
				serverTest("TestBrowserSessions", "sign-in from another site"),
				serverTest("TestBrowserSessions", "sign-out and new password end the session"),
				serverTest("TestDashboard_Applications_WithoutScript", "other user's app, other site, signed out")},
		},
		{
			"CSRF on every form: clients without an Origin need the token",
			[]cut{{pageGuard, `c.Cookies(r.cookieName()) == "" || r.ValidCSRF(c)`, "true"}},
			[]testName{serverTest("TestOAuth", "client without an Origin needs the CSRF token")},
		},
		{
			"CSRF on the consent: the link cannot fill in the form",
			[]cut{{gateway, "s.app.Server().FormValueFunc = ", "_ = "}},
			[]testName{serverTest("TestOAuth", "form values in the link")},
		},
		{"clickjacking: frame-ancestors", []cut{{pageGuard, "frame-ancestors 'none'; ", ""}}, noFrame},
		{"clickjacking: X-Frame-Options", []cut{{pageGuard, `c.Set(fiber.HeaderXFrameOptions, "DENY")`, ""}}, noFrame},
		{
			"open redirect of next",
			[]cut{{signInPages, "\t\treturn \"\"\n\t}\n\treturn next", "\t\treturn next\n\t}\n\treturn next"}},
			[]testName{oauthTest("open redirect after a sign-in")},
		},
	}
}

// credentials returns the controls of keys, tokens, quotas and of the visibility
// of applications to programs.
func credentials() []removal {
	ownApps := []testName{storageTest("integrations/apps/other owner")}
	ownKeys := []testName{storageTest("integrations/keys/other owner")}
	ofAccount := []testName{{"./modules/integrations", "TestAuthenticate_InactiveAccount_Unauthorized"}}
	ownSight := []testName{storageTest("hiring/application lists/visibility and filters")}
	return []removal{
		{
			"a deleted key is refused",
			[]cut{{apps, "f.CreatedBefore).Delete(&apiKeyRow{})", `f.CreatedBefore).Where("1 = 0").Delete(&apiKeyRow{})`}},
			[]testName{{"./modules/integrations", "TestAuthenticateKey_DeletedOrMistyped_Unauthorized"}},
		},
		{
			"another user's application is not found",
			[]cut{{apps, `ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id)`, `d.locked(ctx).Where("id = ?", id)`}},
			ownApps,
		},
		{
			"no key for another user's application",
			[]cut{
				{
					apps,
					`ofAppOwner(d.conn(ctx).Select("id"), ownerID).Where("id = ?", k.AppID)`,
					`d.conn(ctx).Select("id").Where("id = ?", k.AppID)`,
				},
			},
			ownKeys,
		},
		{
			"keys of another user's application are neither listed nor deleted",
			[]cut{
				{
					apps,
					`apps := ofAppOwner(d.conn(ctx).Model(&appRow{}).Select("id"), ownerID)`,
					`apps := d.conn(ctx).Model(&appRow{}).Select("id")`,
				},
			},
			ownKeys,
		},
		{
			"the key of another user's application beside a token",
			[]cut{{developers, "byKey.App.ID != \"\" && byKey.App.ID != byToken.App.ID", "byKey.App.ID == \"?\""}},
			[]testName{serverTest("TestDeveloperApplications", "key beside a token")},
		},
		// A token of one API is never found in the other: the control is that
		// an unknown token is refused.
		{
			"a portal token on the developer API",
			[]cut{
				{
					developers,
					"TrimSpace(token)); err != nil {\n",
					"TrimSpace(token)); err != nil {\n\t\treturn integrations.Caller{App: integrations.App{ID: \"stranger\", Plan: integrations.Free}, Scopes: integrations.Scopes()}, nil\n",
				},
			},
			[]testName{serverTest("TestDeveloperAPI_Authentication", "strangers")},
		},
		{
			"a developer token or key on the portal API",
			[]cut{
				{
					admission,
					"Identity.Authenticate(ctx, strings.TrimSpace(token))\n\tif err != nil {\n\t\treturn auth.Actor{}, err",
					"Identity.Authenticate(ctx, strings.TrimSpace(token))\n\tif err != nil {\n\t\treturn auth.Actor{Seeker: true}, nil",
				},
			},
			[]testName{{server, "TestPortal_DeveloperCredentials_Refused/sqlite+embedded+memory"}},
		},
		{"keys of a deleted application are deleted, and looked up with the application and its owner", []cut{
			{
				"migrations/integrations/0001_init.sql",
				"app_id       UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,\n    name         TEXT",
				"app_id       UUID        NOT NULL,\n    name         TEXT",
			},
			{apps, "JOIN apps AS a ON a.id = k.app_id", "LEFT JOIN apps AS a ON a.id = k.app_id"},
		}, []testName{storageTest("integrations/keys/deleted application")}},
		{
			"keys of an inactive account",
			[]cut{{"modules/integrations/service.go", "if err == nil && !isActive {", "if err != nil && !isActive {"}},
			ofAccount,
		},
		{"tokens of a deleted application are deleted, and looked up with the application", []cut{
			{
				"migrations/integrations/0001_init.sql",
				"app_id     UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,\n    user_id    UUID        NOT NULL,",
				"app_id     UUID        NOT NULL,\n    user_id    UUID        NOT NULL,",
			},
			{grants, "JOIN apps AS a ON a.id = g.app_id", "LEFT JOIN apps AS a ON a.id = g.app_id"},
		}, []testName{storageTest("integrations/grants/deleted application")}},
		{
			"codes and tokens of an inactive account",
			[]cut{
				{
					oauth,
					"isActive, err = s.Accounts.IsActive(ctx, t.Grant.UserID, t.App.OwnerID)\n\treturn t, isActive, err",
					"_, err = s.Accounts.IsActive(ctx, t.Grant.UserID)\n\treturn t, true, err",
				},
			},
			ofAccount,
		},
		{
			"applications to another organization are not listed",
			[]cut{
				{
					"adapters/gormdb/hiring_applications.go",
					`q.Where("organization_id = ?", v.OrganizationID)`,
					`q.Where("(organization_id = ? OR 1 = 1)", v.OrganizationID)`,
				},
			},
			ownSight,
		},
		{
			"applications of another jobseeker are not listed",
			[]cut{
				{
					"adapters/gormdb/hiring_applications.go",
					`q.Where("applicant_id = ?", v.ApplicantID)`,
					`q.Where("(applicant_id = ? OR 1 = 1)", v.ApplicantID)`,
				},
			},
			ownSight,
		},
		{
			"applications are listed only with the permission to view them",
			[]cut{{"modules/hiring/service.go", "if by.May(auth.ApplicationsView) {", "if by.OrganizationID != \"\" {"}},
			[]testName{serverTest("TestDeveloperApplications", "GET /api/v1/applications")},
		},
		{
			"webhooks about an application go only to users who may see it",
			[]cut{
				{
					"modules/integrations/visibility.go",
					"return v.OrganizationID != \"\" && ",
					"return true || v.OrganizationID != \"\" && ",
				},
			},
			[]testName{{"./modules/integrations", "TestFanOut_Application_OnlyAuthorizedReceive"}},
		},
		{
			"a quota is exact for 200 concurrent requests",
			[]cut{{"adapters/locallimit/locallimit.go", "if !record || !before.Allowed {", "if !record {"}},
			[]testName{{"./adapters/locallimit", "TestLimiter/quotas/concurrent calls"}},
		},
		{
			"the quota per minute in Redis",
			[]cut{{redisQuota, "n < most and ", ""}},
			[]testName{{"./adapters/redislimit", "TestLimiter/quotas/concurrent calls"}},
		},
		{
			"the quota per day in Redis",
			[]cut{{redisQuota, "(mostADay == 0 or spent < mostADay)", "true"}},
			[]testName{{"./adapters/redislimit", "TestLimiter/quotas/concurrent calls"}},
		},
	}
}
