// The table of floors as data, and the checker that reads imports, draws the graph and names every arrow that breaks it.

export interface SourceText {
  /** From the top of the checkout: `src/pdp/evaluate.ts`. */
  readonly path: string
  readonly text: string
}

export interface Import {
  /** A path from the top of the checkout for relative imports, else the name of the package (`zod`, `node:fs`). */
  readonly target: string
  readonly line: number
}

export interface RuleViolation {
  readonly kind: 'arrow' | 'circle' | 'orphan' | 'word' | 'homeless'
  /** `src/pdp/evaluate.ts:3 → src/http/error-response.ts`. */
  readonly where: string
  /** The sentence of the table that it breaks. */
  readonly sentence: string
}

interface LayerRule {
  /** Path prefixes or whole paths; a file lives in the first room that matches. */
  readonly holds: readonly string[]
  /** Prefixes (ending in `/`) and whole paths of the checkout, and package names (`node:` for all of them). */
  readonly may: readonly string[]
  readonly sentence: string
  /** Words that have no place in this room, outside comments. */
  readonly never?: readonly { readonly word: RegExp; readonly why: string }[]
}

const engineDoors = [
  'src/engine/graph.ts',
  'src/engine/conditions.ts',
  'src/engine/condition-rows.ts',
  'src/engine/store.ts',
  'src/engine/errors.ts',
  'src/engine/value/',
]
const sharedShapes = [
  'src/config/kind.ts',
  // Two features keep what they make of their kinds in step with the configuration, and in one way.
  'src/config/per-project-cache.ts',
  // What a project's mapping says of a location, and the words in which one that it lacks is refused.
  'src/config/db-connection.ts',
  'src/config/validate.ts',
  'src/kernel/caller.ts',
  // The port to the graphs of a project: types only.
  'src/store/tenancy/project-graphs.ts',
  'src/events/event.ts',
  'src/audit/record.ts',
]
const feature = ['grammar/diagnostic.ts', 'src/kernel/', ...engineDoors, ...sharedShapes, 'zod']
const features = [
  'policy',
  'pdp',
  'context-query',
  'capture',
  'trust',
  'pip',
  'identity',
  'config',
  'events',
  'audit',
  'matching',
  'graph-statistics',
]
const everything = [
  'grammar/',
  'src/',
  'data/',
  'package.json',
  'node:',
  'bun',
  'zod',
  're2js',
  'commander',
  'jose',
  'pino',
  'picocolors',
  'lmdb',
]

const synchronous = [
  { word: /\bawait\b|\basync\b/, why: 'the engine is synchronous' },
  { word: /\bDate\.now\b|\bnew Date\(\)/, why: 'the engine reads no clock of its own' },
  { word: /\bMath\.random\b/, why: 'the engine draws no random numbers' },
  { word: /\bconsole\./, why: 'the engine writes no log' },
]

export const layerRules: readonly LayerRule[] = [
  {
    holds: ['grammar/'],
    may: ['grammar/', 'chevrotain'],
    sentence: 'grammar imports chevrotain and itself, and nothing of src',
  },
  {
    holds: ['src/kernel/'],
    may: ['src/kernel/'],
    sentence: 'kernel imports nothing but itself',
  },
  {
    holds: ['src/engine/value/'],
    may: [
      'src/engine/value/',
      'src/engine/errors.ts',
      'src/engine/store.ts',
      'src/engine/exec/execution-context.ts',
      'src/kernel/',
      're2js',
    ],
    sentence:
      'engine/value knows values, the store port and what a run carries, and re2js, a matcher in linear time; no query, plan or operator',
    // rand() is the language's own word, and this floor is where its functions live.
    never: synchronous.filter(({ why }) => !why.includes('random')),
  },
  {
    holds: ['src/engine/bind/'],
    may: [
      'src/engine/bind/',
      'src/engine/value/',
      'src/engine/errors.ts',
      'src/engine/store.ts',
      'grammar/',
      'src/kernel/',
    ],
    sentence: 'engine/bind imports the grammar and values: of the store it knows the words, and no plan or operator',
    never: synchronous,
  },
  {
    holds: ['src/engine/plan/', 'src/engine/optimize/'],
    may: [
      'src/engine/plan/',
      'src/engine/optimize/',
      'src/engine/bind/',
      'src/engine/value/',
      'src/engine/errors.ts',
      'grammar/',
      'src/kernel/',
    ],
    sentence:
      'engine/plan and engine/optimize never import exec or store.ts: a plan is data, only exec touches a snapshot',
    never: synchronous,
  },
  {
    holds: ['src/engine/'],
    may: ['src/engine/', 'grammar/', 'src/kernel/'],
    sentence: 'engine imports grammar, kernel and itself: no zod, no node:*, no lmdb, no floor above',
    never: synchronous,
  },
  {
    holds: ['src/store/format/'],
    may: ['src/store/format/', 'src/engine/store.ts', 'src/engine/value/', 'src/kernel/'],
    sentence: 'store/format encodes values and keys: no LMDB, no files',
  },
  {
    holds: ['src/store/process/'],
    may: ['src/store/process/', 'src/store/data-folder.ts', 'src/kernel/', 'node:', 'bun:sqlite', 'bun:ffi'],
    sentence: 'store/process coordinates processes on one data folder: locks and counters, no graph',
  },
  {
    holds: ['src/store/pages/'],
    may: ['src/store/pages/', 'src/store/data-folder.ts', 'src/kernel/', 'node:'],
    sentence: 'store/pages reads the pages of an LMDB file without LMDB',
  },
  {
    holds: ['src/store/lmdb/'],
    may: [
      'src/store/lmdb/',
      'src/store/format/',
      'src/store/process/',
      'src/store/pages/',
      'src/store/data-folder.ts',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
      'lmdb',
      'node:',
    ],
    sentence: 'store/lmdb wraps lmdb: only format, process and pages lie below it',
  },
  {
    holds: ['src/store/cache/'],
    may: [
      'src/store/cache/',
      'src/store/lmdb/',
      'src/store/format/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
    ],
    sentence: 'store/cache imports format and lmdb',
  },
  {
    holds: ['src/store/integrity/'],
    may: [
      'src/store/integrity/',
      'src/store/lmdb/',
      'src/store/pages/',
      'src/store/format/',
      'src/store/data-folder.ts',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
      'node:',
    ],
    sentence: 'store/integrity imports format, pages and lmdb: it checks what the graph is made of',
  },
  {
    holds: ['src/store/documents/'],
    may: ['src/store/documents/', 'src/store/lmdb/', 'src/store/format/', 'src/store/data-folder.ts', 'src/kernel/'],
    sentence: 'store/documents imports format and lmdb, and nothing of graphs',
  },
  {
    holds: ['src/store/graph/'],
    may: [
      'src/store/graph/',
      'src/store/cache/',
      'src/store/integrity/',
      'src/store/lmdb/',
      'src/store/format/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
    ],
    sentence: 'store/graph imports format, lmdb, cache and integrity; never tenancy',
  },
  {
    holds: ['src/store/tenancy/'],
    may: [
      'src/store/tenancy/',
      'src/store/graph/',
      'src/store/integrity/',
      'src/store/lmdb/',
      'src/store/data-folder.ts',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/kernel/',
      'node:',
    ],
    sentence: 'store/tenancy maps projects to graphs: it is the top of the store',
  },
  {
    holds: ['src/store/'],
    may: [],
    sentence: 'files directly in store import nothing of it',
  },
  {
    holds: ['src/upstream/'],
    may: ['src/upstream/', 'src/kernel/', 'ipaddr.js', 'node:dns/promises'],
    sentence:
      'upstream imports kernel, ipaddr.js to tell addresses apart and node:dns to find them: whoever calls out comes here, and it knows nobody',
  },
  {
    holds: ['src/policy/'],
    may: ['src/policy/', ...feature],
    sentence:
      'a feature imports kernel, the engine’s doors, zod and the shared shapes; policy imports no other feature',
  },
  {
    holds: ['src/pdp/'],
    may: ['src/pdp/', 'src/policy/', ...feature],
    sentence:
      'a feature imports kernel, the engine’s doors, zod and the shared shapes; of the features pdp imports policy alone',
  },
  {
    holds: ['src/context-query/'],
    may: ['src/context-query/', 'src/policy/', 'src/pip/', 'src/identity/', ...feature],
    sentence:
      'a feature imports kernel, the engine’s doors, zod and the shared shapes; ciq also policy, pip and identity',
  },
  {
    holds: ['src/identity/'],
    may: ['src/identity/', 'src/upstream/client.ts', ...feature, 'jose', 'node:crypto', 'node:fs', 'node:path'],
    sentence:
      'identity imports kernel, the engine’s doors, the shared shapes, zod, jose, node:crypto, node:fs for the master key, and upstream to ask issuers; no other feature',
  },
  {
    holds: ['src/config/'],
    may: ['src/config/', ...feature, 'immutable'],
    sentence:
      'a feature imports its own folder, kernel, the engine’s doors, zod and the shared shapes; config also immutable; identity imports config, and config never imports identity',
  },
  {
    holds: ['src/pip/'],
    may: ['src/pip/', 'src/upstream/client.ts', ...feature],
    sentence:
      'pip imports kernel, the engine’s doors, the shared shapes, zod, and upstream to ask for values; no other feature',
  },
  {
    holds: features
      .filter((name) => !['policy', 'pdp', 'context-query', 'pip', 'identity', 'config'].includes(name))
      .map((name) => `src/${name}/`),
    may: ['(own folder)', ...feature],
    sentence:
      'a feature imports its own folder, kernel, the engine’s doors, zod and the shared shapes; never http, store or another feature',
  },
  {
    holds: ['src/http/'],
    may: [
      'src/http/',
      'src/mcp/',
      'src/kernel/',
      ...features.map((name) => `src/${name}/`),
      'zod',
      'bun',
      'node:crypto',
    ],
    sentence:
      'http imports features, mcp (whose endpoint is a route like any other), kernel and zod, and node:crypto for the policy of a page; never engine or store',
  },
  {
    holds: ['src/lanes/'],
    may: [
      'src/lanes/',
      'src/http/dispatch.ts',
      'src/http/lane-job.ts',
      'src/http/route.ts',
      'src/kernel/',
      'bun:ffi',
      'node:fs',
      'node:net',
      'node:os',
    ],
    sentence:
      'lanes run requests in helper processes: they import the port of the dispatcher, kernel, node:net and bun:ffi; never a feature',
  },
  {
    holds: ['src/transfer/'],
    may: [
      'src/transfer/',
      'src/store/',
      'src/engine/store.ts',
      'src/engine/value/',
      'src/config/db-connection.ts',
      'src/config/kind.ts',
      'src/kernel/',
      'tar-stream',
      'zod',
      'node:',
    ],
    sentence:
      'transfer moves data folders and what is in them: it imports store, values, kernel, zod and tar-stream, and of the configuration what a project says of its locations; never http, policies or decisions',
  },
  {
    holds: ['src/mcp/session/'],
    may: [
      'src/mcp/session/',
      'src/mcp/server-info.ts',
      'src/mcp/subscriptions.ts',
      'src/mcp/method.ts',
      'src/mcp/resources.ts',
      'src/mcp/protocol-versions.ts',
      'src/mcp/json-rpc.ts',
      'src/mcp/tools.ts',
      'src/kernel/',
      'node:crypto',
    ],
    sentence: 'each of the two revisions of MCP is sealed: it knows what they share, and nothing of the other',
  },
  {
    holds: ['src/mcp/stateless/'],
    may: [
      'src/mcp/stateless/',
      'src/mcp/server-info.ts',
      'src/mcp/subscriptions.ts',
      'src/mcp/method.ts',
      'src/mcp/resources.ts',
      'src/mcp/protocol-versions.ts',
      'src/mcp/json-rpc.ts',
      'src/mcp/tools.ts',
      'src/kernel/',
    ],
    sentence: 'each of the two revisions of MCP is sealed: it knows what they share, and nothing of the other',
  },
  {
    holds: ['src/mcp/'],
    may: ['src/mcp/', 'src/kernel/', ...features.map((name) => `src/${name}/`), 'zod', 'node:crypto'],
    sentence: 'mcp imports features, kernel and zod, and node:crypto for ids that nobody guesses; never http',
  },
  {
    holds: ['src/ops/'],
    may: ['src/ops/', 'src/kernel/', 'node:crypto', 'node:fs', 'node:fs/promises', 'node:path', 'pino'],
    sentence: 'ops (log, metrics, certificate) imports kernel, node and pino: features hand it what it writes',
  },
  {
    holds: ['src/settings.ts'],
    may: [],
    sentence: 'settings import nothing: a table of what can be set; where each was said is found by cli',
  },
  {
    holds: ['src/index.ts'],
    may: ['grammar/', 'src/kernel/', 'src/engine/', 'src/store/'],
    sentence: 'the library door opens on engine and store: no features, no http, no zod',
  },
  {
    holds: ['src/app.ts', 'src/app/', 'src/runtime/', 'src/main.ts', 'src/cli/'],
    may: everything,
    sentence: 'the wiring knows everything',
  },
]

/** Files that nobody needs to import: a process or a package enters by them. */
export const entryPoints: readonly string[] = ['src/index.ts', 'src/main.ts', 'src/cli/build.ts']

/** Files that only proofs import: the other half of a contract, kept beside the half that it proves. */
export const testOnlyFiles: readonly string[] = [
  // parse(print(tree)) = tree
  'grammar/print.ts',
  // records, keys, both directions, labels, index and counts of a store agree
  'src/store/integrity/check-graph.ts',
]

/** What only the wiring may import, whatever a room's row says. */
const wiring: readonly string[] = ['src/app.ts', 'src/app/', 'src/runtime/', 'src/main.ts', 'src/cli/', 'src/index.ts']

/** Blanks comments, keeping every line where it was. */
export function withoutComments(text: string): string {
  let out = ''
  let at = 0
  // The last character that was code: tells a regular expression from a division.
  let before = ''
  while (at < text.length) {
    const two = text.slice(at, at + 2)
    const one = text[at] as string
    let end = at + 1
    let blank = false
    if (two === '//') {
      end = lineEnd(text, at)
      blank = true
    } else if (two === '/*') {
      const close = text.indexOf('*/', at + 2)
      end = close < 0 ? text.length : close + 2
      blank = true
    } else if (one === "'" || one === '"') {
      end = Math.min(closing(text, at, one), lineEnd(text, at))
    } else if (one === '`') {
      end = closing(text, at, one)
    } else if (one === '/' && (before === '' || '(,=:[!&|?{};>'.includes(before))) {
      end = regexEnd(text, at)
    }
    const piece = text.slice(at, end)
    out += blank ? piece.replace(/[^\n]/g, ' ') : piece
    if (!blank && piece.trim() !== '') before = piece.trimEnd().at(-1) as string
    at = end
  }
  return out
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

function closing(text: string, from: number, quote: string): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === quote) return at + 1
  }
  return text.length
}

function regexEnd(text: string, from: number): number {
  const end = lineEnd(text, from)
  let inClass = false
  for (let at = from + 1; at < end; at++) {
    const one = text[at]
    if (one === '\\') at++
    else if (one === '[') inClass = true
    else if (one === ']') inClass = false
    else if (one === '/' && !inClass) return at + 1
  }
  return from + 1
}

const importForms: readonly RegExp[] = [
  // import … from '…', export … from '…', type-only ones and those over many lines included
  /(?<![\w.$'"`])(?:import|export)\b[^'"`;()]*?\bfrom\s*(['"])([^'"\n]+)\1/g,
  // import '…'
  /(?<![\w.$'"`])import\s*(['"])([^'"\n]+)\1/g,
  // import('…'), require('…'), and types written as import('…').X
  /(?<![\w.$'"`])(?:import|require)\s*\(\s*(['"])([^'"\n]+)\1/g,
]

export function importsOf(source: SourceText): Import[] {
  const code = withoutComments(source.text)
  const found = new Map<string, Import>()
  for (const form of importForms) {
    for (const match of code.matchAll(form)) {
      const at = (match.index ?? 0) + match[0].length
      const line = code.slice(0, at).split('\n').length
      const target = resolve(source.path, match[2] as string)
      if (!found.has(target)) found.set(target, { target, line })
    }
  }
  return [...found.values()]
}

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) {
    if (specifier.startsWith('node:')) return specifier
    const parts = specifier.split('/')
    return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string)
  }
  const path = from.split('/').slice(0, -1)
  for (const part of specifier.split('/')) {
    if (part === '..') path.pop()
    else if (part !== '.') path.push(part)
  }
  return path.join('/')
}

const covers = (pattern: string, path: string): boolean =>
  pattern === path || (/[/:]$/.test(pattern) && path.startsWith(pattern))

function mayImport(room: LayerRule, from: string, target: string): boolean {
  const own = `${from.split('/').slice(0, 2).join('/')}/`
  if (wiring.some((pattern) => covers(pattern, target)) && !wiring.some((pattern) => covers(pattern, from)))
    return false
  return room.may.some((pattern) => covers(pattern === '(own folder)' ? own : pattern, target))
}

/** Everything that breaks the table; empty when the house stands. */
export function violationsIn(sources: readonly SourceText[]): RuleViolation[] {
  const findings: RuleViolation[] = []
  const graph = new Map<string, Import[]>()
  for (const source of sources) graph.set(source.path, importsOf(source))

  for (const source of sources) {
    const room = layerRules.find(({ holds }) => holds.some((pattern) => covers(pattern, source.path)))
    if (room === undefined) {
      findings.push({ kind: 'homeless', where: source.path, sentence: 'every file lives in a room of the table' })
      continue
    }
    for (const { target, line } of graph.get(source.path) as Import[]) {
      if (!mayImport(room, source.path, target)) {
        findings.push({ kind: 'arrow', where: `${source.path}:${line} → ${target}`, sentence: room.sentence })
      }
    }
    const code = room.never === undefined ? '' : withoutComments(source.text)
    for (const { word, why } of room.never ?? []) {
      const at = code.search(word)
      if (at >= 0) {
        const line = code.slice(0, at).split('\n').length
        findings.push({ kind: 'word', where: `${source.path}:${line}`, sentence: why })
      }
    }
  }

  for (const circle of circlesIn(graph)) {
    findings.push({
      kind: 'circle',
      where: [...circle, circle[0]].join(' → '),
      sentence: 'no circle, type-only imports included',
    })
  }

  const imported = new Set([...graph.values()].flat().map(({ target }) => target))
  for (const { path } of sources) {
    if (!imported.has(path) && !entryPoints.includes(path) && !testOnlyFiles.includes(path)) {
      findings.push({ kind: 'orphan', where: path, sentence: 'every file but a door is imported by another' })
    }
  }
  return findings
}

/** Tarjan's strongly connected components of more than one file, and files that import themselves. */
function circlesIn(graph: ReadonlyMap<string, readonly Import[]>): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (path: string): void => {
    order.set(path, order.size)
    low.set(path, order.get(path) as number)
    stack.push(path)
    for (const { target } of graph.get(path) ?? []) {
      if (!graph.has(target)) continue
      if (!order.has(target)) visit(target)
      // A finished component is off the stack and no part of a circle with this file.
      if (stack.includes(target)) low.set(path, Math.min(low.get(path) as number, low.get(target) as number))
    }
    if (low.get(path) !== order.get(path)) return
    const component = stack.splice(stack.indexOf(path))
    const self = graph.get(path)?.some(({ target }) => target === path) ?? false
    if (component.length > 1 || self) circles.push(component)
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return circles
}
