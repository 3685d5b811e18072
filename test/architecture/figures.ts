// Counts what the style guide asks for: sizes, names declared twice, arrows and cycles, docstrings, idioms and dead citations.
//   bun test/architecture/figures.ts [--json]
//   bun test/architecture/figures.ts --list [idioms|types|docstrings|members|citations|cycles|arrows] [path prefix]
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { idioms, outsideCitations } from './idioms.ts'
import { stronglyConnected } from './import-graph.ts'
import { readFacts, type SourceFacts, type TextLine } from './source-facts.ts'

export interface Share {
  readonly count: number
  readonly of: number
}

export interface Cycles {
  readonly groups: number
  readonly members: number
  readonly mutualPairs: number
}

export interface Figures {
  readonly readmeWords: number
  readonly fileLines: { readonly files: number; readonly median: number; readonly p90: number }
  /** Type names that are declared in more than one file of src, grammar, bench and test. */
  readonly duplicateTypeNames: number
  /** Imports between files of different folders of src/store, and pairs of folders so joined. */
  readonly storeArrows: { readonly imports: number; readonly pairs: number; readonly withinStore: number }
  /**
   * Groups of folders of src that reach each other by imports, and pairs that import each other directly. `modules`: a file
   * next to subfolders is a node of its own, so that shared shapes and a façade in one folder make no cycle with its
   * subfolders. `folders`: every folder is one node.
   */
  readonly cycles: { readonly modules: Cycles; readonly folders: Cycles }
  readonly docstrings: {
    readonly all: Share
    readonly ports: Share
    readonly library: Share
    /** Exports that another top-level folder of src imports from. */
    readonly acrossFolders: Share
    /** Members of the interfaces and classes of ports, façades and the library. */
    readonly members: Share
  }
  readonly idioms: {
    readonly sourceComments: Share
    readonly sourceMessages: Share
    readonly testComments: Share
    readonly testMessages: Share
    readonly documents: Share
  }
  readonly citations: number
}

/** Ports, façades and the entry of each feature: every export has a docstring. Paths that no longer exist are an error. */
export const portsAndFacades: readonly string[] = [
  'src/app.ts',
  'src/settings.ts',
  'src/engine/store.ts',
  'src/engine/graph.ts',
  'src/engine/conditions.ts',
  'src/engine/condition-rows.ts',
  'src/engine/rows-query.ts',
  'src/engine/errors.ts',
  'src/store/graph/open-store.ts',
  'src/store/tenancy/catalog.ts',
  'src/store/graph/environment.ts',
  'src/config/kind.ts',
  'src/config/repository.ts',
  'src/config/service.ts',
  'src/pdp/evaluate.ts',
  'src/pdp/search.ts',
  'src/pdp/explain.ts',
  'src/policy/policy-index.ts',
  'src/context-query/execute.ts',
  'src/context-query/query-index.ts',
  'src/capture/nodes.ts',
  'src/capture/relationships.ts',
  'src/kernel/request/caller.ts',
  'src/identity/user-tokens.ts',
  'src/upstream/client.ts',
  'src/http/route.ts',
  'src/http/dispatch.ts',
  'src/mcp/endpoint.ts',
  'src/mcp/tools.ts',
  'src/lanes/lane-pool.ts',
  'grammar/index.ts',
]

const libraryEntry = 'src/index.ts'
const root = join(import.meta.dirname, '..', '..')

function filesUnder(folder: string, extension: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension) && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))
const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const shareOf = (list: readonly { documented: boolean }[]): Share => ({
  count: list.filter(({ documented }) => documented).length,
  of: list.length,
})

/** Words that stand for code, quoted text or a name are no prose: `…` in backticks is blanked. */
const prose = (text: string): string => text.replace(/`[^`]*`/g, '``')
const idiomIn = (text: string): string | undefined => {
  const plain = prose(text)
  return idioms.find(({ pattern }) => pattern.test(plain))?.name
}

interface Entry {
  readonly where: string
  readonly what: string
}

export interface Report {
  readonly figures: Figures
  readonly lists: Readonly<
    Record<'idioms' | 'types' | 'docstrings' | 'members' | 'citations' | 'cycles' | 'arrows', readonly Entry[]>
  >
}

export function measure(): Report {
  const facts = ['src', 'grammar', 'bench', 'test']
    .flatMap((folder) => [...filesUnder(folder, '.ts'), ...filesUnder(folder, '.tsx')])
    // Its data are the idioms.
    .filter((path) => path !== 'test/architecture/idioms.ts')
    .map((path) => readFacts({ path, text: read(path) }))
  const byPath = new Map(facts.map((one) => [one.path, one]))
  const sources = facts.filter(({ path }) => /^(src|grammar)\//.test(path))
  const proofs = facts.filter(({ path }) => /^(test|bench)\//.test(path))
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    ...['docs', 'bench', 'test', 'grammar'].flatMap((folder) => filesUnder(folder, '.md')),
  ]
  const lists: Record<keyof Report['lists'], Entry[]> = {
    idioms: [],
    types: [],
    docstrings: [],
    members: [],
    citations: [],
    cycles: [],
    arrows: [],
  }

  // -- names
  const places = new Map<string, string[]>()
  for (const { path, types } of facts) {
    for (const { name, line } of types) places.set(name, [...(places.get(name) ?? []), `${path}:${line}`])
  }
  let duplicateTypeNames = 0
  for (const [name, where] of [...places].sort(([a], [b]) => a.localeCompare(b))) {
    const inFiles = new Set(where.map((place) => place.slice(0, place.lastIndexOf(':'))))
    if (inFiles.size < 2) continue
    duplicateTypeNames++
    for (const place of where) lists.types.push({ where: place, what: name })
  }

  // -- arrows and cycles
  const withSubfolders = new Set(
    sources.map(({ path }) => folderOf(path)).flatMap((folder) => [folderOf(folder), folderOf(folderOf(folder))]),
  )
  const moduleOf = (path: string): string => (withSubfolders.has(folderOf(path)) ? path : folderOf(path))
  const storePairs = new Set<string>()
  let storeImports = 0
  let withinStore = 0
  const folderEdges: Edges = new Map()
  const moduleEdges: Edges = new Map()
  for (const { path, imports } of sources) {
    for (const target of imports) {
      if (!byPath.has(target) || !path.startsWith('src/') || !target.startsWith('src/')) continue
      addEdge(moduleEdges, moduleOf(path), moduleOf(target), `${path} → ${target}`)
      const [from, to] = [folderOf(path), folderOf(target)]
      addEdge(folderEdges, from, to, `${path} → ${target}`)
      if (!/^src\/store(\/|$)/.test(from) || !/^src\/store(\/|$)/.test(to)) continue
      withinStore++
      if (from === to) continue
      storeImports++
      storePairs.add(`${from} → ${to}`)
      lists.arrows.push({ where: path, what: `→ ${target}` })
    }
  }
  const cycles = {
    modules: cyclesIn(moduleEdges, 'module', lists.cycles),
    folders: cyclesIn(folderEdges, 'folder', lists.cycles),
  }

  // -- docstrings
  const top = (path: string): string => path.split('/').slice(0, 2).join('/')
  const entered = new Set<string>()
  for (const { path, imports } of sources) {
    for (const target of imports) if (byPath.has(target) && top(target) !== top(path)) entered.add(target)
  }
  const library = libraryExports(byPath, libraryEntry)
  const libraryFiles = new Set(library.map(({ path }) => path))
  const missingPorts = portsAndFacades.filter((path) => !byPath.has(path))
  if (missingPorts.length > 0) throw new Error(`portsAndFacades names files that are gone: ${missingPorts.join(', ')}`)
  const ports = portsAndFacades.map((path) => byPath.get(path) as SourceFacts)
  for (const { path, exports } of sources) {
    const mark = portsAndFacades.includes(path) ? ' (port)' : entered.has(path) ? ' (used by another folder)' : ''
    for (const { name, line, documented } of exports) {
      if (!documented) lists.docstrings.push({ where: `${path}:${line}`, what: `${name}${mark}` })
    }
  }
  const surface = sources.filter(({ path }) => portsAndFacades.includes(path) || libraryFiles.has(path))
  const libraryNames = new Set(library.map(({ path, name }) => `${path} ${name}`))
  const members = surface.flatMap(({ path, members: all }) =>
    all
      .filter(({ name }) => portsAndFacades.includes(path) || libraryNames.has(`${path} ${name.split('.')[0]}`))
      .map((member) => ({ ...member, path })),
  )
  for (const { path, name, line, documented } of members) {
    if (!documented) lists.members.push({ where: `${path}:${line}`, what: name })
  }

  // -- prose
  const counted = (lines: readonly (TextLine & { path: string })[], kind: string): Share => {
    let count = 0
    for (const { path, line, text } of lines) {
      const idiom = idiomIn(text)
      if (idiom === undefined) continue
      count++
      lists.idioms.push({ where: `${path}:${line}`, what: `${kind} [${idiom}] ${text.trim()}` })
    }
    return { count, of: lines.length }
  }
  const of = (all: readonly SourceFacts[], which: 'comments' | 'messages'): (TextLine & { path: string })[] =>
    all.flatMap((one) => one[which].map((line) => ({ ...line, path: one.path })))
  const documentLines = documents
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) =>
      read(path)
        .split('\n')
        .map((text, index) => ({ path, line: index + 1, text }))
        .filter(({ text }) => /[A-Za-z]/.test(text)),
    )
  const idiomFigures = {
    sourceComments: counted(of(sources, 'comments'), 'comment'),
    sourceMessages: counted(of(sources, 'messages'), 'message'),
    testComments: counted(of(proofs, 'comments'), 'comment'),
    testMessages: counted(of(proofs, 'messages'), 'message'),
    documents: counted(documentLines, 'document'),
  }
  for (const { path, line, text } of [...of(facts, 'comments'), ...of(facts, 'messages'), ...documentLines]) {
    if (outsideCitations.some((pattern) => pattern.test(text))) {
      lists.citations.push({ where: `${path}:${line}`, what: text.trim() })
    }
  }

  const lengths = sources.map(({ lineCount }) => lineCount).sort((a, b) => a - b)
  return {
    figures: {
      readmeWords: read('README.md')
        .split(/\s+/)
        .filter((word) => /\w/.test(word)).length,
      fileLines: { files: lengths.length, median: percentile(lengths, 0.5), p90: percentile(lengths, 0.9) },
      duplicateTypeNames,
      storeArrows: { imports: storeImports, pairs: storePairs.size, withinStore },
      cycles,
      docstrings: {
        all: shareOf(sources.flatMap(({ exports }) => exports)),
        ports: shareOf(ports.flatMap(({ exports }) => exports)),
        library: shareOf(library),
        acrossFolders: shareOf(sources.filter(({ path }) => entered.has(path)).flatMap(({ exports }) => exports)),
        members: shareOf(members),
      },
      idioms: idiomFigures,
      citations: lists.citations.length,
    },
    lists,
  }
}

/** The declarations of all names that `entry` exports, also through files that only re-export them. */
function libraryExports(
  byPath: ReadonlyMap<string, SourceFacts>,
  entry: string,
): { path: string; name: string; documented: boolean }[] {
  const found: { path: string; name: string; documented: boolean }[] = []
  const follow = (path: string, name: string): void => {
    const facts = byPath.get(path)
    if (facts === undefined) return
    for (const one of facts.exports) if (name === '*' || one.name === name) found.push({ ...one, path })
    for (const { from, name: passed } of facts.reexports) {
      if (passed === '*') follow(from, name)
      else if (name === '*' || passed === name) follow(from, passed)
    }
  }
  follow(entry, '*')
  return found
}

/** From a node to its targets, each with the imports that make the edge. */
type Edges = Map<string, Map<string, string[]>>

function addEdge(edges: Edges, from: string, to: string, because: string): void {
  if (from === to) return
  const targets = edges.get(from) ?? new Map<string, string[]>()
  edges.set(from, targets.set(to, [...(targets.get(to) ?? []), because]))
}

function cyclesIn(edges: Edges, kind: string, list: Entry[]): Cycles {
  const groups = stronglyConnected(new Map([...edges].map(([from, targets]) => [from, targets.keys()]))).filter(
    (group) => group.length > 1,
  )
  const mutual = [...edges].flatMap(([from, targets]) =>
    [...targets.keys()].filter((to) => from < to && edges.get(to)?.has(from)).map((to) => [from, to] as const),
  )
  for (const group of groups) {
    list.push({ where: [...group].sort()[0] as string, what: `${kind} group: ${[...group].sort().join(', ')}` })
  }
  for (const [from, to] of mutual) {
    const forth = edges.get(from)?.get(to) as string[]
    const back = edges.get(to)?.get(from) as string[]
    const fewer = forth.length < back.length ? forth : back
    list.push({
      where: from,
      what: `${kind} ↔ ${to}: ${forth.length} forth, ${back.length} back; the fewer: ${fewer.slice(0, 6).join('; ')}`,
    })
  }
  return { groups: groups.length, members: groups.flat().length, mutualPairs: mutual.length }
}

const percent = ({ count, of }: Share): string =>
  `${of === 0 ? '–' : `${((100 * count) / of).toFixed(1)} %`} (${count} of ${of})`

const cycleText = ({ groups, members, mutualPairs }: Cycles): string =>
  `${groups} groups of ${members} members; ${mutualPairs} pairs that import each other`

/** The figures as lines of text. */
export function render(figures: Figures): string {
  const { fileLines, storeArrows, cycles, docstrings, idioms: idiom } = figures
  return [
    `words in README                              ${figures.readmeWords}`,
    `lines per file of src and grammar            median ${fileLines.median}, p90 ${fileLines.p90} (${fileLines.files} files)`,
    `type names declared in more than one file    ${figures.duplicateTypeNames}`,
    `imports between folders of src/store         ${storeArrows.imports} (${storeArrows.pairs} pairs of folders; ${storeArrows.withinStore} imports in all within store)`,
    `cycles of modules of src                     ${cycleText(cycles.modules)}`,
    `cycles of whole folders of src               ${cycleText(cycles.folders)}`,
    `exports with a docstring                     ${percent(docstrings.all)}`,
    `  of ports, façades and feature entries      ${percent(docstrings.ports)}`,
    `  of the library's surface                   ${percent(docstrings.library)}`,
    `  of files that another folder imports       ${percent(docstrings.acrossFolders)}`,
    `members of ports, façades and library        ${percent(docstrings.members)}`,
    `comment lines with an idiom, src and grammar ${percent(idiom.sourceComments)}`,
    `message lines with an idiom, src and grammar ${percent(idiom.sourceMessages)}`,
    `comment lines with an idiom, test and bench  ${percent(idiom.testComments)}`,
    `message lines with an idiom, test and bench  ${percent(idiom.testMessages)}`,
    `lines of documents with an idiom             ${percent(idiom.documents)}`,
    `citations of documents outside               ${figures.citations}`,
  ].join('\n')
}

if (import.meta.main) {
  const { figures, lists } = measure()
  const args = process.argv.slice(2)
  const at = args.indexOf('--list')
  if (at >= 0) {
    const given = args.slice(at + 1)
    const which = given.find((arg) => arg in lists) as keyof Report['lists'] | undefined
    const prefix = given.find((arg) => !(arg in lists)) ?? ''
    for (const { where, what } of lists[which ?? 'idioms'])
      if (where.startsWith(prefix)) console.log(`${where}  ${what}`)
  } else if (args.includes('--json')) {
    console.log(JSON.stringify(figures, null, 2))
  } else {
    console.log(render(figures))
  }
}
