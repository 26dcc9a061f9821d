#!/usr/bin/env bash
# Generates the types of the client and compares them with the committed ones.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v npm >/dev/null; then
	echo "check.sh: npm is not installed; the TypeScript client is NOT checked"
	[ -z "${CI:-}" ] # in CI that is an error
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json .npmrc generate.mjs "$work"
(cd "$work" && npm ci --silent --ignore-scripts --no-audit --no-fund)
go run ../../../bootstrap/cmd/locum openapi portal >"$work/portal.json"
(cd "$work" && npm run --silent generate)
if [ "${1:-}" = write ]; then
	cp "$work/portal.ts" .
elif ! cmp "$work/portal.ts" portal.ts; then
	echo "check.sh: portal.ts differs from the OpenAPI document; run make client and commit the result"
	exit 1
fi
echo "portal.ts is up to date"
