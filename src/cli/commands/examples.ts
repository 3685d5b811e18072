// Examples of each command, which its help shows. Tests run those of the commands that ask.
import type { Command } from 'commander'

/** By the path of the command. Commands that show examples of their own are not listed. */
const examples: Readonly<Record<string, readonly string[]>> = {
  serve: ['serve', 'serve --demo', 'serve --data /var/lib/verdigraph --host 0.0.0.0 --port 8080 --workers 4'],
  init: ['init', 'init --data /var/lib/verdigraph --json'],
  token: ['token', 'token --lifetime 3600 --json'],
  'demo-token': ['demo-token', 'demo-token --person erik'],
  'console-link': ['console-link', 'console-link --url https://authz.example.com --json'],
  health: ['health', 'health --url https://authz.example.com --json'],
  'metrics-token': [
    'metrics-token --file /etc/verdigraph/metrics-token',
    'metrics-token --file /etc/verdigraph/metrics-token --only',
  ],
  restart: ['restart', 'restart --data /var/lib/verdigraph --json'],
  settings: ['settings', 'settings --all', 'settings --settings verdigraph.json --json'],
  'rotate-master-key': ['rotate-master-key --data /var/lib/verdigraph'],
  backup: ['backup --out backup.tar', 'backup --data /var/lib/verdigraph --to s3://backups/authz --recipient age1…'],
  restore: [
    'restore --in backup.tar --data restored',
    'restore --from s3://backups/authz --identity key.txt --master-key master.key --data restored',
    'restore --from s3://backups/authz --at 2026-11-23T03:00:00Z --data restored',
  ],
  'backups moments': ['backups moments --from s3://backups/authz', 'backups moments --from /var/backups/authz --json'],
  'backups identity': ['backups identity --out backup-key.txt'],
  'backups list': ['backups list --from s3://backups/authz', 'backups list --from /var/backups/authz --json'],
  drill: ['drill --in backup.tar', 'drill --from s3://backups/authz --identity key.txt --questions questions.ndjson'],
  export: ['export --out project.ndjson', 'export --out all.ndjson --audit-logs'],
  import: ['import --in project.ndjson --dry-run', 'import --in project.ndjson'],
  copy: [
    'copy --from /var/lib/verdigraph --to bolt://graph.internal:7687/authz --password-file password',
    'copy --from bolt://graph.internal:7687/authz --to /var/lib/verdigraph --project cars',
    'copy --from /var/lib/verdigraph --connection connection.json --switch',
  ],
  verify: ['verify', 'verify --data /var/lib/verdigraph --json'],
  migrate: ['migrate --data /var/lib/verdigraph --check', 'migrate --data /var/lib/verdigraph'],
  doctor: ['doctor', 'doctor --data /var/lib/verdigraph --json'],
  lint: ['lint authz', 'lint authz --schema schema.json --strict', 'lint authz --sarif > lint.sarif'],
  fmt: ['fmt authz', 'fmt --check authz', 'fmt - < query.cypher'],
  lsp: ['lsp', 'lsp --schema schema.json'],
  apply: ['apply authz --dry-run', 'apply authz --url https://authz.example.com --prune'],
  pull: ['pull authz --project cars', 'pull authz --url https://authz.example.com --force'],
  plan: ['plan authz', 'plan authz --url https://authz.example.com --json'],
  check: [
    'check Person:ann drive Car:c1 --folder authz --param min=4',
    'check Person:ann wash Car:c1 --json',
    'check Person:ann sign Car:c1 --token-claims \'{"email":"ann@example.com"}\'',
  ],
  why: ['why Person:ann wash Car:c1', 'why Person:bob drive Car:c2 --param min=4'],
  who: ['who wash Car:c1', 'who wash Car:c1 --type Person --limit 10'],
  what: ['what Person:bob wash', 'what Person:bob wash --type Car --json'],
  actions: ['actions Person:ann Car:c1 --param min=4'],
  query: [
    "query 'MATCH (p:Person)-[:OWNS]->(c:Car) RETURN p, c.wheels AS wheels'",
    "query 'MATCH (c:Car) WHERE c.wheels >= $min RETURN c' --param min=4 --format csv",
    "query 'MATCH (p:Person)-[:OWNS]->(c) RETURN count(c) AS cars' --profile",
    'query - --json < query.cypher',
  ],
  shell: ['shell', 'shell --folder authz', 'shell < queries.cypher'],
  'policy list': ['policy list', 'policy list --json'],
  'policy show': ['policy show drive'],
  'context set': [
    'context set local --folder authz --use',
    "context set prod --url https://authz.example.com --project cars --token '${env:PROD_TOKEN}'",
    'context set prod --key-stdin < agent.key',
  ],
  'context use': ['context use local'],
  'context list': ['context list', 'context list --json'],
  'context show': ['context show', 'context show prod'],
  'context delete': ['context delete prod'],
  tail: ['tail --url https://authz.example.com --denied', 'tail --subject Person:ann --count 10 --json'],
  replay: ['replay 01J00000000000000000000000 --url https://authz.example.com'],
  bench: [
    'bench --generated --seed 7',
    'bench --generated --http --rate 2000 --html bench.html',
    'bench --data /var/lib/verdigraph --questions questions.ndjson',
    'bench --generated --compare openfga=/usr/local/bin/openfga --json',
  ],
  completion: [
    'completion bash > ~/.local/share/bash-completion/completions/verdigraph',
    'completion zsh > ~/.zfunc/_verdigraph',
    'completion fish > ~/.config/fish/completions/verdigraph.fish',
  ],
  'events tail': [
    'events tail --project gid:01J… --type "svc.audit.capture.*"',
    'events tail --project gid:01J… --oldest --count 10 --json',
  ],
  'events test': [
    'events test --project gid:01J… --type svc.audit.capture.upsert.node --context captureLabel=Car --send',
  ],
  'events dead-letters list': ['events dead-letters list --project gid:01J… --provider main'],
  'events dead-letters show': ['events dead-letters show 42 --project gid:01J…'],
  'events dead-letters resend': ['events dead-letters resend 42 43 --project gid:01J…'],
  'events dead-letters delete': ['events dead-letters delete --project gid:01J… --provider main'],
  'audit verify': [
    'audit verify audit.tar',
    'audit verify https://authz.example.com/audit/v1/tlog/01J…/newest --key audit.pub',
  ],
  'audit witness': ['audit witness --state witness --init', 'audit witness audit.tar --state witness --key audit.pub'],
  'audit rotate-key': ['audit rotate-key'],
  'audit acknowledge-loss': ["audit acknowledge-loss 01J…/kqmzvhduwe --reason 'disk 2 was replaced'"],
  'audit export': [
    'audit export --project gid:01J… --out audit.tar',
    'audit export --project gid:01J… --out may.tar --from 2026-05-01T00:00:00Z',
  ],
  'audit keys': ['audit keys --project gid:01J…'],
  'audit hash': ['audit hash --project gid:01J… < values.json'],
  'trust run': ['trust run', 'trust run --profile gid:01J… --json'],
  'match run': ['match run --pipeline gid:01J…', 'match run --pipeline gid:01J… --cutoff 0.9 --json'],
  'match status': ['match status --pipeline gid:01J…'],
  'match report': ['match report --pipeline gid:01J… --format html --out report.html'],
  'match decide': ['match decide --pipeline gid:01J… --source a1 --target b7 --same --comment "same address"'],
  'match decisions': ['match decisions --pipeline gid:01J…'],
  'match undecide': ['match undecide --pipeline gid:01J… --decision gid:01J…'],
}

/** The examples of a command, without the name of the program; empty: it is a group, or shows its own. */
export function examplesOf(path: string): readonly string[] {
  return examples[path] ?? []
}

/** Adds the examples to the help of all commands. `name`: how the help names the program. */
export function addExamples(command: Command, name: string): void {
  const add = (one: Command, path: string): void => {
    const lines = examplesOf(path)
    if (lines.length > 0)
      one.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${name} ${line}`).join('\n')}`)
    for (const inner of one.commands) add(inner, `${path} ${inner.name()}`)
  }
  for (const one of command.commands) add(one, one.name())
}
