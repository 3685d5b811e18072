// How long does an authorizer take from nothing to its first decision, under Node and Bun? Each round is a new process that imports
// the built library, reads a project folder with 20 policies, writes a graph and decides. Run `npm run build:package` before.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, type BenchOptions, mustEqual, round } from '../harness.ts'

const POLICIES = 20
const library = join(import.meta.dirname, '..', '..', 'dist', 'library', 'index.js')

export const authorizer: Bench = {
  name: 'authorizer',
  question: 'the time from the start of a process to the first decision of a project with 20 policies',
  async run({ small, report }: BenchOptions) {
    if (!existsSync(library)) throw new Error('dist/library is missing: run `npm run build:package`')
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-'))
    try {
      writeProject(folder)
      const programs = { node: Bun.which('node'), bun: process.execPath }
      for (const [runtime, program] of Object.entries(programs)) {
        if (program === null) {
          report.note(`${runtime} is not on the path`)
          continue
        }
        const rounds = Array.from({ length: small ? 5 : 30 }, () => startOnce(program, folder))
        report.line({
          record: 'start',
          runtime,
          policies: POLICIES,
          rounds: rounds.length,
          from_process_ms: round(medianOf(rounds.map(({ processMs }) => processMs))),
          from_import_ms: round(medianOf(rounds.map(({ importedMs }) => importedMs))),
          best_from_process_ms: round(Math.min(...rounds.map(({ processMs }) => processMs))),
          cpu_ms: round(medianOf(rounds.map(({ cpuMs }) => cpuMs))),
          best_cpu_ms: round(Math.min(...rounds.map(({ cpuMs }) => cpuMs))),
        })
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface StartRound {
  /** From the start of the process, milliseconds. */
  readonly processMs: number
  /** From the import of the library, milliseconds. */
  readonly importedMs: number
  /** Processor time of all threads until the first decision, milliseconds. Other programs on the machine change it less. */
  readonly cpuMs: number
}

function startOnce(program: string, folder: string): StartRound {
  const startedMs = performance.timeOrigin + performance.now()
  const { stdout, stderr, exitCode } = Bun.spawnSync([program, 'program.mjs'], { cwd: folder })
  if (exitCode !== 0) throw new Error(stderr.toString())
  const { decidedMs, beganMs, cpuMs, decision } = JSON.parse(stdout.toString())
  mustEqual('the first decision', decision, true)
  return { processMs: decidedMs - startedMs, importedMs: decidedMs - beganMs, cpuMs }
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

function writeProject(folder: string): void {
  mkdirSync(join(folder, 'policies'))
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: bench\n')
  for (let i = 1; i <= POLICIES; i++) {
    writeFileSync(
      join(folder, 'policies', `policy-${i}.policy.yaml`),
      `description: Policy ${i}.
subject: Person
actions: [act-${i}]
resource: Car
cypher: |
  MATCH (subject:Person)-[:OWNS]->(resource:Car)
  WHERE resource.wheels >= $min AND NOT EXISTS { MATCH (subject)-[:BANNED]->(:List {number: ${i}}) }
`,
    )
  }
  writeFileSync(
    join(folder, 'program.mjs'),
    `const now = () => performance.timeOrigin + performance.now()
const beganMs = now()
const { openAuthorizer } = await import(${JSON.stringify(library)})
const authorizer = await openAuthorizer({ memory: true, project: '.' })
const [ann, car] = [{ type: 'Person', external_id: 'ann' }, { type: 'Car', external_id: 'c1' }]
await authorizer.write({
  nodes: [ann, { ...car, properties: [{ type: 'wheels', value: 4 }] }],
  relationships: [{ source: ann, target: car, type: 'OWNS' }],
})
const { decision } = authorizer.evaluate({
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'act-7' },
  resource: { type: 'Car', id: 'c1' },
  context: { input_params: { min: 4 } },
})
const decidedMs = now()
const { user, system } = process.cpuUsage()
console.log(JSON.stringify({ decision, beganMs, decidedMs, cpuMs: (user + system) / 1000 }))
await authorizer.close()
`,
  )
}
