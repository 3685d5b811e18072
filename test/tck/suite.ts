// Reads a folder of cases in the JSON form of the openCypher TCK: nested or flat, with or without its named graphs.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { TckCase, TckFixture } from './case.ts'

export interface TckSuite {
  readonly cases: readonly TckCase[]
  readonly named: Readonly<Record<string, TckFixture>>
}

const NAMED_GRAPHS = 'named-graphs.json'
/** The named graphs may be next to the folder of cases, or next to its parent folder. */
const PARENTS_SEARCHED = 3

/** Reads every JSON file below the folder; entries that are not cases (for example an index) are skipped. */
export function readSuite(folder: string): TckSuite {
  const top = resolve(folder)
  if (!existsSync(top)) throw new Error(`there is no folder ${folder}`)
  const files = statSync(top).isDirectory()
    ? readdirSync(top, { recursive: true, encoding: 'utf8' }).map((name) => join(top, name))
    : [top]
  const jsonFiles = files.filter((path) => path.endsWith('.json')).sort()
  const named = jsonFiles
    .filter((path) => path.endsWith(NAMED_GRAPHS))
    .map((path) => readJson(path) as TckSuite['named'])
  const cases = jsonFiles.filter((path) => !path.endsWith(NAMED_GRAPHS)).flatMap((path) => casesIn(readJson(path)))
  return { cases, named: Object.assign({}, ...(named.length > 0 ? named : [namedGraphsAbove(top)])) }
}

function casesIn(content: unknown): TckCase[] {
  if (Array.isArray(content)) return content.filter(isCase)
  if (isCase(content)) return [content]
  const { cases } = (content ?? {}) as { cases?: unknown }
  return Array.isArray(cases) ? cases.filter(isCase) : []
}

function isCase(entry: unknown): entry is TckCase {
  if (entry === null || typeof entry !== 'object') return false
  return 'query' in entry && 'expect' in entry && 'id' in entry
}

function namedGraphsAbove(folder: string): TckSuite['named'] {
  let at = folder
  for (let level = 0; level < PARENTS_SEARCHED; level++) {
    at = dirname(at)
    const path = join(at, NAMED_GRAPHS)
    if (existsSync(path)) return readJson(path) as TckSuite['named']
  }
  return {}
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (fault) {
    throw new Error(`${path} is not JSON: ${(fault as Error).message}`)
  }
}
