// A typed client of Locum's portal API: the jobs, accounts and applications of a job board.
import createFetchClient, { type Client, type ClientOptions } from "openapi-fetch";
import type { components, paths } from "./portal.js";

export type { components, operations, paths } from "./portal.js";

/** The types of requests and responses, for example Schemas["ListingView"]. */
export type Schemas = components["schemas"];

export interface Options extends ClientOptions {
  /** Returns the access token of the signed-in user, or undefined for guests. */
  accessToken?: () => string | undefined;
}

/** Returns a client of the server at baseUrl. Its methods return { data, error, response } and do not throw on error statuses. */
export function createClient({ accessToken, ...options }: Options): Client<paths> {
  const client = createFetchClient<paths>(options);
  client.use({
    onRequest({ request }) {
      const token = accessToken?.();
      if (token) request.headers.set("Authorization", `Bearer ${token}`);
      return request;
    },
  });
  return client;
}
