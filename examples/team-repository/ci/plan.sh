#!/bin/sh
# Shows what a deployment would change: documents, and who gains and who loses. VERDIGRAPH_URL: the service; without it, the data
# folder. VERDIGRAPH_TOKEN: a token for the service. Arguments go to `verdigraph plan`, for example --param clearance=2.
set -eu
cd "$(dirname "$0")/.."
npx verdigraph plan authz --create ${VERDIGRAPH_URL:+--url "$VERDIGRAPH_URL"} "$@"
