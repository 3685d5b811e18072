// How long does entity matching take, how much memory does it need, and how long is one step?
import { Linkage } from '../../src/matching/linkage/linkage.ts'
import type { LinkageResult, ValueKind } from '../../src/matching/linkage/types.ts'
import { generatedRegisters } from '../../test/support/generated-people.ts'
import { measureQuality } from '../../test/support/match-quality.ts'
import { type Bench, type BenchOptions, mustEqual, randomFrom, round } from '../harness.ts'

const NODES = 200_000
const SMALL_NODES = 20_000
/** A lower F1 is a wrong answer. */
const LOWEST_F1 = 0.999
const kinds: readonly ValueKind[] = ['name', 'name', 'date', 'email', 'phone', 'address', 'name', 'code']
const MIB = 2 ** 20

/** The bench `matching`. */
export const matching: Bench = {
  name: 'matching',
  question: 'time, memory and longest steps of entity matching of two registers of people with errors',
  async run(options) {
    const nodes = options.small ? SMALL_NODES : NODES
    const first = linked(nodes, options)
    if (options.small) {
      // Deterministic: the second run in the same process gives the same matches.
      const second = linked(nodes, options)
      mustEqual('number of matches of a second run', second.matches.length, first.matches.length)
      for (let at = 0; at < first.matches.length; at += 1) {
        mustEqual(`match ${at}`, JSON.stringify(second.matches.at(at)), JSON.stringify(first.matches.at(at)))
      }
    }
  },
}

function linked(nodes: number, { seed, report }: BenchOptions): LinkageResult {
  const mappings = kinds.map((kind, at) => ({ sourceProperty: `p${at}`, targetProperty: `p${at}`, kind }))
  const linkage = new Linkage(mappings, { seed, cutoff: 0.5, isSameType: false })
  const start = performance.now()
  const cpuStart = process.cpuUsage()
  let longestAdd = 0
  let node = 0
  for (const { source, target } of generatedRegisters(nodes, randomFrom(seed))) {
    const before = performance.now()
    linkage.addSource(node, source)
    linkage.addTarget(node, target)
    longestAdd = Math.max(longestAdd, performance.now() - before)
    node += 1
  }
  const added = performance.now()
  report.note(`${nodes} nodes of each type are added`)
  const steps: number[] = []
  let bytes = 0
  const run = linkage.run({ same: [], different: [] })
  for (;;) {
    const before = performance.now()
    const step = run.next()
    steps.push(performance.now() - before)
    if (steps.length % 256 === 0) bytes = Math.max(bytes, process.memoryUsage.rss())
    if (step.done !== true) continue
    const result = step.value
    const cpu = process.cpuUsage(cpuStart)
    steps.sort((a, b) => a - b)
    const found = [...result.matches].map(({ source, target }): [number, number] => [source, target])
    const same = Array.from({ length: nodes / 2 }, (_, i): [number, number] => [2 * i, 2 * i])
    const { f1, precision, recall } = measureQuality(found, { same }, false)
    if ((f1 ?? 0) < LOWEST_F1) throw new Error(`wrong answer: F1 is ${f1}, expected at least ${LOWEST_F1}`)
    report.line({
      record: 'matching',
      nodes_of_each_type: nodes,
      add_s: round((added - start) / 1000),
      run_s: round((performance.now() - added) / 1000),
      cpu_s: round((cpu.user + cpu.system) / 1e6),
      memory_mib: Math.round(Math.max(bytes, process.memoryUsage.rss()) / MIB),
      compared_pairs: result.comparedPairs,
      matches: result.matches.length,
      precision: round(precision ?? 0),
      recall: round(recall ?? 0),
      step_p50_ms: round(steps[Math.floor(steps.length * 0.5)]!),
      step_p99_ms: round(steps[Math.floor(steps.length * 0.99)]!),
      step_max_ms: round(steps.at(-1)!),
      add_max_ms: round(longestAdd),
    })
    return result
  }
}
