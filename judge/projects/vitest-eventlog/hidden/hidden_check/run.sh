#!/bin/sh
# Checks a copy of the TypeScript sources: what else lies in src does not count.
set -e
rm -rf hidden_check/src
cp -R src hidden_check/src
find hidden_check/src -name '*.js' -exec rm -f {} +
exec npx vitest run --config hidden_check/vitest.config.ts
