// Every operation of the developer's document, with a client that is generated
// from it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import createClient, { type Middleware } from "openapi-fetch";
import * as oauth from "openid-client";
import type { paths } from "./developer.js";
import { Person, address, done, visit } from "./shared.js";

const called = new Set<string>();
const document = JSON.parse(readFileSync("developer.json", "utf8")) as { paths: Record<string, Record<string, { operationId: string }>> };
const succeeded: Middleware = {
  onResponse({ schemaPath, request, response }) {
    const id = document.paths[schemaPath]?.[request.method.toLowerCase()]?.operationId;
    assert(id, `${request.method} ${schemaPath} is not in the document`);
    if (response.ok) called.add(id);
  },
};

function client(headers: Record<string, string>) {
  const made = createClient<paths>({ baseUrl: address, headers });
  made.use(succeeded);
  return made;
}

// An employer posts; their application reads with a key.
const employer = await Person.employer();
const word = `Quokka${process.hrtime.bigint().toString(36)}`;
const posted = await employer.ask("POST", "/api/employers/jobs", {
  title: `Registered Nurse, ${word}`, description: "Days and nights.", location: "Leeds", contractType: "permanent", employmentType: "part-time",
  salary: { min: 36000, max: 44000 }, questions: [{ id: "pin", text: "Your NMC PIN?", required: true }],
});
const redirect = "https://wardfinder.example.com/callback";
const app = await employer.app({ redirectUris: [redirect] });
const key = (await employer.ask("POST", `/api/developers/apps/${app.id}/keys`, { name: "Production" })).apiKey as string;
const reader = client({ "X-API-Key": key });

const found = await reader.GET("/api/v1/jobs", {
  params: {
    query: {
      keywords: word, location: "Bradford", radius: 25, employment_type: "part-time", contract_type: "permanent", salary_min: 30000, salary_max: 50000,
      remote: false, posted_after: "2020-01-01", sort: "distance", page: 1, limit: 10,
    },
  },
});
assert(found.data, JSON.stringify(found.error));
assert.deepEqual(found.data.pagination, { page: 1, limit: 10, total: 1, total_pages: 1 });
const hit = found.data.data[0];
assert(hit);
assert.equal(hit.id, posted.id);
assert(typeof hit.distance_miles === "number" && hit.distance_miles > 5 && hit.distance_miles < 15);
assert.equal(hit.location.city, "Leeds");
assert.match(found.response.headers.get("RateLimit") ?? "", /;r=\d+/);

const suggested = await reader.GET("/api/v1/jobs/suggest", { params: { query: { q: "nurs" } } });
assert(suggested.data, JSON.stringify(suggested.error));
assert.equal(suggested.data.data[0]?.kind, "role");

const job = await reader.GET("/api/v1/jobs/{job_id}", { params: { path: { job_id: posted.id } } });
assert(job.data, JSON.stringify(job.error));
assert.deepEqual(job.data.data.questions, [{ id: "pin", text: "Your NMC PIN?", required: true }]);
const { distance_miles: _, matched, relaxed, ...same } = hit;
assert(matched.length > 0);
assert.equal(relaxed, false);
assert.deepEqual(job.data.data, same);
const cached = await reader.GET("/api/v1/jobs/{job_id}", { params: { path: { job_id: posted.id } }, headers: { "If-None-Match": job.response.headers.get("ETag") ?? "" }, parseAs: "text" });
assert.equal(cached.response.status, 304);

// A clinician lets it apply in their name.
const clinician = await Person.seeker();
const config = await oauth.discovery(new URL(address), app.id, undefined, oauth.ClientSecretBasic(app.secret), { algorithm: "oauth2", execute: [oauth.allowInsecureRequests] });
const verifier = oauth.randomPKCECodeVerifier();
const back = await visit(clinician, oauth.buildAuthorizationUrl(config, {
  redirect_uri: redirect, scope: "applications:read applications:write", code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256", state: "s",
}));
const tokens = await oauth.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier, expectedState: "s" });
const writer = client({ Authorization: `Bearer ${tokens.access_token}` });

const unanswered = await writer.POST("/api/v1/applications", { body: { job_id: posted.id } });
assert.equal(unanswered.error?.code, "invalid_parameters");
assert.equal(unanswered.error?.errors[0]?.field, "answers");
const body = { job_id: posted.id, candidate_id: clinician.id, cover_letter: "Six years of critical care.", answers: [{ question_id: "pin", answer: "12A3456E" }] };
const params = { header: { "Idempotency-Key": word } };
const applied = await writer.POST("/api/v1/applications", { params, body });
assert(applied.data, JSON.stringify(applied.error));
assert.equal(applied.response.status, 201);
const again = await writer.POST("/api/v1/applications", { params, body });
assert.equal(again.response.headers.get("Idempotency-Replayed"), "true");
assert.deepEqual(again.data, applied.data);
const twice = await writer.POST("/api/v1/applications", { body });
assert.equal(twice.error?.code, "already_applied");

// Both sides read it, and nobody else.
const application = applied.data;
const id = application.data.id;
for (const side of [writer, reader]) {
  const list = await side.GET("/api/v1/applications", { params: { query: { job_id: posted.id, candidate_id: clinician.id, status: "pending", submitted_after: "2020-01-01", limit: 5 } } });
  assert.deepEqual(list.data?.data.map((a) => a.id), [id], JSON.stringify(list.error));
  const one = await side.GET("/api/v1/applications/{id}", { params: { path: { id } } });
  assert.deepEqual(one.data, application);
}
const byKey = await reader.POST("/api/v1/applications", { body });
assert.equal(byKey.response.status, 403);
assert.equal(byKey.error?.code, "insufficient_scope");
const stranger = await client({}).GET("/api/v1/jobs");
assert.equal(stranger.error?.status, 401);

const all = Object.values(document.paths).flatMap((item) => Object.values(item).map((operation) => operation.operationId));
assert.deepEqual([...called].sort(), all.sort(), "operations that no call of this program succeeded at");
done(`all ${all.length} operations work`);
