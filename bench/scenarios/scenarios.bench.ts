// How long does `verdigraph test` take for 200 scenario files? Each round is a new process. The files belong to one project with 20
// policies; each has a graph of its own, decisions, searches and an explanation.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, type BenchOptions, mustEqual, randomFrom, round } from '../harness.ts'

const POLICIES = 20
const DECISIONS = 8
const program = join(import.meta.dirname, '..', '..', 'src', 'main.ts')

export const scenarios: Bench = {
  name: 'scenarios',
  question:
    'the time of `verdigraph test` over 200 scenario files of a project with 20 policies, with and without coverage',
  async run({ small, seed, report }: BenchOptions) {
    const files = small ? 20 : 200
    const rounds = small ? 2 : 7
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-'))
    try {
      writeProject(folder, files, seed)
      for (const coverage of [false, true]) {
        const runs = Array.from({ length: rounds }, () => runOnce(folder, coverage, files))
        const sorted = (of: (run: TimedRun) => number): readonly number[] => runs.map(of).sort((a, b) => a - b)
        const [walls, processors] = [sorted(({ wallMs }) => wallMs), sorted(({ cpuMs }) => cpuMs)]
        report.line({
          record: 'test',
          files,
          policies: POLICIES,
          checks: files * (DECISIONS + 3),
          coverage,
          rounds,
          wall_ms: round(walls[Math.floor(rounds / 2)] as number),
          best_wall_ms: round(walls[0] as number),
          cpu_ms: round(processors[Math.floor(rounds / 2)] as number),
        })
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface TimedRun {
  readonly wallMs: number
  /** User and system time of the process. */
  readonly cpuMs: number
}

function runOnce(folder: string, coverage: boolean, files: number): TimedRun {
  const startedMs = performance.now()
  const { stdout, exitCode, resourceUsage } = Bun.spawnSync([
    process.execPath,
    program,
    'test',
    folder,
    '--reporter',
    'json',
    ...(coverage ? ['--coverage'] : []),
  ])
  const wallMs = performance.now() - startedMs
  mustEqual('the exit code', exitCode, 0)
  const { checks } = JSON.parse(stdout.toString())
  mustEqual('the number of passed checks', checks.passed, files * (DECISIONS + 3))
  return { wallMs, cpuMs: Number(resourceUsage.cpuTime.total) / 1000 }
}

function writeProject(folder: string, files: number, seed: number): void {
  for (const name of ['policies', 'scenarios']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: bench\n')
  for (let i = 1; i <= POLICIES; i++) {
    writeFileSync(
      join(folder, 'policies', `policy-${i}.policy.yaml`),
      `subject: Person
actions: [act-${i}]
resource: Document
cypher: |
  MATCH (subject:Person)-[:MEMBER]->(:Team)-[:OWNS]->(resource:Document)
  WHERE resource.level <= $level AND NOT EXISTS { MATCH (subject)-[:BANNED]->(:List {number: ${i}}) }
`,
    )
  }
  const random = randomFrom(seed)
  for (let i = 1; i <= files; i++) {
    writeFileSync(join(folder, 'scenarios', `scenario-${i}.scenario.yaml`), scenarioText(random))
  }
}

/** People in one team, and documents of it with levels. */
function scenarioText(random: (below: number) => number): string {
  const people = Array.from({ length: 4 }, (_, i) => `person-${i}`)
  const levels = Array.from({ length: 5 }, () => random(10))
  const action = `act-${1 + random(POLICIES)}`
  const decisions = Array.from({ length: DECISIONS }, () => {
    const [person, document, level] = [random(people.length), random(levels.length), random(10)]
    const expected = (levels[document] as number) <= level ? 'yes' : 'no'
    return `  - [Person:${people[person]}, ${action}, Document:d${document}, { level: ${level} }, ${expected}]`
  })
  const documents = levels.map((_, i) => `d${i}`)
  return `graph: |
${people.map((person) => `  (${person}:Person)-[:MEMBER]->(red${person === people[0] ? ':Team' : ''})`).join('\n')}
${levels.map((level, i) => `  (red)-[:OWNS]->(d${i}:Document {level: ${level}})`).join('\n')}
decisions:
${decisions.join('\n')}
resources:
  - [Person:person-0, ${action}, { level: 9 }, [${documents.join(', ')}]]
subjects:
  - [Person, ${action}, Document:d0, { level: 9 }, [${people.join(', ')}]]
explanations:
  - { subject: Person:person-1, action: ${action}, resource: Document:d1, params: { level: -1 }, stopped: resource.level }
`
}
