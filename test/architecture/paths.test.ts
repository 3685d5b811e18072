// Checks the pages and comments that lead a reader through the code: they name files that exist, files that follow each other are
// connected, and ports have the implementations of the page.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { childKinds } from '../../src/processes/child-kinds.ts'
import { readPages } from '../docs/pages.ts'
import { parseSource } from './parse-source.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path}`)
    .filter((path) => /(?<!\.d)\.tsx?$/.test(path))
const sources = [...filesBelow('src'), ...filesBelow('grammar')]
const parsed = sources.map((path) => parseSource({ path, text: read(path) }))
const importsOf = new Map(parsed.map(({ path, imports }) => [path, new Set(imports.map(({ target }) => target))]))
/** Builders, and the programs of processes, connect files that do not know each other. */
const builders = sources.filter(
  (path) => /^src\/(?:app|cli\/serve|config\/graphs)\//.test(path) || path === 'src/app.ts',
)

/** The tables of a page, as cells. */
function tablesOf(page: string): readonly (readonly (readonly string[])[])[] {
  return [...page.matchAll(/(?:^\|.*\|\n)+/gm)].map(([table]) =>
    table
      .trim()
      .split('\n')
      .filter((line) => !/^[\s|-]+$/.test(line))
      .map((line) =>
        line
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      ),
  )
}

/** The files that a cell names: `http/server.ts` is that of `src/`. */
function filesOf(cell: string): string[] {
  return [...cell.matchAll(/`((?:[\w-]+\/)*[\w-]+\.tsx?)`/g)].map(([, path = '']) =>
    path.startsWith('grammar/') ? path : `src/${path}`,
  )
}

/** The cells of the column with the title, without the title. */
function columnOf(table: readonly (readonly string[])[], title: string): string[] {
  const at = table[0]?.indexOf(title) ?? -1
  return at < 0 ? [] : table.slice(1).map((row) => row[at] ?? '')
}

const imports = (from: string, to: string): boolean => importsOf.get(from)?.has(to) === true
const areConnected = (one: string, other: string): boolean =>
  imports(one, other) || imports(other, one) || builders.some((path) => imports(path, one) && imports(path, other))

describe.each(['docs/explanation/paths-in-the-code.md', 'docs/explanation/path-of-a-decision.md'])('%s', (name) => {
  const paths = tablesOf(read(name))
    .map((table) => columnOf(table, 'Where').flatMap(filesOf))
    .filter(({ length }) => length > 0)

  test('names files that exist', () => {
    expect(paths.length).toBeGreaterThan(0)
    expect(paths.flat().filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('leads from each file to the next ones by imports, or by a builder that imports both', () => {
    const apart = paths.flatMap((files) => {
      const [first = '', ...others] = files
      const reached = new Set([first])
      // The loop also visits what it adds.
      for (const path of reached) for (const other of others) if (areConnected(path, other)) reached.add(other)
      return others.filter((path) => !reached.has(path))
    })
    expect(apart).toEqual([])
  })
})

test('the ports of docs/explanation/paths-in-the-code.md are declared and implemented as it says', () => {
  const ports =
    tablesOf(read('docs/explanation/paths-in-the-code.md')).find((table) => table[0]?.includes('Port')) ?? []
  const wrong = ports.slice(1).filter(([port = '', declared = '', implementation = '', file = '']) => {
    const [portName, className] = [port.replaceAll('`', ''), implementation.replaceAll('`', '')]
    const [portFile = '', classFile = ''] = [...filesOf(declared), ...filesOf(file)]
    return (
      !new RegExp(`^export interface ${portName}\\b`, 'm').test(read(portFile)) ||
      !new RegExp(`^(?:export )?class ${className}\\b[^{]* implements [^{]*\\b${portName}\\b`, 'm').test(
        read(classFile),
      )
    )
  })
  expect(ports.length).toBeGreaterThan(1)
  expect(wrong).toEqual([])
})

test('docs/explanation/processes.md names the files of both sides of each process', () => {
  const sides = tablesOf(read('docs/explanation/processes.md')).find((table) => table[0]?.includes('Child')) ?? []
  const kinds = sides.slice(1).map(([process = '', parent = '', child = '']) => ({
    kind: process === 'serving process' ? 'worker' : process.replace(/ process$/, '').replace(' ', '-'),
    parent: filesOf(parent),
    child: filesOf(child),
  }))
  expect(kinds.map(({ kind }) => kind).sort()).toEqual([...Object.keys(childKinds), 'supervisor'].sort())
  const hasKind = (files: readonly string[], kind: string): boolean =>
    files.some((path) => read(path).includes(`kind: '${kind}'`))
  const wrong = kinds.filter(
    ({ kind, parent, child }) => kind !== 'supervisor' && !(hasKind(parent, kind) && hasKind(child, kind)),
  )
  expect(wrong).toEqual([])
})

test('docs/explanation/architecture.md names and draws every folder and file of src, and names every folder of the store', () => {
  const page = read('docs/explanation/architecture.md')
  const layers = tablesOf(page).find((table) => table[0]?.includes('Layer')) ?? []
  const named = columnOf(layers, 'Folders').flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  const found = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  )
  expect(named.sort()).toEqual([...found, '../grammar/'].sort())
  const drawn = [...read('docs/images/layers.svg').matchAll(/>([^<>]*(?:\/|\.ts))</g)].flatMap(([, text = '']) =>
    text.split(', '),
  )
  expect(drawn.sort()).toEqual([...found, 'grammar/'].sort())
  const store = page.slice(page.indexOf('## Store'), page.indexOf('## Processes'))
  expect(readdirSync(join(root, 'src/store')).filter((folder) => !store.includes(`\`${folder}\``))).toEqual([])
})

test('comments and pages name source files that exist', () => {
  const inComments = parsed.flatMap(({ path, comments, lineOf }) =>
    comments.flatMap(({ value, start }) =>
      [...value.matchAll(/(?<![\w*./-])((?:[\w-]+\/)*[\w-]+(?:\.test)?\.tsx?)\b/g)].map(([, name = '']) => ({
        name,
        at: `${path}:${lineOf(start)}`,
      })),
    ),
  )
  // Decision records and the changelog name files of their time.
  const pages = readPages().filter(({ path }) => path !== 'CHANGELOG.md' && !path.startsWith('docs/decisions/'))
  const inPages = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.tsx?)`/g)].map(([, name = '']) => ({ name, at: path })),
  )
  // A part of a path is enough: a file of the same folder, or one below `src/`.
  const files = [...sources, ...filesBelow('test'), ...filesBelow('bench')]
  const isFile = (name: string): boolean => files.some((path) => `/${path}`.endsWith(`/${name}`))
  expect(Math.min(inComments.length, inPages.length)).toBeGreaterThan(0)
  expect([...inComments, ...inPages].filter(({ name }) => !isFile(name))).toEqual([])
})
