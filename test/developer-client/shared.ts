// What the programs share: people of the portal, and the browser, which whoever
// runs the program plays.
import assert from "node:assert/strict";
import { createInterface } from "node:readline/promises";

const given = process.argv[2];
assert(given, "usage: PROGRAM.js http://…");
export const address: string = given;

const unique = process.hrtime.bigint().toString(36);
const password = "Night-shift-1";
let people = 0;

type Json = { data: any }; // what the portal's own client covers

export class Person {
  private constructor(
    readonly email: string,
    readonly id: string,
    private readonly token: string,
  ) {}

  static async seeker() {
    return Person.register("/api/auth/register", { name: "Niamh Byrne", userType: "jobseeker" });
  }

  static async employer() {
    return Person.register("/api/auth/register-employer", { name: "Asha Patel", companyName: "St Brigid’s Hospital" });
  }

  private static async register(path: string, more: object) {
    const email = `p${++people}-${unique}@example.org`;
    const { data } = await call("", "POST", path, { email, password, ...more });
    return new Person(email, data.user.id, data.accessToken);
  }

  async ask(method: string, path: string, body?: object): Promise<any> {
    return (await call(this.token, method, path, body)).data;
  }

  /** An application of this person, with its client_id and what it authenticates with. */
  async app(more: object): Promise<{ id: string; secret: string }> {
    const made = await this.ask("POST", "/api/developers/apps", { name: "Ward Finder", ...more });
    return { id: made.app.id, secret: made.clientSecret };
  }
}

async function call(token: string, method: string, path: string, body?: object): Promise<Json> {
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(address + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  assert(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return (await answer.json()) as Json;
}

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the person visit the address, agree, and come back to the address returned. */
export async function visit(who: Person, url: URL): Promise<URL> {
  console.log(`visit ${who.email} ${password} ${url}`);
  const { value } = await answers.next();
  return new URL(String(value));
}

export function done(what: string): never {
  console.log(what);
  process.exit(0);
}
