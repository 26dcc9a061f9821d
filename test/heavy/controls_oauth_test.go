package heavy

const (
	oauthServer = "adapters/fiberhttp/oauth/oauth.go"
	oauth       = "modules/integrations/oauth.go"
	oauthPages  = "adapters/fiberhttp/oauth/authorize.go"
	signInPages = "adapters/fiberhttp/pages/session.go"
	pages       = "adapters/fiberhttp/pages/pages.go"
	developers  = "adapters/developer/authenticator.go"
	apps        = "adapters/gormdb/integrations_apps.go"
	grants      = "adapters/gormdb/oauth.go"
	gateway     = "adapters/fiberhttp/server.go"
	admission   = "adapters/web/admission.go"
	redisQuota  = "adapters/redislimit/redislimit.go"

	server = "./test/e2e"
)

// onServer returns a test on a running server with SQLite.
func onServer(test, part string) testName {
	return testName{server, test + "/sqlite+embedded+memory/" + part}
}

func onOAuth(part string) testName { return onServer("TestOAuthAttacks", part) }

// stored returns a conformance test of the storage on SQLite.
func stored(part string) testName {
	return testName{"./adapters/gormdb", "TestStorage_Conformance/sqlite/" + part}
}

// signIns returns the controls of OAuth and of the pages.
func signIns() []removal {
	ownClient := []testName{onOAuth("code and refresh token of another client")}
	ownTokens := []testName{onServer("TestOAuth", "introspection of own tokens only")}
	ownAddress := []testName{onOAuth("unregistered redirect URI")}
	noDowngrade := []testName{onOAuth("missing PKCE and plain")}
	verified := []testName{onOAuth("wrong or missing verifier")}
	codeOnce := []testName{onOAuth("code replay revokes its tokens")}
	refreshOnce := []testName{onOAuth("refresh token replay revokes the family")}
	noFrame := []testName{onOAuth("frames are refused")}
	return []removal{
		{"code and refresh replay revoke what they gave", []cut{{oauth, "if isReused = t.Token.UsedAt != nil; isReused {", "if isReused = t.Token.UsedAt != nil && kind == \"\"; isReused {"}}, []testName{codeOnce[0], refreshOnce[0]}},
		{"code and refresh replay: what is spent is refused", []cut{
			{oauth, "if isReused = t.Token.UsedAt != nil; isReused {", "t.Token.UsedAt = nil\n\t\tisActive = true\n\t\tif isReused {"},
			{oauth, "} else if !isMarked {", "} else if !isMarked && kind == \"\" {"}}, []testName{codeOnce[0], refreshOnce[0]}},
		{"code and refresh replay at once: what is spent is not spent again", []cut{{grants, "hash = ? AND grant_id = ? AND used_at IS NULL", "hash = ? AND grant_id = ?"}}, []testName{stored("integrations/grants/concurrent use")}},
		{"refresh replay: a rotation ends the access token before it", []cut{{grants, "grant_id = ? AND kind = 'access' AND used_at IS NULL", "1 = 0 AND grant_id = ?"}}, []testName{onOAuth("rotation revokes the previous access token")}},
		{"client mix-up: a code and a refresh token are their client's", []cut{{oauth, "if t.App.ID != client.ID {\n\t\t\treturn ErrInvalidGrant", "if false {\n\t\t\treturn ErrInvalidGrant"}}, ownClient},
		{"client mix-up: the client's secret", []cut{{oauth, "[]byte(auth.HashSecret(secret))) == 1", "[]byte(auth.HashSecret(secret))) < 2"}}, ownClient},
		{"client mix-up: introspection and revocation are of one's own tokens", []cut{{oauth, "isActive && t.App.ID == client.ID, err", "isActive, err"}}, ownTokens},
		{"client mix-up: the answer says who gives it", []cut{{oauthPages, `q.Set("iss", s.issuer)`, ""}}, []testName{onServer("TestOAuth", "the whole flow with golang.org/x/oauth2")}},
		{"client mix-up: a client authenticates in one way", []cut{{oauthServer, `case form.Get("client_secret") != "":`, `case form.Get("client_secret") == "?":`}}, []testName{onOAuth("two authentication methods are refused")}},
		{"client mix-up: a client has one name", []cut{{oauthServer, `case named != "" && named != clientID:`, `case named == "?":`}}, []testName{onOAuth("two authentication methods are refused")}},
		{"redirect variants at authorization", []cut{{oauth, "if err != nil || !r.App.RedirectsTo(uri) {", "if err != nil || !strings.HasPrefix(uri, r.App.RedirectURIs[0]) {"}}, ownAddress},
		{"redirect variants of a loopback address", []cut{{"modules/integrations/app.go", "return ip.String() + rest, true", "_ = rest\n\treturn ip.String(), true"}}, []testName{onOAuth("loopback redirect URI with any port")}},
		{"redirect variants at the exchange", []cut{{oauth, `if t.Token.RedirectURI != "" && t.Token.RedirectURI != redirectURI {`, `if t.Token.RedirectURI == "" && t.Token.RedirectURI != redirectURI {`}}, ownAddress},
		{"PKCE downgrade to none", []cut{{oauth, `params.Get("code_challenge_method") != s256 || !s256Challenge.MatchString(r.challenge):`,
			`r.challenge != "" && (params.Get("code_challenge_method") != s256 || !s256Challenge.MatchString(r.challenge)):`}}, noDowngrade},
		{"PKCE downgrade to plain", []cut{{oauth, `params.Get("code_challenge_method") != s256 || `, ""}}, noDowngrade},
		{"PKCE: a verifier is asked for at all", []cut{{oauth, "if !matchesChallenge(verifier, t.Token.Challenge) {", `if verifier != "" && !matchesChallenge(verifier, t.Token.Challenge) {`}}, verified},
		{"PKCE: the verifier is wrong", []cut{{oauth, "subtle.ConstantTimeCompare([]byte(expected), []byte(challenge)) == 1", `expected != ""`}}, verified},
		{"scope widening by a refresh", []cut{{oauth, "if !areKnown || !Covers(t.Token.Scopes, scopes) {", "if !areKnown {"}}, []testName{onOAuth("refresh cannot widen scopes")}},
		{"scope widening at authorization", []cut{{oauth, "case !areKnown:", `case !areKnown && mode == "?":`}}, []testName{onOAuth("unknown and missing scopes")}},
		{"scope widening: a consent is for what it was given for", []cut{{oauth, "if err == nil && (!exists || !Covers(c.Scopes, r.Scopes)) {", "if err == nil && (!exists || len(c.Scopes) == 0) {"}}, []testName{onServer("TestOAuth", "consent is remembered until more is requested")}},
		{"scope widening: a token does what its scopes say", []cut{{admission, `if r.Scope != "" && !call.Caller.May(r.Scope) {`, `if r.Scope == "?" {`}}, []testName{onServer("TestDeveloperRoleMatrix", "GET /api/v1/applications")}},
		{"CSRF on the consent: the form's secret", []cut{{oauthPages, "if !s.renderer.ValidCSRF(c) {", "if c == nil {"}},
			[]testName{onOAuth("consent requires the CSRF token of the session")}},
		{"CSRF on every form: from our own pages alone", []cut{{pages, "if !f.sameOrigin(c) {", "if !f.sameOrigin(c) && c.Method() == \"\" {"}}, []testName{
			onOAuth("consent requires the CSRF token of the session"),
			onServer("TestBrowserSessions", "sign-in from another site"),
			onServer("TestBrowserSessions", "sign-out and new password end the session"),
			onServer("TestDashboard_Applications_WithoutScript", "other user's app, other site, signed out")}},
		{"CSRF on every form: a program has to have read it", []cut{{pages, `c.Cookies(f.cookieName()) == "" || f.ValidCSRF(c)`, "true"}}, []testName{onServer("TestOAuth", "client without an Origin needs the CSRF token")}},
		{"CSRF on the consent: who made the link does not fill in the form", []cut{{gateway, "s.app.Server().FormValueFunc = ", "_ = "}}, []testName{onServer("TestOAuth", "form values in the link")}},
		{"clickjacking: frame-ancestors", []cut{{pages, "frame-ancestors 'none'; ", ""}}, noFrame},
		{"clickjacking: X-Frame-Options", []cut{{pages, `c.Set(fiber.HeaderXFrameOptions, "DENY")`, ""}}, noFrame},
		{"open redirect of next", []cut{{signInPages, "\t\treturn \"\"\n\t}\n\treturn next", "\t\treturn next\n\t}\n\treturn next"}}, []testName{onOAuth("open redirect after a sign-in")}},
	}
}

// credentials returns the controls of keys, tokens, quotas and of the visibility
// of applications to programs.
func credentials() []removal {
	ownApps := []testName{stored("integrations/apps/other owner")}
	ownKeys := []testName{stored("integrations/keys/other owner")}
	ofAccount := []testName{{"./modules/integrations", "TestAuthenticate_InactiveAccount_Unauthorized"}}
	ownSight := []testName{stored("hiring/application lists/visibility and filters")}
	return []removal{
		{"a revoked key opens nothing", []cut{{apps, "f.CreatedBefore).Delete(&apiKeyRow{})", `f.CreatedBefore).Where("1 = 0").Delete(&apiKeyRow{})`}}, []testName{{"./modules/integrations", "TestAuthenticateKey_DeletedOrMistyped_Unauthorized"}}},
		{"another's application is not found", []cut{{apps, `ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id)`, `d.locked(ctx).Where("id = ?", id)`}}, ownApps},
		{"another's application gets no key", []cut{{apps, `ofAppOwner(d.conn(ctx).Select("id"), ownerID).Where("id = ?", k.AppID)`, `d.conn(ctx).Select("id").Where("id = ?", k.AppID)`}}, ownKeys},
		{"keys of another's application are neither listed nor deleted", []cut{{apps, `apps := ofAppOwner(d.conn(ctx).Model(&appRow{}).Select("id"), ownerID)`, `apps := d.conn(ctx).Model(&appRow{}).Select("id")`}}, ownKeys},
		{"the key of another's application beside a token", []cut{{developers, "byKey.App.ID != \"\" && byKey.App.ID != byToken.App.ID", "byKey.App.ID == \"?\""}}, []testName{onServer("TestDeveloperApplications", "key beside a token")}},
		// A token of one API is never found in the other: the control is that
		// an unknown token is refused.
		{"a token of the portal for programs", []cut{{developers, "TrimSpace(token)); err != nil {\n", "TrimSpace(token)); err != nil {\n\t\treturn integrations.Caller{App: integrations.App{ID: \"stranger\", Plan: integrations.Free}, Scopes: integrations.Scopes()}, nil\n"}},
			[]testName{onServer("TestDeveloperAPI_Authentication", "strangers")}},
		{"a token or a key of programs on the portal", []cut{{admission, "Identity.Authenticate(ctx, strings.TrimSpace(token))\n\tif err != nil {\n\t\treturn auth.Actor{}, err", "Identity.Authenticate(ctx, strings.TrimSpace(token))\n\tif err != nil {\n\t\treturn auth.Actor{Seeker: true}, nil"}},
			[]testName{{server, "TestPortal_DeveloperCredentials_Refused/sqlite+embedded+memory"}}},
		{"a deleted application's keys: they go along, and are looked for with it and its owner", []cut{
			{"migrations/integrations/0001_init.sql", "app_id       UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,\n    name         TEXT", "app_id       UUID        NOT NULL,\n    name         TEXT"},
			{apps, "JOIN apps AS a ON a.id = k.app_id", "LEFT JOIN apps AS a ON a.id = k.app_id"}}, []testName{stored("integrations/keys/deleted application")}},
		{"an inactive account's keys", []cut{{"modules/integrations/service.go", "if err == nil && !isActive {", "if err != nil && !isActive {"}}, ofAccount},
		{"a deleted application's tokens: they go along, and are looked for with it", []cut{
			{"migrations/integrations/0001_init.sql", "app_id     UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,\n    user_id    UUID        NOT NULL,", "app_id     UUID        NOT NULL,\n    user_id    UUID        NOT NULL,"},
			{grants, "JOIN apps AS a ON a.id = g.app_id", "LEFT JOIN apps AS a ON a.id = g.app_id"}}, []testName{stored("integrations/grants/deleted application")}},
		{"an inactive account's codes and tokens", []cut{{oauth, "isActive, err = s.Accounts.IsActive(ctx, t.Grant.UserID, t.App.OwnerID)\n\treturn t, isActive, err", "_, err = s.Accounts.IsActive(ctx, t.Grant.UserID)\n\treturn t, true, err"}}, ofAccount},
		{"applications to another organization are not listed", []cut{{"adapters/gormdb/hiring_applications.go", `q.Where("organization_id = ?", v.OrganizationID)`, `q.Where("(organization_id = ? OR 1 = 1)", v.OrganizationID)`}}, ownSight},
		{"applications of another jobseeker are not listed", []cut{{"adapters/gormdb/hiring_applications.go", `q.Where("applicant_id = ?", v.ApplicantID)`, `q.Where("(applicant_id = ? OR 1 = 1)", v.ApplicantID)`}}, ownSight},
		{"applications are listed for who may view them", []cut{{"modules/hiring/service.go", "if by.May(auth.ApplicationsView) {", "if by.OrganizationID != \"\" {"}}, []testName{onServer("TestDeveloperApplications", "GET /api/v1/applications")}},
		{"of an application hear those alone who may see it", []cut{{"modules/integrations/visibility.go", "return v.OrganizationID != \"\" && ", "return true || v.OrganizationID != \"\" && "}}, []testName{{"./modules/integrations", "TestFanOut_Application_OnlyAuthorizedReceive"}}},
		{"a quota is exact for 200 at once", []cut{{"adapters/locallimit/locallimit.go", "if !record || !before.Allowed {", "if !record {"}}, []testName{{"./adapters/locallimit", "TestLimiter/quotas/concurrent calls"}}},
		{"a quota of a minute in Redis", []cut{{redisQuota, "n < most and ", ""}}, []testName{{"./adapters/redislimit", "TestLimiter/quotas/concurrent calls"}}},
		{"a quota of a day in Redis", []cut{{redisQuota, "(mostADay == 0 or spent < mostADay)", "true"}}, []testName{{"./adapters/redislimit", "TestLimiter/quotas/concurrent calls"}}},
	}
}
