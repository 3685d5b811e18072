# Shell functions (bash) for the examples of the documentation. Start a service (`npm start`), then in the top folder of the
# repository: `. docs/playground/shell.sh`. It creates a project for your experiments and sets URL, ADMIN, PROJECT,
# APPLICATION, AGENT, KEY and ISSUER_KEY. You may set before: URL (default http://127.0.0.1:8080), VERDIGRAPH_DATA (the data
# folder, default verdigraph-data) and ADMIN (an admin token, default: a new one of that data folder). TOKEN is unset, because a
# user token of another project is not valid in the new one.

URL=${URL:-http://127.0.0.1:8080}
ADMIN=${ADMIN:-$(npx verdigraph token --json | node -p 'JSON.parse(fs.readFileSync(0)).token')}
export URL ADMIN
unset TOKEN
if [ -n "${KEY:-}" ]; then
  echo 'KEY and PROJECT now belong to a new project. For the demo again, paste the export lines of npm start again.' >&2
fi
eval "$(node docs/playground/setup.mjs)"

# send METHOD PATH BODY CURL_OPTION…: prints the body of the answer, and before it the status unless that is 2xx.
send() {
  local method=$1 path=$2 body=$3 answer
  shift 3
  answer=$(curl -sS -X "$method" "$URL$path" ${body:+-H 'Content-Type: application/json' -d "$body"} -w '\n%{http_code}' "$@")
  case ${answer##*$'\n'} in 2*) ;; *) printf '%s ' "${answer##*$'\n'}" ;; esac
  printf '%s\n' "${answer%$'\n'*}"
}

# agent METHOD PATH [BODY]: a request with the agent key, and with the user token in TOKEN if there is one.
agent() { send "$1" "$2" "${3:-}" -H "X-SVC-ClientKey: $KEY" ${TOKEN:+-H "Authorization: Bearer $TOKEN"}; }

# post PATH BODY: the same with POST.
post() { agent POST "$1" "$2"; }

# admin METHOD PATH [BODY]: a request to the configuration interface.
admin() { send "$1" "/configs/v1/$2" "${3:-}" -H "Authorization: Bearer $ADMIN"; }

# field NAME: a member of the JSON document on the standard input; without it, the document on the error stream.
field() { node -p "const text = fs.readFileSync(0, 'utf8'); JSON.parse(text).$1 ?? console.error(text)"; }

# quote: the standard input as a JSON string.
quote() { node -p 'JSON.stringify(fs.readFileSync(0, "utf8"))'; }

# policy NAME [STATUS]: stores the policy document on the standard input; prints the answer only if it was refused.
policy() {
  local answer
  answer=$(admin POST authorization-policies "{\"project_id\":\"$PROJECT\",\"name\":\"$1\",\"status\":\"${2:-ACTIVE}\",\"policy\":$(quote)}")
  case $answer in '{'*) ;; *) printf '%s\n' "$answer" ;; esac
}

# query NAME POLICY_NAME: stores the query document on the standard input, under the context policy of that name.
query() {
  local answer policy_id
  policy_id=$(admin GET "authorization-policies/$2?project_id=$PROJECT" | field id)
  answer=$(admin POST knowledge-queries \
    "{\"project_id\":\"$PROJECT\",\"name\":\"$1\",\"status\":\"ACTIVE\",\"policy_id\":\"$policy_id\",\"query\":$(quote)}")
  case $answer in '{'*) ;; *) printf '%s\n' "$answer" ;; esac
}

# edge TYPE ID RELATION TYPE ID: a relationship as JSON, for the body of a capture.
edge() { printf '{"source":{"type":"%s","external_id":"%s"},"type":"%s","target":{"type":"%s","external_id":"%s"}}' "$@"; }

# token_of SUBJECT [CLAIMS]: a user token of the playground's issuer, with further claims as JSON.
token_of() { node docs/playground/sign-token.mjs "$@"; }
