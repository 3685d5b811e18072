// Checks the architecture rules: no forbidden import, no cycle, no orphan; and checks that the checker finds each of these.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type RuleViolation, violationsIn } from './import-graph.ts'
import { readLayers } from './layers.ts'
import { parseSource, resolveImport, type SourceText, withoutComments } from './parse-source.ts'
import { entryPoints, layerRules, restrictedWords, testOnlyFiles, wiring } from './rules.ts'

const root = join(import.meta.dirname, '..', '..')

function sourcesUnder(folder: string): SourceText[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path: relative(root, path), text: readFileSync(path, 'utf8') }))
}

const importsOf = (source: SourceText) => parseSource(source).imports

const show = ({ kind, where, sentence }: RuleViolation): string => `${kind}: ${where}\n    ${sentence}`

describe('the notation of layers.txt', () => {
  const words = [{ word: /x/, why: 'no x' }]
  const read = (text: string) => readLayers(text, { shared: ['zod', 'src/k.ts'] }, { strict: words })

  test('has files, imports in several lines, lists, words and a sentence', () => {
    const text = `# a comment\n\nsrc/a/ src/{b/ c.ts}\n  ./ src/d/{e.ts f/}\n  # why\n  $shared node:{fs path}\n  ! strict\n  > one\n  > sentence\n\nsrc/g/\n  zod\n  > g`
    expect(read(text)).toEqual([
      {
        files: ['src/a/', 'src/b/', 'src/c.ts'],
        mayImport: ['./', 'src/d/e.ts', 'src/d/f/', 'zod', 'src/k.ts', 'node:fs', 'node:path'],
        forbiddenWords: words,
        sentence: 'one sentence',
      },
      { files: ['src/g/'], mayImport: ['zod'], sentence: 'g' },
    ])
  })

  test.each(['src/a/\n  $other\n  > a', 'src/a/\n  zod\n  ! other\n  > a'])('refuses an unknown list: %j', (text) => {
    expect(() => read(text)).toThrow('layers.txt: no list `other`')
  })

  test('refuses a layer without a sentence', () => {
    expect(() => read('src/a/\n  zod')).toThrow('layers.txt: `src/a/` has no sentence')
  })
})

describe('the architecture rules', () => {
  const sources = [...sourcesUnder('grammar'), ...sourcesUnder('src')]

  test('allow every import of src and grammar', () => {
    expect(violationsIn(sources).map(show)).toEqual([])
  })

  test('name only files and folders that exist, and packages that a file imports, each once', () => {
    const targets = new Set(sources.flatMap((source) => importsOf(source).map(({ target }) => target)))
    const isKnown = (entry: string) =>
      entry === './' ||
      [...sources.map(({ path }) => path), ...targets].some((name) =>
        entry.endsWith('/') || entry.endsWith(':')
          ? name.startsWith(entry)
          : name === entry || name.startsWith(`${entry}/`),
      )
    const lists = [
      ...layerRules.flatMap(({ files, mayImport }) => [files, mayImport]),
      entryPoints,
      restrictedWords.flatMap(({ mayContain }) => mayContain).filter((entry, at, all) => all.indexOf(entry) === at),
      testOnlyFiles,
      wiring,
    ]
    expect(lists.flatMap((list) => list.filter((entry) => !isKnown(entry)))).toEqual([])
    expect(lists.flatMap((list) => list.filter((entry, at) => list.indexOf(entry) !== at))).toEqual([])
  })

  test('have a limit for each layer: none allows all of src', () => {
    const unlimited = layerRules.filter(({ mayImport }) => mayImport.includes('src/'))
    expect(unlimited.map(({ sentence }) => sentence)).toEqual([])
  })

  test('export only what another file names', () => {
    const others = ['test', 'bench', 'clients', 'docs', 'examples'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter(
          (entry) =>
            entry.isFile() && /\.(?:tsx?|mts|js|md)$/.test(entry.name) && !entry.parentPath.includes('node_modules'),
        )
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')),
    )
    /** By word, in how many files it occurs; a second one is enough. */
    const files = new Map<string, number>()
    for (const text of [...sources.map((source) => source.text), ...others])
      for (const word of new Set(text.match(/[A-Za-z_$][\w$]*/g))) files.set(word, (files.get(word) ?? 0) + 1)
    // Files that a user of the library imports, and modules that another one exports as a whole.
    const isPublic = (path: string) =>
      /^src\/(?:authorizer|client|openapi)\//.test(path) ||
      sources.some(
        (source) => source.text.includes('export *') && importsOf(source).some(({ target }) => target === path),
      )
    const lonely = sources.flatMap(({ path, text }) =>
      [
        ...text.matchAll(
          /^export (?:async )?(?:function\*?|const|(?:abstract )?class|interface|type|enum) ([A-Za-z_$][\w$]*)/gm,
        ),
      ]
        .filter(([, name = '']) => files.get(name) === 1)
        .map(([, name]) => ({ path, name })),
    )
    expect(lonely.filter(({ path }) => !isPublic(path))).toEqual([])
  })

  test('commands print through print.ts, which escapes control characters of data', () => {
    // The child process of `verify` writes messages for its parent.
    const mayPrint = ['src/cli/output/print.ts', 'src/cli/folder/verify.ts']
    const printing = sources.filter(
      (source) =>
        source.path.startsWith('src/cli/') &&
        /\bconsole\.\w+\(|\bprocess\.std(?:out|err)\.write\(/.test(withoutComments(parseSource(source))),
    )
    expect(printing.map(({ path }) => path).filter((path) => !mayPrint.includes(path))).toEqual([])
    expect(printing.map(({ path }) => path)).toContain('src/cli/output/print.ts')
  })

  test('commands print JSON by `printJson`, and send requests by `sendRequest`', () => {
    const commands = sources.filter(({ path }) => path.startsWith('src/cli/'))
    const matching = (pattern: RegExp): string[] =>
      commands.filter((source) => pattern.test(withoutComments(parseSource(source)))).map(({ path }) => path)
    expect(matching(/\bprint\w+\([^)\n]*(?:JSON\.stringify|writeJson)\(/)).toEqual([
      'src/cli/output/print.ts',
      // Several lines, with indentation.
      'src/cli/policies/lint.ts',
    ])
    // The bench also asks other products.
    expect(matching(/\bfetch\(/)).toEqual(['src/cli/bench/peers.ts', 'src/cli/target/send-request.ts'])
  })

  test('find the file of every relative import', () => {
    const paths = new Set(sources.map(({ path }) => path))
    const broken = sources.flatMap((source) =>
      importsOf(source)
        .filter(({ target }) => /^(src|grammar)\//.test(target) && /\.tsx?$/.test(target) && !paths.has(target))
        .map(({ target, line }) => `${source.path}:${line} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  // The runtime's own scanner sees every import of a value.
  test('see every value import that the runtime sees', () => {
    const scanners = {
      ts: new Bun.Transpiler({ loader: 'ts' }),
      tsx: new Bun.Transpiler({ loader: 'tsx' }),
    }
    for (const source of sources) {
      const scanner = scanners[source.path.endsWith('x') ? 'tsx' : 'ts']
      // The scanner does not read the setting of JSX, and adds the runtime of React.
      const seen = scanner.scanImports(source.text).flatMap(({ path }) => (/^react(\/|$)/.test(path) ? [] : [path]))
      const read = new Set(importsOf(source).map(({ target }) => target))
      const missed = seen.map((path) => resolveImport(source.path, path)).filter((target) => !read.has(target))
      expect(missed, source.path).toEqual([])
    }
  })
})

describe('the import checker', () => {
  const file = (path: string, text = ''): SourceText => ({ path, text })
  /** Adds an entry point that imports every given file, so that only the violation under test is found; its own imports are not reported. */
  const withEntryPoint = (...sources: SourceText[]): SourceText[] => [
    ...sources,
    file(
      'src/main.ts',
      sources.map(({ path }) => `import './${path.startsWith('src/') ? path.slice(4) : `../${path}`}'`).join('\n'),
    ),
  ]
  const found = (...sources: SourceText[]): string[] =>
    violationsIn(withEntryPoint(...sources)).flatMap(({ kind, where }) =>
      where.startsWith('src/main.ts:') ? [] : [`${kind} ${where}`],
    )

  test('accepts sources that keep the rules', () => {
    expect(
      found(
        file('src/kernel/result.ts'),
        file('src/engine/graph.ts', "import { ok } from '../kernel/result.ts'"),
        file('src/policy/policy-index.ts', "import type { Graph } from '../engine/graph.ts'"),
        file('src/pdp/evaluate.ts', "import { library } from '../policy/library.ts'\nimport { z } from 'zod'"),
      ),
    ).toEqual([])
  })

  test('finds an import from a lower layer to a higher one', () => {
    expect(found(file('src/kernel/ids.ts', "import { x } from '../pdp/x.ts'"), file('src/pdp/x.ts'))).toEqual([
      'import src/kernel/ids.ts:1 → src/pdp/x.ts',
    ])
  })

  test('finds type-only and multi-line imports, re-exports, dynamic imports, require and import types', () => {
    const target = file('src/http/error-response.ts')
    const texts = [
      "import type { Problem } from '../http/problems.ts'",
      "import {\n  type A,\n  b, // with a 'quoted' remark\n} from '../http/problems.ts'",
      "export * from '../http/problems.ts'",
      "const late = await import('../http/problems.ts')",
      "type P = import('../http/problems.ts').Problem",
      "import '../http/problems.ts'",
      "const old = require('../http/problems.ts')",
    ]
    for (const text of texts) expect(found(file('src/pdp/x.ts', text), target), text).toHaveLength(1)
  })

  test('finds an import from feature to feature, and allows pdp to import policy', () => {
    expect(found(file('src/capture/a.ts', "import '../pdp/b.ts'"), file('src/pdp/b.ts'))).toHaveLength(1)
    expect(found(file('src/pdp/a.ts', "import '../policy/b.ts'"), file('src/policy/b.ts'))).toEqual([])
  })

  test('finds a forbidden package', () => {
    expect(found(file('src/engine/graph.ts', "import { z } from 'zod'"))).toEqual([
      'import src/engine/graph.ts:1 → zod',
    ])
    expect(found(file('src/engine/graph.ts', "import { readFileSync } from 'node:fs'"))).toHaveLength(1)
    expect(found(file('src/http/a.ts', "import { open } from 'lmdb'"))).toHaveLength(1)
  })

  test('finds a plan that imports the store, and a feature that imports an internal module of the engine', () => {
    expect(found(file('src/engine/plan/a.ts', "import '../store.ts'"), file('src/engine/store.ts'))).toHaveLength(1)
    expect(found(file('src/pdp/a.ts', "import '../engine/exec/b.ts'"), file('src/engine/exec/b.ts'))).toHaveLength(1)
  })

  test('finds an import of the wiring', () => {
    expect(found(file('src/http/a.ts', "import '../app.ts'"), file('src/app.ts'))).toHaveLength(1)
  })

  test('finds a cycle of imports, type-only imports included', () => {
    expect(
      found(
        file('src/pdp/a.ts', "import type { B } from './b.ts'"),
        file('src/pdp/b.ts', "import { c } from './c.ts'"),
        file('src/pdp/c.ts', "import type { A } from './a.ts'"),
      ),
    ).toEqual(['cycle src/pdp/a.ts → src/pdp/b.ts → src/pdp/c.ts → src/pdp/a.ts'])
  })

  test('finds an orphan, and accepts the entry points', () => {
    expect(
      violationsIn([file('src/pdp/a.ts'), ...entryPoints.map((path) => file(path))]).map(({ where }) => where),
    ).toEqual(['src/pdp/a.ts'])
  })

  test('finds a file without a layer', () => {
    expect(found(file('src/utils/x.ts'))).toEqual(['no layer src/utils/x.ts'])
  })

  test('finds await, a clock, a log line and random numbers in the engine', () => {
    for (const text of ['await x', 'const t = Date.now()', 'console.log(1)', 'Math.random()']) {
      expect(found(file('src/engine/exec/a.ts', text)), text).toEqual(['forbidden word src/engine/exec/a.ts:1'])
    }
  })

  test('finds a feature that knows where a graph is, or opens a snapshot and runs reads again by itself', () => {
    for (const text of [
      'if (graph.isRemote === true) x()',
      'await readingGraphs(() => 1)',
      'await withRemoteReads(() => 1)',
      'const s = graphs.default.snapshot()',
    ]) {
      expect(found(file('src/trust/a.ts', text)), text).toEqual(['forbidden word src/trust/a.ts:1'])
    }
    expect(found(file('src/trust/a.ts', 'const s = deps.documents.snapshot()'))).toEqual([])
    expect(found(file('src/bolt/a.ts', 'const s = graph.snapshot()'))).toEqual([])
  })

  test('finds an effect in a look', () => {
    for (const text of [
      'readGraph(graph, () => {\n count += 1\n return 1 })',
      'readGraph(graph, () => {\n this.count++\n return 1 })',
      'readGraphNow(graph, () => {\n found.push(1)\n return 1 })',
      'readGraphsNow((views) => {\n void graph.write(() => 1)\n return 1 })',
      'function look() {\n state.done = true\n return 1 }\nreadGraph(graph, look)',
    ]) {
      expect(found(file('src/trust/a.ts', text)), text).toEqual(['effect in a look src/trust/a.ts:2'])
    }
    const own = 'const found = []; let n = 0; found.push(1); n += 1; session.plans = null; return found'
    expect(found(file('src/trust/a.ts', `readInSession(graphs, deps, (session) => { ${own} })`))).toEqual([])
    expect(found(file('src/trust/a.ts', 'readGraphRows(graph, look, (row) => { rows.push(row) })'))).toEqual([])
  })

  test('finds a class, a timer and a clock in the wiring', () => {
    for (const text of ['export class A {}', 'setTimeout(run, 5)', 'await Bun.sleep(5)', 'const t = Date.now()']) {
      expect(found(file('src/app/a.ts', text)), text).toEqual(['forbidden word src/app/a.ts:1'])
    }
    expect(found(file('src/app/a.ts', 'const a = (clock: Clock) => new Runner(() => clock.now())'))).toEqual([])
  })

  test('ignores comments, and reads quotes and regular expressions correctly', () => {
    const text = [
      "// import '../http/a.ts'",
      "/* import '../http/b.ts' */",
      'const r = /[`\'"]/',
      "import '../http/c.ts'",
    ].join('\n')
    expect(importsOf(file('src/pdp/x.ts', text))).toEqual([{ target: 'src/http/c.ts', line: 4 }])
    expect(withoutComments(parseSource({ path: 'x.ts', text: "const a = 'http://x' // gone\nb" }))).toBe(
      "const a = 'http://x'        \nb",
    )
  })
})
