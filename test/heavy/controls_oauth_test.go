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
	ownTokens := []testName{serverTest("TestOAuth", "introspection and revocation of own tokens only")}
	ownAddress := []testName{oauthTest("unregistered redirect URI")}
	noDowngrade := []testName{oauthTest("authorization request without an S256 challenge")}
	verified := []testName{oauthTest("wrong or missing verifier")}
	codeOnce := []testName{oauthTest("code replay revokes its tokens")}
	refreshOnce := []testName{oauthTest("refresh token replay revokes the family")}
	noFrame := []testName{oauthTest("frames are refused")}

	return []removal{
		{
			name: "replayed codes and refresh tokens revoke the grant",
			cuts: []cut{
				{
					file: oauth,
					old:  "isReused = t.Token.UsedAt != nil\n",
					new:  "isReused = t.Token.UsedAt != nil && kind == \"\"\n",
				},
			},
			tests: []testName{codeOnce[0], refreshOnce[0]},
		},
		{name: "used codes and refresh tokens are refused", cuts: []cut{
			{
				file: oauth,
				old:  "isReused = t.Token.UsedAt != nil\n",
				new:  "t.Token.UsedAt = nil\n\t\tisActive = true\n",
			},
			{
				file: oauth,
				old:  "} else if !isMarked {",
				new:  "} else if !isMarked && kind == \"\" {",
			}}, tests: []testName{codeOnce[0], refreshOnce[0]}},
		{
			name: "concurrent uses of a code or refresh token: one succeeds",
			cuts: []cut{{
				file: grants,
				old:  "hash = ? AND grant_id = ? AND used_at IS NULL",
				new:  "hash = ? AND grant_id = ?",
			}},
			tests: []testName{storageTest("integrations/grants/concurrent use")},
		},
		{
			name: "rotation revokes the previous access token",
			cuts: []cut{{
				file: grants,
				old:  "grant_id = ? AND kind = 'access' AND used_at IS NULL",
				new:  "1 = 0 AND grant_id = ?",
			}},
			tests: []testName{oauthTest("rotation revokes the previous access token")},
		},
		{
			name: "client mix-up: codes and refresh tokens belong to one client",
			cuts: []cut{{
				file: oauth,
				old:  "if t.App.ID != client.ID {\n\t\t\treturn ErrInvalidGrant",
				new:  "if false {\n\t\t\treturn ErrInvalidGrant",
			}},
			tests: ownClient,
		},
		{
			name: "client mix-up: the secret is verified",
			cuts: []cut{{
				file: oauth,
				old:  "[]byte(auth.HashSecret(secret))) == 1",
				new:  "[]byte(auth.HashSecret(secret))) < 2",
			}},
			tests: ownClient,
		},
		{
			name:  "client mix-up: introspection and revocation of own tokens only",
			cuts:  []cut{{file: oauth, old: "isActive && t.App.ID == client.ID, err", new: "isActive, err"}},
			tests: ownTokens,
		},
		{
			name:  "client mix-up: the response names the issuer",
			cuts:  []cut{{file: oauthPages, old: `q.Set("iss", s.issuer)`, new: ""}},
			tests: []testName{serverTest("TestOAuth", "sign-in, consent, exchange, refresh and revocation")},
		},
		{
			name: "client mix-up: one authentication method per request",
			cuts: []cut{{
				file: oauthServer,
				old:  `case form.Get("client_secret") != "":`,
				new:  `case form.Get("client_secret") == "?":`,
			}},
			tests: []testName{oauthTest("two authentication methods are refused")},
		},
		{
			name:  "client mix-up: one client id per request",
			cuts:  []cut{{file: oauthServer, old: `case named != "" && named != clientID:`, new: `case named == "?":`}},
			tests: []testName{oauthTest("two authentication methods are refused")},
		},
		{
			name: "redirect variants at authorization",
			cuts: []cut{
				{
					file: oauth,
					old:  "if err != nil || !r.App.RedirectsTo(uri) {",
					new:  "if err != nil || !strings.HasPrefix(uri, r.App.RedirectURIs[0]) {",
				},
			},
			tests: ownAddress,
		},
		{
			name: "redirect variants of a loopback address",
			cuts: []cut{{
				file: "modules/integrations/app.go",
				old:  "return ip.String() + rest, true",
				new:  "_ = rest\n\treturn ip.String(), true",
			}},
			tests: []testName{oauthTest("loopback redirect URI with any port")},
		},
		{
			name: "redirect variants at the exchange",
			cuts: []cut{
				{
					file: oauth,
					old:  `if t.Token.RedirectURI != "" && t.Token.RedirectURI != redirectURI {`,
					new:  `if t.Token.RedirectURI == "" && t.Token.RedirectURI != redirectURI {`,
				},
			},
			tests: ownAddress,
		},
		{name: "PKCE downgrade to none", cuts: []cut{{file: oauth, old: `params.Get("code_challenge_method") != s256 || !s256Challenge.MatchString(r.challenge):`,
			new: `r.challenge != "" && (params.Get("code_challenge_method") != s256 || !s256Challenge.MatchString(r.challenge)):`}}, tests: noDowngrade},
		{
			name: "PKCE downgrade to plain",
			cuts: []cut{{
				file: oauth,
				old:  `params.Get("code_challenge_method") != s256 || `,
				new:  "",
			}},
			tests: noDowngrade,
		},
		{
			name: "PKCE: a verifier is required",
			cuts: []cut{
				{
					file: oauth,
					old:  "if !matchesChallenge(verifier, t.Token.Challenge) {",
					new:  `if verifier != "" && !matchesChallenge(verifier, t.Token.Challenge) {`,
				},
			},
			tests: verified,
		},
		{
			name: "PKCE: the verifier is compared",
			cuts: []cut{{
				file: oauth,
				old:  "subtle.ConstantTimeCompare([]byte(expected), []byte(challenge)) == 1",
				new:  `expected != ""`,
			}},
			tests: verified,
		},
		{
			name:  "scope widening by a refresh",
			cuts:  []cut{{file: oauth, old: "if !areKnown || !Covers(t.Token.Scopes, scopes) {", new: "if !areKnown {"}},
			tests: []testName{oauthTest("refresh cannot widen scopes")},
		},
		{
			name:  "scope widening at authorization",
			cuts:  []cut{{file: oauth, old: "case !areKnown:", new: `case !areKnown && mode == "?":`}},
			tests: []testName{oauthTest("unknown and missing scopes")},
		},
		{
			name: "scope widening: a consent covers only its scopes",
			cuts: []cut{
				{
					file: oauth,
					old:  "if err == nil && (!exists || !Covers(c.Scopes, r.Scopes)) {",
					new:  "if err == nil && (!exists || len(c.Scopes) == 0) {",
				},
			},
			tests: []testName{serverTest("TestOAuth", "consent is remembered until more is requested")},
		},
		{
			name: "scope widening: routes check the scopes of a token",
			cuts: []cut{{
				file: admission,
				old:  `if route.Scope != "" && !call.Caller.May(route.Scope) {`,
				new:  `if route.Scope == "?" {`,
			}},
			tests: []testName{serverTest("TestDeveloperRoleMatrix", "GET /api/v1/applications")},
		},
		{name: "CSRF on the consent: the token in the form", cuts: []cut{{
			file: oauthPages,
			old:  "if !s.renderer.ValidCSRF(c) {",
			new:  "if c == nil {",
		}},
			tests: []testName{oauthTest("consent requires the CSRF token of the session")}},
		{
			name: "CSRF on every form: the origin is checked",
			cuts: []cut{{
				file: pageGuard,
				old:  "if isForm && !r.sameOrigin(c) {",
				new:  "if isForm && !r.sameOrigin(c) && c.Method() == \"\" {",
			}},
			tests: []testName{
				oauthTest("consent requires the CSRF token of the session"),
				serverTest("TestBrowserSessions", "sign-in from another site"),
				serverTest("TestBrowserSessions", "sign-out and new password end the session"),
				serverTest("TestDashboard_Applications_WithoutScript", "form of another user, another site or a signed-out user is refused")},
		},
		{
			name:  "CSRF on every form: clients without an Origin need the token",
			cuts:  []cut{{file: pageGuard, old: `c.Cookies(r.cookieName()) == "" || r.ValidCSRF(c)`, new: "true"}},
			tests: []testName{serverTest("TestOAuth", "client without an Origin needs the CSRF token")},
		},
		{
			name:  "CSRF on the consent: the link cannot fill in the form",
			cuts:  []cut{{file: gateway, old: "s.app.Server().FormValueFunc = ", new: "_ = "}},
			tests: []testName{serverTest("TestOAuth", "decision in the link is ignored")},
		},
		{
			name: "clickjacking: frame-ancestors",
			cuts: []cut{{
				file: pageGuard,
				old:  "frame-ancestors 'none'; ",
				new:  "",
			}},
			tests: noFrame,
		},
		{
			name: "clickjacking: X-Frame-Options",
			cuts: []cut{{
				file: pageGuard,
				old:  `c.Set(fiber.HeaderXFrameOptions, "DENY")`,
				new:  "",
			}},
			tests: noFrame,
		},
		{
			name: "open redirect of next",
			cuts: []cut{{
				file: signInPages,
				old:  "\t\treturn \"\"\n\t}\n\n\treturn next",
				new:  "\t\treturn next\n\t}\n\treturn next",
			}},
			tests: []testName{oauthTest("open redirect after a sign-in")},
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
			name: "a deleted key is refused",
			cuts: []cut{{
				file: apps,
				old:  "f.CreatedBefore).Delete(&apiKeyRow{})",
				new:  `f.CreatedBefore).Where("1 = 0").Delete(&apiKeyRow{})`,
			}},
			tests: []testName{{"./modules/integrations", "TestAuthenticateKey_DeletedOrMistyped_Unauthorized"}},
		},
		{
			name: "another user's application is not found",
			cuts: []cut{{
				file: apps,
				old:  `ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id)`,
				new:  `d.locked(ctx).Where("id = ?", id)`,
			}},
			tests: ownApps,
		},
		{
			name: "no key for another user's application",
			cuts: []cut{
				{
					file: apps,
					old:  `ofAppOwner(d.conn(ctx).Select("id"), ownerID).Where("id = ?", k.AppID)`,
					new:  `d.conn(ctx).Select("id").Where("id = ?", k.AppID)`,
				},
			},
			tests: ownKeys,
		},
		{
			name: "keys of another user's application are neither listed nor deleted",
			cuts: []cut{
				{
					file: apps,
					old:  `apps := ofAppOwner(d.conn(ctx).Model(&appRow{}).Select("id"), ownerID)`,
					new:  `apps := d.conn(ctx).Model(&appRow{}).Select("id")`,
				},
			},
			tests: ownKeys,
		},
		{
			name: "the key of another user's application beside a token",
			cuts: []cut{{
				file: developers,
				old:  "byKey.App.ID != \"\" && byKey.App.ID != byToken.App.ID",
				new:  "byKey.App.ID == \"?\"",
			}},
			tests: []testName{serverTest("TestDeveloperApplications", "key beside a token")},
		},
		// A token of one API is never found in the other: the control is that
		// an unknown token is refused.
		{
			name: "a portal token on the developer API",
			cuts: []cut{
				{
					file: developers,
					old:  "TrimSpace(token)); err != nil {\n",
					new:  "TrimSpace(token)); err != nil {\n\t\treturn integrations.Caller{App: integrations.App{ID: \"stranger\", Plan: integrations.Free}, Scopes: integrations.Scopes()}, nil\n",
				},
			},
			tests: []testName{serverTest("TestDeveloperAPI_Authentication", "missing and invalid credentials")},
		},
		{
			name: "a developer token or key on the portal API",
			cuts: []cut{
				{
					file: admission,
					old:  "Identity.Authenticate(ctx, strings.TrimSpace(token))\n\tif err != nil {\n\t\treturn auth.Actor{}, err",
					new:  "Identity.Authenticate(ctx, strings.TrimSpace(token))\n\tif err != nil {\n\t\treturn auth.Actor{Seeker: true}, nil",
				},
			},
			tests: []testName{{server, "TestPortal_DeveloperCredentials_Refused/sqlite+embedded+memory"}},
		},
		{name: "keys of a deleted application are deleted, and looked up with the application and its owner", cuts: []cut{
			{
				file: "migrations/integrations/0001_init.sql",
				old:  "app_id       UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,\n    name         TEXT",
				new:  "app_id       UUID        NOT NULL,\n    name         TEXT",
			},
			{file: apps, old: "JOIN apps AS a ON a.id = k.app_id", new: "LEFT JOIN apps AS a ON a.id = k.app_id"},
		}, tests: []testName{storageTest("integrations/keys/deleted application")}},
		{
			name: "keys of an inactive account",
			cuts: []cut{{
				file: "modules/integrations/service.go",
				old:  "if err == nil && !isActive {",
				new:  "if err != nil && !isActive {",
			}},
			tests: ofAccount,
		},
		{name: "tokens of a deleted application are deleted, and looked up with the application", cuts: []cut{
			{
				file: "migrations/integrations/0001_init.sql",
				old:  "app_id     UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,\n    user_id    UUID        NOT NULL,",
				new:  "app_id     UUID        NOT NULL,\n    user_id    UUID        NOT NULL,",
			},
			{file: grants, old: "JOIN apps AS a ON a.id = g.app_id", new: "LEFT JOIN apps AS a ON a.id = g.app_id"},
		}, tests: []testName{storageTest("integrations/grants/deleted application")}},
		{
			name: "codes and tokens of an inactive account",
			cuts: []cut{
				{
					file: oauth,
					old:  "isActive, err = s.Accounts.IsActive(ctx, t.Grant.UserID, t.App.OwnerID)\n\n\treturn t, isActive, err",
					new:  "_, err = s.Accounts.IsActive(ctx, t.Grant.UserID)\n\treturn t, true, err",
				},
			},
			tests: ofAccount,
		},
		{
			name: "applications to another organization are not listed",
			cuts: []cut{
				{
					file: "adapters/gormdb/hiring_applications.go",
					old:  `q.Where("organization_id = ?", v.OrganizationID)`,
					new:  `q.Where("(organization_id = ? OR 1 = 1)", v.OrganizationID)`,
				},
			},
			tests: ownSight,
		},
		{
			name: "applications of another jobseeker are not listed",
			cuts: []cut{
				{
					file: "adapters/gormdb/hiring_applications.go",
					old:  `q.Where("applicant_id = ?", v.ApplicantID)`,
					new:  `q.Where("(applicant_id = ? OR 1 = 1)", v.ApplicantID)`,
				},
			},
			tests: ownSight,
		},
		{
			name: "applications are listed only with the permission to view them",
			cuts: []cut{{
				file: "modules/hiring/service.go",
				old:  "if by.May(auth.ApplicationsView) {",
				new:  "if by.OrganizationID != \"\" {",
			}},
			tests: []testName{serverTest("TestDeveloperApplications", "GET /api/v1/applications")},
		},
		{
			name: "webhooks about an application go only to users who may see it",
			cuts: []cut{
				{
					file: "modules/integrations/visibility.go",
					old:  "return v.OrganizationID != \"\" && ",
					new:  "return true || v.OrganizationID != \"\" && ",
				},
			},
			tests: []testName{{"./modules/integrations", "TestFanOut_Application_OnlyAuthorizedReceive"}},
		},
		{
			name: "a quota is exact for 200 concurrent requests",
			cuts: []cut{{
				file: "adapters/locallimit/locallimit.go",
				old:  "if !record || !before.Allowed {",
				new:  "if !record {",
			}},
			tests: []testName{{"./adapters/locallimit", "TestLimiter/quotas/concurrent calls"}},
		},
		{
			name:  "the quota per minute in Redis",
			cuts:  []cut{{file: redisQuota, old: "n < most and ", new: ""}},
			tests: []testName{{"./adapters/redislimit", "TestLimiter/quotas/concurrent calls"}},
		},
		{
			name:  "the quota per day in Redis",
			cuts:  []cut{{file: redisQuota, old: "(mostADay == 0 or spent < mostADay)", new: "true"}},
			tests: []testName{{"./adapters/redislimit", "TestLimiter/quotas/concurrent calls"}},
		},
	}
}
