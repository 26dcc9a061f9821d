// Deliveries to a server of Node, verified with the library of Standard Webhooks.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import type { webhooks } from "./developer.js";
import { Person, done } from "./shared.js";

// What comes, as the document describes it: its type says which event it is.
type Body<Name extends keyof webhooks> = webhooks[Name]["post"]["requestBody"]["content"]["application/json"];
type Event = { [Name in keyof webhooks]: Body<Name> }[keyof webhooks];

type Delivery = { headers: Record<string, string>; body: string };
const waiting: Delivery[] = [];
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  waiting.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(chunks).toString("utf8") });
  response.writeHead(204).end();
  server.emit("delivery");
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;

async function next(): Promise<Delivery> {
  while (waiting.length === 0) await once(server, "delivery", { signal: AbortSignal.timeout(20_000) });
  return waiting.shift()!;
}

const employer = await Person.employer();
const app = await employer.app({});
const hooks = `/api/developers/apps/${app.id}/webhooks`;
const made = await employer.ask("POST", hooks, { url, events: ["job.created", "application.submitted"] });
const hook = `${hooks}/${made.webhook.id}`;
const first = new Webhook(made.secret);

// A change, and what must not pass for it.
const posted = await employer.ask("POST", "/api/employers/jobs", { title: "Infirmière diplômée 🏥", description: "Days and nights.", location: "Leeds" });
const created = await next();
const event = first.verify(created.body, created.headers) as Event;
assert(event.type === "job.created");
assert.deepEqual([event.data.id, event.data.job?.title, event.data.test], [posted.id, "Infirmière diplômée 🏥", undefined]);
const refused = (headers: Record<string, string>, body = created.body, by = first) => assert.throws(() => by.verify(body, headers), { name: "WebhookVerificationError" });
refused(created.headers, created.body.replace("Days", "Nights"));
refused({ ...created.headers, "webhook-id": "another" });
refused({ ...created.headers, "webhook-timestamp": String(Number(created.headers["webhook-timestamp"]) - 1) });
refused({ ...created.headers, "webhook-timestamp": String(Number(created.headers["webhook-timestamp"]) - 400) });
refused(created.headers, created.body, new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));

// While the secret changes, both verify; what was signed before, the old one alone.
const second = new Webhook((await employer.ask("POST", `${hook}/secret`)).secret);
await employer.ask("POST", `${hook}/test`, { type: "application.submitted" });
const test = await next();
for (const webhook of [first, second]) {
  const event = webhook.verify(test.body, test.headers) as Event;
  assert(event.type === "application.submitted");
  assert.deepEqual([event.data.status, event.data.test], ["pending", true]);
}
refused(test.headers, test.body + " ", second);
refused(created.headers, created.body, second);

done("deliveries verify");
