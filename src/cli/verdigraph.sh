#!/bin/sh
# The bin of the package. Replaces itself (exec) with Bun, so that signals reach the server. The program is src/main.ts in a clone,
# and one file in an installed package.
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
# Printed commands name the program as its user does.
export _VERDIGRAPH_STARTED_AS="$0"
program=$root/src/main.ts
install='npm install'
if [ ! -e "$program" ]; then
  program=$root/dist/server/verdigraph-server.js
  install='npm install bun'
fi
# In a clone the packages are below the root. In an installed package they are in a folder above it, under pnpm above the link.
search() {
  folder=$1
  while :; do
    bun=$folder/node_modules/bun/bin/bun.exe
    if [ -e "$bun" ]; then
      # Until the install script of `bun` has run, the file is a text that starts with `echo`.
      line=
      IFS= read -r line <"$bun" || true
      case $line in
        'echo '*)
          echo 'verdigraph: Bun is not ready, because its install script did not run (npm --ignore-scripts, or pnpm). Run:' >&2
          echo "  (cd '$folder/node_modules/bun' && node install.js)" >&2
          exit 1
          ;;
      esac
      shift
      exec "$bun" "$program" "$@"
    fi
    [ "$folder" = / ] && break
    folder=$(dirname "$folder")
  done
}
search "$root" "$@"
search "$(cd "$(dirname "$0")" && pwd)" "$@"
if command -v bun >/dev/null 2>&1; then exec bun "$program" "$@"; fi
echo 'verdigraph: the service needs Bun, which is not installed. Run:' >&2
echo "  $install" >&2
exit 1
