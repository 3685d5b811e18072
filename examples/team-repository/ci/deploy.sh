#!/bin/sh
# Makes the configuration of the project that of the files. VERDIGRAPH_URL: the service; without it, the data folder.
set -eu
cd "$(dirname "$0")/.."
npx verdigraph apply authz --create ${VERDIGRAPH_URL:+--url "$VERDIGRAPH_URL"}
