// The house stands: no upward arrow, no forbidden arrow, no circle, no orphan; and the checker is caught sleeping if it is.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { entryPoints, importsOf, type RuleViolation, type SourceText, violationsIn, withoutComments } from './rules.ts'

const top = join(import.meta.dirname, '..', '..')

function sourcesUnder(folder: string): SourceText[] {
  return readdirSync(join(top, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path: relative(top, path), text: readFileSync(path, 'utf8') }))
}

const show = ({ kind, where, sentence }: RuleViolation): string => `${kind}: ${where}\n    ${sentence}`

describe('the floors', () => {
  const sources = [...sourcesUnder('grammar'), ...sourcesUnder('src')]

  test('every arrow goes where the table lets it', () => {
    expect(violationsIn(sources).map(show)).toEqual([])
  })

  test('every relative import ends at a file', () => {
    const paths = new Set(sources.map(({ path }) => path))
    const broken = sources.flatMap((source) =>
      importsOf(source)
        .filter(({ target }) => /^(src|grammar)\//.test(target) && target.endsWith('.ts') && !paths.has(target))
        .map(({ target, line }) => `${source.path}:${line} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  // The reader of imports is a handful of expressions; the runtime's own scanner sees every import that carries a value.
  test('no value import that the runtime sees is missed', () => {
    const scanner = new Bun.Transpiler({ loader: 'ts' })
    for (const source of sources) {
      const seen = scanner.scanImports(source.text).map(({ path }) => path)
      const expected = importsOf({ path: source.path, text: seen.map((path) => `import '${path}'`).join('\n') })
      const read = new Set(importsOf(source).map(({ target }) => target))
      for (const { target } of expected) expect(read, `${source.path} imports ${target}`).toContain(target)
    }
  })
})

describe('the checker', () => {
  const file = (path: string, text = ''): SourceText => ({ path, text })
  /** Imports every given file from a door, so that only what a test seeds is found. */
  const held = (...sources: SourceText[]): SourceText[] => [
    ...sources,
    file(
      'src/main.ts',
      sources.map(({ path }) => `import './${path.startsWith('src/') ? path.slice(4) : `../${path}`}'`).join('\n'),
    ),
  ]
  const found = (...sources: SourceText[]): string[] =>
    violationsIn(held(...sources)).map(({ kind, where }) => `${kind} ${where}`)

  test('says nothing of a house that stands', () => {
    expect(
      found(
        file('src/kernel/result.ts'),
        file('src/engine/graph.ts', "import { ok } from '../kernel/result.ts'"),
        file('src/policy/policy-index.ts', "import type { Graph } from '../engine/graph.ts'"),
        file('src/pdp/evaluate.ts', "import { library } from '../policy/library.ts'\nimport { z } from 'zod'"),
      ),
    ).toEqual([])
  })

  test('finds an upward arrow', () => {
    expect(found(file('src/kernel/ids.ts', "import { x } from '../pdp/x.ts'"), file('src/pdp/x.ts'))).toEqual([
      'arrow src/kernel/ids.ts:1 → src/pdp/x.ts',
    ])
  })

  test('finds a type-only arrow, an arrow over many lines, a re-export, a dynamic import and an import type', () => {
    const target = file('src/http/error-response.ts')
    const texts = [
      "import type { Problem } from '../http/problems.ts'",
      "import {\n  type A,\n  b, // with a 'quoted' remark\n} from '../http/problems.ts'",
      "export * from '../http/problems.ts'",
      "const late = await import('../http/problems.ts')",
      "type P = import('../http/problems.ts').Problem",
      "import '../http/problems.ts'",
    ]
    for (const text of texts) expect(found(file('src/pdp/x.ts', text), target), text).toHaveLength(1)
  })

  test('finds an arrow from feature to feature, and lets pdp import policy', () => {
    expect(found(file('src/capture/a.ts', "import '../pdp/b.ts'"), file('src/pdp/b.ts'))).toHaveLength(1)
    expect(found(file('src/pdp/a.ts', "import '../policy/b.ts'"), file('src/policy/b.ts'))).toEqual([])
  })

  test('finds a forbidden package', () => {
    expect(found(file('src/engine/graph.ts', "import { z } from 'zod'"))).toEqual(['arrow src/engine/graph.ts:1 → zod'])
    expect(found(file('src/engine/graph.ts', "import { readFileSync } from 'node:fs'"))).toHaveLength(1)
    expect(found(file('src/http/a.ts', "import { open } from 'lmdb'"))).toHaveLength(1)
  })

  test('finds a plan that reads the store, and a feature that reaches behind a door', () => {
    expect(found(file('src/engine/plan/a.ts', "import '../store.ts'"), file('src/engine/store.ts'))).toHaveLength(1)
    expect(found(file('src/pdp/a.ts', "import '../engine/exec/b.ts'"), file('src/engine/exec/b.ts'))).toHaveLength(1)
  })

  test('finds whoever imports the wiring', () => {
    expect(found(file('src/http/a.ts', "import '../app.ts'"), file('src/app.ts'))).toHaveLength(1)
  })

  test('finds a circle, type-only ones included', () => {
    expect(
      found(
        file('src/pdp/a.ts', "import type { B } from './b.ts'"),
        file('src/pdp/b.ts', "import { c } from './c.ts'"),
        file('src/pdp/c.ts', "import type { A } from './a.ts'"),
      ),
    ).toEqual(['circle src/pdp/a.ts → src/pdp/b.ts → src/pdp/c.ts → src/pdp/a.ts'])
  })

  test('finds an orphan, and knows the doors', () => {
    expect(
      violationsIn([file('src/pdp/a.ts'), ...entryPoints.map((path) => file(path))]).map(({ where }) => where),
    ).toEqual(['src/pdp/a.ts'])
  })

  test('finds a file without a room', () => {
    expect(found(file('src/utils/x.ts'))).toEqual(['homeless src/utils/x.ts'])
  })

  test('finds an await, a clock and a log line in the engine', () => {
    for (const text of ['await x', 'const t = Date.now()', 'console.log(1)', 'Math.random()']) {
      expect(found(file('src/engine/exec/a.ts', text)), text).toEqual(['word src/engine/exec/a.ts:1'])
    }
  })

  test('does not read comments, nor lose its way in quotes and regular expressions', () => {
    const text = [
      "// import '../http/a.ts'",
      "/* import '../http/b.ts' */",
      'const r = /[`\'"]/',
      "import '../http/c.ts'",
    ].join('\n')
    expect(importsOf(file('src/pdp/x.ts', text))).toEqual([{ target: 'src/http/c.ts', line: 4 }])
    expect(withoutComments("const a = 'http://x' // gone\nb")).toBe("const a = 'http://x'        \nb")
  })
})
