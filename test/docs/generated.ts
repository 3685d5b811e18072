// The reference pages that are made from the program: Cypher, errors, events, metrics, settings and
// the command line.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from '../../grammar/index.ts'
import { program } from '../../src/cli/program.ts'
import { agentKeyVariable, settingsFileVariable, tokenVariable } from '../../src/cli/settings/environment-variables.ts'
import { adviceOf, isAdvanced } from '../../src/cli/settings/setting-advice.ts'
import { internalErrorResponse, toErrorResponse } from '../../src/http/error-response.ts'
import { masterKeyVariable, nextMasterKeyVariable } from '../../src/identity/master-key.ts'
import type { ServiceError } from '../../src/kernel/errors.ts'
import { lint } from '../../src/language/lint/lint.ts'
import { lintRuleIds, lintRules } from '../../src/language/lint/rules.ts'
import { createServiceMetrics } from '../../src/ops/service-metrics.ts'
import {
  environmentNameOf,
  expectationOf,
  type SettingField,
  type SettingRule,
  type SettingSpec,
  settingFields,
  settingSections,
  settingSpecs,
} from '../../src/settings.ts'
import { knownDifferences } from '../judge/known-differences.ts'
import { NEO4J_VERSION } from '../support/counterparts/neo4j.ts'
import { exampleNames } from '../support/lint-names.ts'
import { cliSections } from './cli-page.ts'
import { constructsPage } from './cypher-constructs.ts'
import { editorSchemas } from './editor-schemas.ts'
import { eventSections } from './events-page.ts'
import { code, page, row, table } from './markdown.ts'
import { repositoryRoot } from './pages.ts'

/** Page by path. */
export const generatedPages: Readonly<Record<string, () => Promise<string>>> = {
  'docs/reference/cypher.md': async () => cypherPage(),
  'docs/reference/cypher-constructs.md': () => constructsPage(NOTE),
  'docs/reference/differences-from-neo4j.md': async () => differencesPage(),
  'docs/reference/errors.md': async () => errorsPage(),
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/cli.md': async () => page('Command line', cliSections(program(), NOTE)),
  'docs/reference/settings.md': async () => settingsPage(),
  'docs/reference/advanced-settings.md': async () => advancedSettingsPage(),
  'docs/reference/lint-rules.md': async () => lintRulesPage(),
  'docs/reference/events.md': async () => page('Events', eventSections(NOTE)),
  ...editorSchemas,
}

/** The known differences between the engine and Neo4j. */
function differencesPage(): string {
  const rights = {
    Verdigraph: 'Verdigraph follows the specification.',
    Neo4j: 'Neo4j follows the specification.',
    both: 'The specification leaves the choice.',
  } as const
  const sections = knownDifferences.flatMap(({ construct, right, why, example }) => [
    `## ${construct}`,
    `${why} ${rights[right]}`,
    [parse(example.query).ok ? '```cypher' : '```text', example.query, '```'].join('\n'),
    ...(example.graph === undefined ? [] : [`On the graph \`${example.graph}\`.`]),
    ...(example.parameters === undefined ? [] : [`With the parameters \`${JSON.stringify(example.parameters)}\`.`]),
  ])
  return page('Differences from Neo4j', [
    NOTE,
    `The tests run the same queries on Verdigraph and on Neo4j ${NEO4J_VERSION} (Cypher 5): the openCypher suite, the conditions of all scenarios, and random queries. These
differences are known. Each has an example that is run every time: an entry that no longer holds fails the tests.`,
    `Not compared: clauses that write, procedures, functions that are not deterministic, ids, indexes and administration. Elements that were captured have their own fields as properties in Neo4j:
\`external_id\`, \`type\` and \`is_identity\`.`,
    ...sections,
  ])
}

const NOTE = 'This page is generated from the program (`npm run golden`).'

/** A sample of each kind of failure, and when it occurs. A kind without an entry does not compile. */
const errorKinds: {
  readonly [Kind in ServiceError['kind']]: { sample: Extract<ServiceError, { kind: Kind }>; when: string }
} = {
  malformed: {
    sample: { kind: 'malformed', issues: ['subject.id: expected string, found nothing'] },
    when: 'The body is not JSON, or its shape, types or sizes are wrong.',
  },
  invalid: {
    sample: { kind: 'invalid', issues: ["missing or wrong input params, 'clearance'"] },
    when: 'The request is well-formed but cannot be carried out: a missing parameter, a policy that does not compile, a reference to nothing.',
  },
  'unknown-location': {
    sample: { kind: 'unknown-location', location: 'mars', parameter: 'region' },
    when: 'A location parameter names a location that the project does not have.',
  },
  unauthenticated: {
    sample: { kind: 'unauthenticated', message: 'an application agent key is required in the header X-SVC-ClientKey' },
    when: 'A credential is missing or not valid, or the agent lacks the permission of the endpoint. `WWW-Authenticate` has the reason why a token was refused.',
  },
  forbidden: {
    sample: { kind: 'forbidden', message: 'bearer token subject differs from requested subject' },
    when: 'The credential is valid, and what it asks for is not allowed.',
  },
  'step-up': {
    sample: {
      kind: 'step-up',
      advice: [{ error: 'insufficient_user_authentication', error_description: 'log in again' }],
    },
    when: 'A token filter is not true (RFC 9470). `WWW-Authenticate` carries its advice.',
  },
  'not-found': {
    sample: { kind: 'not-found', message: 'knowledge graph not found for this project' },
    when: 'The path, the document, the query or the graph of the project does not exist.',
  },
  'method-not-allowed': {
    sample: { kind: 'method-not-allowed', allow: ['GET', 'HEAD'] },
    when: 'The path exists with other methods.',
  },
  conflict: {
    sample: { kind: 'conflict', message: 'the project has another authorization policy named `edit-own`' },
    when: 'The name exists already, or another document depends on this one.',
  },
  'stale-etag': { sample: { kind: 'stale-etag' }, when: '`If-Match` names another revision than the current one.' },
  'too-large': {
    sample: { kind: 'too-large', limitBytes: 4_194_304 },
    when: 'The body is larger than `body_bytes_max`.',
  },
  'too-slow': {
    sample: { kind: 'too-slow', message: 'the body was not received within the time limit' },
    when: 'The body did not arrive within `body_time_ms`.',
  },
  'timed-out': {
    sample: { kind: 'timed-out', message: 'the time limit of 10000 ms is reached' },
    when: 'The work exceeded the time limit of the request.',
  },
  'unsupported-media-type': {
    sample: { kind: 'unsupported-media-type', message: 'content-type: expected application/json, found `text/plain`' },
    when: 'The body is not declared as JSON. On `/access/v1` this is 400.',
  },
  'unsupported-encoding': {
    sample: { kind: 'unsupported-encoding', message: 'content-encoding: expected none, found `gzip`' },
    when: 'The body is compressed.',
  },
  'too-many': {
    sample: { kind: 'too-many', retryAfterS: 1, perSecond: 100, wholeInS: 1 },
    when: 'The agent sends more requests than `agent_requests_per_s` allows.',
  },
  'too-many-bytes': {
    sample: {
      kind: 'too-many-bytes',
      message: 'body: the bodies of this caller exceed its share of body_total_bytes_max (67108864 bytes)',
      retryAfterS: 1,
    },
    when: 'The bodies that the caller is sending exceed its share of `body_total_bytes_max`: a quarter, or `body_bytes_max` if that is more.',
  },
  budget: {
    sample: { kind: 'budget', limit: 'steps', message: 'the limit of 20000000 steps is reached' },
    when: 'The request exceeded a limit on work or memory. Repeating it would exceed it again.',
  },
  'insufficient-storage': {
    sample: { kind: 'insufficient-storage', message: 'the storage is full' },
    when: 'The disk is full. Nothing was stored; reads continue.',
  },
  unavailable: {
    sample: { kind: 'unavailable', message: 'the knowledge graph of this project is unavailable', retryAfterS: 1 },
    when: 'The service cannot answer now: damaged data, no free lane, an issuer that cannot be reached, an opening graph. Repeat after `Retry-After`.',
  },
}

/** The language page of the grammar, as a page of `docs/`: with other links and without the marks of generated parts. */
function cypherPage(): string {
  return readFileSync(join(repositoryRoot, 'grammar', 'README.md'), 'utf8')
    .replace(/<!-- sample -->\n\n```\n/, '```text\n')
    .replace(/<!-- \/?\w+ -->\n*/g, '')
    .replaceAll('](../', '](../../')
}

function errorsPage(): string {
  const rows = Object.values(errorKinds)
    .map(({ sample, when }) => ({ response: toErrorResponse(sample as ServiceError), when }))
    .concat({ response: internalErrorResponse, when: 'An error in the service itself. The log has the details.' })
    .sort((a, b) => a.response.status - b.response.status)
    .map(({ response: { status, message, errors, headers }, when }) =>
      row([
        String(status),
        when,
        code(JSON.stringify(errors === undefined ? { message } : { message, errors })),
        Object.keys(headers ?? {})
          .map(code)
          .join(', '),
      ]),
    )
  return page('Errors', [
    `${NOTE} Every error has this body; messages and entries below are examples.`,
    'A denial is not an error: it is `{"decision": false}` with status 200, and a search without a result is an empty list. If a policy failed, or no policy names the action for the two types, `context.reason` of the denial or the search begins with `policy_failed (KIND):` or `no_policy:` ([kinds](../decisions/0006-authzen-status-codes-and-batches.md)).',
    'Clients may repeat requests after 429, 502, 503 and 504. Captures and deletions have the same effect when repeated.',
    table(['Status', 'When', 'Example', 'Headers'], rows),
    'The runtime itself answers requests that are not valid HTTP: a malformed request line, 431 if request line and headers exceed 16 KiB or are too ' +
      'many, another HTTP version. These answers have no `X-Request-ID` and no JSON.',
  ])
}

async function metricsPage(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-metrics-'))
  try {
    const metrics = createServiceMetrics(folder, '0.0.0', null)
    metrics.registerDecisionLog(() => 0)
    metrics.registerEvents(() => 0)
    metrics.registerSharedConfiguration(() => ({ ageS: 0, isLeading: true }))
    metrics.registerDatabases(() => ({ reachable: 0, unreachable: 0, queries: 0, failures: 0, pushed: 0, executed: 0 }))
    metrics.registerProcesses({ replaced: () => [], exits: () => [{ process: 'lane', cause: 'hung', count: 0 }] })
    metrics.registerShipping(() => ({ lagS: 0, generationAgeS: 0, objects: 0, bytes: 0, failures: 0 }))
    metrics.registerAudit(() => ({ unsealed: 0, sealed: 0, ageS: 0, signatureOverdueS: 0, signatureFailures: 0 }))
    metrics.registerBackups(() => ({
      jobs: [{ job: 'backup', overdueS: 0, failures: 0 }],
      newestS: 0,
      newestBytes: 0,
      provenS: 0,
    }))
    metrics.registerEventDelivery(async () => [
      {
        kind: 'streaming_broker',
        providers: 1,
        failing: 0,
        pending: 0,
        pendingBytes: 0,
        oldestS: 0,
        delivered: 0,
        rate: 0,
        failed: 0,
        deadLettered: 0,
        deadLettersDropped: 0,
        skipped: 0,
      },
    ])
    metrics.registerLanes(() => ({ ready: 0, running: 0, waiting: 0, killed: 0, answered: 0 }))
    metrics.requestRecorder('/access/v1/evaluation', 'POST')(200, 0.001)
    metrics.recordCapture('upsert_nodes', 1)
    const text = await metrics.text()
    const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => [name, kind]))
    const labels = (name: string): string => {
      const found = new Set<string>()
      for (const [, list] of text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{([^}]*)\\}`, 'gm'))) {
        for (const [, label] of (list as string).matchAll(/(\w+)="/g)) if (label !== 'le') found.add(label as string)
      }
      return [...found].map(code).join(', ')
    }
    const rows = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, help]) =>
      row([code(name as string), kinds.get(name as string) ?? '', labels(name as string), help as string]),
    )
    return page('Metrics', [
      `${NOTE} \`GET /metrics\` returns them in the text format of Prometheus. \`VERDIGRAPH_METRICS_ACCESS\` defines who may read them.`,
      'Metrics are counted in each process. With `--workers` each line has a label `worker`, and a scrape reads the worker that answers it. Counts of lanes are ' +
        'part of their worker.',
      'The metrics of event delivery are sums over all projects, equal in each worker: take one of them, not the sum. Counts begin again when a provider is removed.',
      table(['Metric', 'Type', 'Labels', 'Meaning'], rows),
      '`process_open_fds` and `process_max_fds` exist on Linux only.',
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The commands that do something: a group has only commands of its own. */
function lintRulesPage(): string {
  const sections = lintRuleIds.map((id) => {
    const { severity, summary, advice, canBeIgnored, example } = lintRules[id]
    const files = example.map(({ file, text }) => `\`${file}\`:\n\n\`\`\`text\n${text}\`\`\``)
    const findings = lint({ documents: example, names: exampleNames, actions: [] })
    const shown = findings.map(({ file, line, column, message }) => `- \`${file}:${line}:${column}\`: ${message}`)
    const how = canBeIgnored ? severity : `${severity}, cannot be ignored`
    return [`## ${id}`, `${summary} (${how})`, advice, ...files, `Finding:\n\n${shown.join('\n')}`].join('\n\n')
  })
  return page('Lint rules', [
    `${NOTE} The rules of \`verdigraph lint\` and of the language server. [Check and format policies](../how-to/check-policies.md) shows how to run them.`,
    'The examples are compared with data that has the node types `Person`, `Car` and `Team`, the label `Fast`, the relationship types `OWNS`, `KNOWS` and ' +
      '`MEMBER`, and the properties `age`, `wheels` and `app`.',
    table(
      ['Rule', 'Severity', 'Meaning'],
      lintRuleIds.map((id) => row([`[${id}](#${id})`, lintRules[id].severity, lintRules[id].summary])),
    ),
    ...sections,
  ])
}

function settingsPage(): string {
  const headings = ['Setting', 'Environment', 'Default', 'Values', 'Meaning', 'Change it']
  const specs: readonly SettingSpec[] = settingFields.map((field) => settingSpecs[field])
  const parts = settingParts(
    (field) => !isAdvanced(field),
    headings,
    (field) => [adviceOf(field) ?? ''],
  )
  const options = specs.filter(({ option }) => option !== undefined).map(({ name }) => code(`--${name}`))
  const listed = `${options.slice(0, -1).join(', ')} and ${options.at(-1)}`
  const keys = [
    [masterKeyVariable, 'The master key, which encrypts secrets at rest: 32 bytes in base64 or hexadecimal.'],
    [nextMasterKeyVariable, 'The next master key, for `rotate-master-key` with a key from the environment.'],
    [
      'CREDENTIALS_DIRECTORY',
      'A folder that may have the same keys in the files `verdigraph.master-key` and `verdigraph.master-key-next`. The service manager sets it.',
    ],
    [settingsFileVariable, 'The settings file; the same as the option `--settings`.'],
    [
      tokenVariable,
      'The admin token that `events tail`, `events test` and `lint` send to a running service. Without it they issue one from the data folder.',
    ],
    [
      agentKeyVariable,
      'The key of an application agent, with which `lint` and `lsp` read the data schema of a running service.',
    ],
  ] as const
  return page('Settings', [
    `${NOTE} \`npx verdigraph settings\` prints the settings with their current values and sources. Limits and details of tuning are on the page [advanced settings](advanced-settings.md).`,
    'A setting comes from, in this order: the command line, the environment, the settings file (a JSON object), the default. The names in the file ' +
      `are those of the first column, without dashes. ${listed} are also options of the command line. ` +
      'An unknown name is an error, in the file and in the environment. Empty variables are ignored, and so are the variables that Kubernetes creates ' +
      'for a service named `verdigraph`. A request that exceeds a limit fails with an error that names the limit.',
    ...parts,
    `## Only in the environment\n\n${table(
      ['Environment', 'Meaning'],
      keys.map(([name, meaning]) => row([code(name), meaning])),
    )}`,
    'Without a master key in the environment, the first start creates one in the file `master.key` of the data folder.',
  ])
}

function advancedSettingsPage(): string {
  return page('Advanced settings', [
    `${NOTE} \`npx verdigraph settings --all\` prints all settings with their current values and sources.`,
    'These limits protect the service, and these details of tuning suit most machines. Change one when an error, a metric or `verdigraph doctor` names it. ' +
      'They are set as all [settings](settings.md) are.',
    ...settingParts(isAdvanced, ['Setting', 'Environment', 'Default', 'Values', 'Meaning'], () => []),
  ])
}

/** A table for each section that has such settings. */
function settingParts(
  isListed: (field: SettingField) => boolean,
  headings: readonly string[],
  more: (field: SettingField) => readonly string[],
): string[] {
  return settingSections.flatMap((section) => {
    const fields = settingFields.filter((field) => settingSpecs[field].section === section && isListed(field))
    if (fields.length === 0) return []
    const rows = fields.map((field) => {
      const spec: SettingSpec = settingSpecs[field]
      return row([
        code(spec.option === undefined ? spec.name : `--${spec.name}`),
        code(environmentNameOf(spec)),
        spec.defaultText ?? (spec.default === '' ? '' : code(String(spec.default))),
        valuesOf(spec.rule),
        spec.description,
        ...more(field),
      ])
    })
    return [`## ${section}\n\n${table(headings, rows)}`]
  })
}

function valuesOf(rule: SettingRule): string {
  if (rule.kind !== 'integer') return expectationOf(rule)
  const max = rule.max === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : String(rule.max)
  return `${rule.min} to ${max}${rule.unit === '' ? '' : ` ${rule.unit}`}`
}
