// The whole code flow with openid-client: metadata, PKCE, the answer with its
// issuer and state, the exchange, calls, refreshing, introspection, revocation.
import assert from "node:assert/strict";
import * as client from "openid-client";
import { Person, address, done, visit } from "./shared.js";

const owner = await Person.employer();
const user = await Person.seeker();

/** Says whether the library refused an answer for that reason. */
const because = (why: RegExp) => (e: unknown) => e instanceof client.ClientError && e.cause instanceof Error && why.test(e.cause.message);

async function flow(redirect: string, app: { id: string; secret: string }, registered: string, authentication?: client.ClientAuth) {
  const config = await client.discovery(new URL(address), app.id, undefined, authentication, { algorithm: "oauth2", execute: [client.allowInsecureRequests] });
  const metadata = config.serverMetadata();
  assert.equal(metadata.issuer, address);
  assert(metadata.supportsPKCE());
  assert.equal(metadata.authorization_response_iss_parameter_supported, true);

  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const ask = async () =>
    visit(
      user,
      client.buildAuthorizationUrl(config, {
        redirect_uri: redirect,
        scope: "jobs:read applications:read",
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
      }),
    );
  const back = await ask();
  assert(back.href.startsWith(redirect), `${back} is not at ${registered}`);
  assert.equal(back.searchParams.get("iss"), address);

  // An answer of another server, or to another question, goes nowhere.
  const expected = { pkceCodeVerifier: verifier, expectedState: state };
  const mixedUp = new URL(back);
  mixedUp.searchParams.set("iss", "https://attacker.example");
  await assert.rejects(client.authorizationCodeGrant(config, mixedUp, expected), because(/"iss"/));
  await assert.rejects(client.authorizationCodeGrant(config, back, { ...expected, expectedState: "another" }), because(/"state"/));

  const tokens = await client.authorizationCodeGrant(config, back, expected);
  assert.equal(tokens.token_type, "bearer");
  assert.equal(tokens.expires_in, 900);
  assert.equal(tokens.scope, "jobs:read applications:read");
  const read = async (token: string) => client.fetchProtectedResource(config, token, new URL("/api/v1/applications", address), "GET");
  const list = await read(tokens.access_token);
  assert.equal(list.status, 200);
  assert.deepEqual(((await list.json()) as { data: unknown[] }).data, []);

  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token!, { scope: "applications:read" });
  assert.equal(fresh.scope, "applications:read");
  assert.notEqual(fresh.refresh_token, tokens.refresh_token);
  assert.equal((await read(fresh.access_token)).status, 200);
  await assert.rejects(client.refreshTokenGrant(config, fresh.refresh_token!, { scope: "applications:write" }), { error: "invalid_scope" });

  if (authentication) {
    const known = await client.tokenIntrospection(config, fresh.access_token);
    assert.deepEqual([known.active, known.client_id, known.sub, known.scope], [true, app.id, user.id, "applications:read"]);
  }
  await client.tokenRevocation(config, fresh.refresh_token!);
  if (authentication) {
    assert.deepEqual(await client.tokenIntrospection(config, fresh.access_token), { active: false });
  }
  await assert.rejects(read(fresh.access_token), (e) => e instanceof client.WWWAuthenticateChallengeError && e.status === 401 && e.cause[0]?.scheme === "bearer");
  await assert.rejects(client.refreshTokenGrant(config, fresh.refresh_token!), { error: "invalid_grant" });

  // A code of another verifier is refused.
  const again = await ask();
  await assert.rejects(client.authorizationCodeGrant(config, again, { ...expected, pkceCodeVerifier: client.randomPKCECodeVerifier() }), { error: "invalid_grant" });
}

const web = "https://wardfinder.example.com/callback";
const confidential = await owner.app({ redirectUris: [web] });
await flow(web, confidential, web, client.ClientSecretBasic(confidential.secret));
await flow(web, confidential, web, client.ClientSecretPost(confidential.secret));
const device = await owner.app({ redirectUris: ["http://127.0.0.1/callback"], public: true });
await flow("http://127.0.0.1:49152/callback", device, "any port of the loopback address");

const wrong = await client.discovery(new URL(address), confidential.id, undefined, client.ClientSecretBasic("wrong"), { algorithm: "oauth2", execute: [client.allowInsecureRequests] });
await assert.rejects(client.tokenIntrospection(wrong, "x"), (e) => e instanceof client.WWWAuthenticateChallengeError && e.status === 401 && e.cause[0]?.scheme === "basic");

done("the code flow works");
