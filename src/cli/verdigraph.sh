#!/bin/sh
# The bin of the package. Replaces itself (exec) with the Bun that npm installed, so that signals reach the server.
set -e
self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
root=$(cd "$(dirname "$self")/../.." && pwd -P)
# In a checkout the packages are below the root. In an installed package they are hoisted to a folder above it.
folder=$root
while :; do
  if [ -x "$folder/node_modules/.bin/bun" ]; then
    exec "$folder/node_modules/.bin/bun" "$root/src/main.ts" "$@"
  fi
  [ "$folder" = / ] && break
  folder=$(dirname "$folder")
done
echo 'verdigraph: bun is not installed; run `npm install` first' >&2
exit 1
