// The architecture rules as data: the lists and words that layers.txt names, entry points, and files that only tests import.
// import-graph.ts checks them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LayerRule, readLayers } from './layers.ts'

const engineEntryPoints = [
  'src/engine/read-graph.ts',
  'src/engine/budget.ts',
  'src/engine/graph.ts',
  'src/engine/conditions.ts',
  'src/engine/condition-rows.ts',
  'src/engine/definitions/uses.ts',
  'src/engine/store.ts',
  'src/engine/errors.ts',
  'src/engine/impossible-literals.ts',
  'src/engine/open-exclusions.ts',
  'src/engine/parameter-places.ts',
  'src/engine/unknown-symbols.ts',
  'src/engine/value-joins.ts',
  'src/engine/value/',
]
const sharedTypes = [
  'src/config/kind.ts',
  'src/config/define-kind.ts',
  // Two features update what they derive from their kinds when the configuration changes, both through this cache.
  'src/config/per-project-cache.ts',
  // The mapping of a project's locations, and the error for a location that is not in it.
  'src/config/db-connection.ts',
  'src/config/validate.ts',
  // The schema of objects with any members, a component of the OpenAPI document.
  'src/config/json-schema.ts',
  // The schemas of the names in nodes and relationships, the same in all features.
  'src/config/element-schemas.ts',
  'src/kernel/request/caller.ts',
  // The model of a project, which every text of Cypher is compiled with.
  'src/model/',
  // The port to the graphs of a project: types only.
  'src/store/tenancy/project-graphs.ts',
]
const feature = ['grammar/diagnostic.ts', 'src/kernel/', ...engineEntryPoints, ...sharedTypes, 'zod']
const synchronous = [
  { word: /\bawait\b|\basync\b/, why: 'the engine is synchronous' },
  { word: /\bDate\.now\b|\bnew Date\(\)/, why: 'the engine reads no clock of its own' },
  { word: /\bMath\.random\b/, why: 'the engine generates no random numbers' },
  { word: /\bconsole\./, why: 'the engine writes no log' },
  { word: /^(export )?let /m, why: 'the engine has no module-level mutable state: pass it' },
  { word: /^(export )?const [^=\n]*= new Weak(Map|Set)/m, why: 'the engine has no module-level cache: pass it' },
]

const buildersOnly = [
  { word: /^(?:export )?(?:abstract )?class /m, why: 'app has builders only: a class belongs to its feature' },
  {
    word: /\b(?:setTimeout|setInterval|setImmediate)\b|\bBun\.sleep\b/,
    why: 'app has builders only: it sets no timer',
  },
  { word: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/, why: 'app has builders only: it reads no clock' },
]

/** The layers, in order: the first that matches a file applies to it. */
export const layerRules: readonly LayerRule[] = readLayers(
  readFileSync(join(import.meta.dirname, 'layers.txt'), 'utf8'),
  { engineEntryPoints, sharedTypes, feature },
  {
    synchronous,
    withRandom: synchronous.filter(({ why }) => !why.includes('random')),
    buildersOnly,
  },
)

/** Words that only the named files and folders may contain, outside comments. */
export const restrictedWords: readonly {
  readonly word: RegExp
  readonly mayContain: readonly string[]
  readonly why: string
}[] = [
  {
    word: /\bisRemote\b/,
    mayContain: ['src/engine/store.ts', 'src/engine/read-graph.ts', 'src/store/', 'src/bolt/'],
    why: 'no file above the stores reads where a graph is: a difference between the stores is a member of the port',
  },
  {
    word: /\breadingGraphs\b/,
    mayContain: ['src/kernel/request/remote-reads.ts', 'src/engine/read-graph.ts'],
    why: 'graphs are read by readGraph, whose look has no effects by its type',
  },
  {
    word: /\b(?:withRemoteReads|currentRemoteReads|settleRemoteReads)\b/,
    mayContain: ['src/kernel/request/remote-reads.ts', 'src/http/dispatch.ts', 'src/bolt/'],
    why: 'what is run again is a request, by the dispatcher, or a look, by readGraph',
  },
  {
    // Configuration has snapshots too: `documents.snapshot()`.
    word: /(?<!\b(?:documents|this))\.snapshot\(\)/,
    mayContain: ['src/engine/', 'src/store/', 'src/bolt/', 'src/transfer/', 'src/cli/policies/language-files.ts'],
    why: 'snapshots of graphs that a request reads are opened by readGraph, readGraphNow and readGraphsNow, which give them to a look',
  },
]

/** Functions that run a look, by name, with the place of the look among their arguments. */
export const lookPlaces: Readonly<Record<string, number>> = {
  readGraph: 1,
  readGraphNow: 1,
  readGraphRows: 1,
  readGraphsNow: 0,
  readInSession: 2,
}

/** Files that no other file needs to import: a process or the package starts there. */
export const entryPoints: readonly string[] = [
  'src/index.ts',
  'src/authorizer/jest.ts',
  'src/authorizer/vitest.ts',
  'src/client/express.ts',
  'src/client/fastify.ts',
  'src/client/hono.ts',
  'src/client/index.ts',
  'src/main.ts',
  // the page of the console, built by src/console/page-files.ts
  'src/console/page/main.tsx',
  'src/release/build.ts',
  'src/release/build-package.ts',
  'src/release/release.ts',
]

/** Files that only tests import: the second half of a contract, next to the half that they check. */
export const testOnlyFiles: readonly string[] = [
  // records, keys, both directions, labels, index and counts of a store agree
  'src/store/integrity/check-graph.ts',
  // the command `convert` follows
  'src/migration/captured-relationships.ts',
  'src/migration/openfga/read-model.ts',
  'src/migration/openfga/read-tuple.ts',
  'src/migration/spicedb/read-relationship.ts',
  'src/migration/spicedb/read-schema.ts',
  'src/migration/write-model.ts',
]

/** Only the wiring may import these files, even if another rule allows it. */
export const wiring: readonly string[] = [
  'src/app.ts',
  'src/app/',
  'src/background/',
  'src/config/graphs/',
  'src/graph-query/language/',
  'src/config/shared/',
  'src/bolt/projects/',
  'src/backup/',
  'src/events/operations/',
  'src/events/recorders/',
  'src/events/streams/',
  'src/http/listener/',
  'src/operator/',
  'src/streams/',
  'src/transfer/',
  'src/authorizer/',
  'src/scenarios/',
  'src/main.ts',
  'src/cli/',
  'src/release/',
  'src/client/',
  'src/index.ts',
]
