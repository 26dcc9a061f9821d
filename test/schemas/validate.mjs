// Validates XML documents: node validate.mjs SCHEMA DOCUMENT…
import { readFile } from "node:fs/promises";
import { validateXML } from "xmllint-wasm";

const [schema, ...documents] = process.argv.slice(2);
const file = async (fileName) => ({ fileName, contents: await readFile(fileName, "utf8") });
const { errors } = await validateXML({
  schema: await readFile(schema, "utf8"),
  extension: schema.endsWith(".rng") ? "relaxng" : "schema",
  xml: await Promise.all(documents.map(file)),
});
for (const { rawMessage } of errors) console.error(rawMessage);
process.exitCode = errors.length > 0 ? 1 : 0;
