#!/bin/sh
# Checks the policies: their format, mistakes, and tests that reach every part of them. Needs no service.
set -eu
cd "$(dirname "$0")/.."
npx verdigraph fmt --check authz
npx verdigraph lint --strict authz
npx verdigraph test authz --min-coverage 100 --reporter junit --out reports/policies.xml
