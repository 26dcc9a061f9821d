#!/usr/bin/env bash
# Builds the style sheet of the pages and compares it with the committed one.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v npm >/dev/null; then
	echo "check.sh: npm is not installed; the style sheet is NOT checked"
	[ -z "${CI:-}" ] # in CI that is an error
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json .npmrc style.scss "$work"
cd "$work"
npm ci --silent --ignore-scripts --no-audit --no-fund
npx sass --style=compressed --no-source-map --load-path=node_modules style.scss style.css
cd - >/dev/null
if ! cmp "$work/style.css" ../style.css; then
	echo "check.sh: style.css is not what style.scss makes; run npm ci && npm run build and commit the result"
	exit 1
fi
echo "style.css is fresh"
