// Writes portal.ts, the types of the operations in portal.json that front ends of a job board use.
// Examples, headers of responses, and operations of moderators and developers are left out.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const { openapi, info, paths, components } = JSON.parse(await readFile("portal.json", "utf8"));

const document = withoutExamples({
  openapi,
  info,
  paths: Object.fromEntries(Object.entries(paths).filter(([path]) => !/^\/api\/(admin|developers)\//.test(path))),
  components: { schemas: {}, responses: {} },
});
addReferenced(document.paths);

const types = astToString(await openapiTS(document));
await writeFile("portal.ts", types.replace(/^( {4})+/gm, (indent) => "  ".repeat(indent.length / 4)));

function withoutExamples(node) {
  if (Array.isArray(node)) return node.map(withoutExamples);
  if (node === null || typeof node !== "object") return node;
  const kept = Object.entries(node).filter(([key]) => !["example", "examples", "headers"].includes(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutExamples(value)]));
}

/** Adds the components that the node refers to, and those that they refer to. */
function addReferenced(node) {
  if (node === null || typeof node !== "object") return;
  const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(node.$ref) ?? [];
  if (kind && !document.components[kind][name]) {
    document.components[kind][name] = withoutExamples(components[kind][name]);
    addReferenced(document.components[kind][name]);
  }
  Object.values(node).forEach(addReferenced);
}
