// What changes with the size of a graph? Loads graphs of several sizes by the sorted load, and measures every operation on the
// whole graph and the questions of a decision. Each step is a process of its own.
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, type BenchOptions, type BenchRecord, mustEqual } from '../harness.ts'
import { output } from '../http/processes.ts'
import { scaleGraph } from './scale-graph.ts'
import { type PlotSeries, plot } from './scale-plot.ts'

const SIZES = [5_000_000, 20_000_000, 50_000_000]
const SMALL_SIZES = [5_000, 20_000]
/** Database, its copy, its export and the database imported from it. */
const BYTES_PER_RELATIONSHIP = 520
const STEPS = [
  'load',
  'verify',
  'open',
  'start',
  'questions',
  'migrate',
  'export',
  'import',
  'backup',
  'restore',
] as const
/** Removed after a step, to keep the disk space low. */
const LEFTOVERS: Partial<Record<(typeof STEPS)[number], readonly string[]>> = {
  start: ['served'],
  migrate: ['earlier'],
  import: ['imported', 'export.ndjson'],
  restore: ['restored', 'backup.tar'],
}

export const scale: Bench = {
  name: 'scale',
  question:
    'how do load, verify, start, migrate, export, import, backup, restore and questions change with the size of a graph?',
  async run(options) {
    const points: ScalePoint[] = []
    for (const relationships of options.relationships ?? (options.small ? SMALL_SIZES : SIZES))
      await measure(options, relationships, points)
    if (options.plot === null) return
    writeFileSync(options.plot, plot('Relationships per second by size', seriesOf(points)))
    options.report.note(`wrote ${options.plot}`)
  },
}

interface ScalePoint {
  readonly step: string
  readonly relationships: number
  readonly record: BenchRecord
}

async function measure(
  { small, seed, report, steps }: BenchOptions,
  size: number,
  points: ScalePoint[],
): Promise<void> {
  const graph = scaleGraph(size)
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-scale-'))
  const free = statfsSync(folder)
  const needed = graph.relationships * BYTES_PER_RELATIONSHIP
  if (free.bavail * free.bsize < needed) throw new Error(`${folder} needs ${Math.ceil(needed / 2 ** 30)} GiB`)
  const { nodes, relationships } = graph
  const arguments_ = { folder, relationships: size, seed, questions: small ? 2_000 : 200_000 }
  try {
    for (const step of STEPS) {
      if (steps !== null && !steps.includes(step)) continue
      const text = await output([join('bench', 'store', 'scale-part.ts'), step, JSON.stringify(arguments_)])
      const record = JSON.parse(text) as BenchRecord
      report.line({ record: step, nodes, relationships, ...record })
      points.push({ step, relationships, record })
      for (const name of LEFTOVERS[step] ?? []) rmSync(join(folder, name), { recursive: true, force: true })
    }
    mustEqual('the number of sizes measured', points.length > 0, true)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function seriesOf(points: readonly ScalePoint[]): PlotSeries[] {
  const rates: readonly (readonly [step: string, field: string, label: string])[] = [
    ['load', 'relationships_per_s', 'load'],
    ['import', 'relationships_per_s', 'import'],
    ['verify', 'elements_per_s', 'verify (elements)'],
    ['export', 'elements_per_s', 'export (elements)'],
  ]
  return rates.flatMap(([step, field, label]) => {
    const own = points.filter((point) => point.step === step)
    return own.length === 0
      ? []
      : [{ label, points: own.map((p) => [p.relationships, Number(p.record[field])] as const) }]
  })
}
