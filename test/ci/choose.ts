// Prints for `.ci/run` which parts it runs, and which it leaves out and why. Each line has fields separated by tabs: `run`, the name
// and a command; `left out`, names and the reason; or `note` and a text.
//   bun test/ci/choose.ts           the parts that the change touches, as far as one run has time
//   bun test/ci/choose.ts --full    all parts
import { type Part, parts, SECONDS_MAX } from './parts.ts'

/** The work of a run. */
export interface Choice {
  readonly run: readonly Part[]
  readonly leftOut: readonly { readonly part: Part; readonly reason: string }[]
}

/** The commit that a run compares with. */
export interface TestedChange {
  /** The changed files; null: not known, so that every part counts as touched. */
  readonly files: readonly string[] | null
  /** Any number. The parts that fit begin at another place for each, so that each part gets its turn if not all fit. */
  readonly turn: number
}

/** Chooses the parts that a change touches, within the time of a run. */
export function choose({ files, turn }: TestedChange, from: readonly Part[] = parts, secondsMax = SECONDS_MAX): Choice {
  const touched = from.filter((part) => files === null || isTouched(part, files))
  const start = touched.length === 0 ? 0 : turn % touched.length
  const chosen = new Set<Part>()
  let seconds = 0
  for (const part of [...touched.slice(start), ...touched.slice(0, start)]) {
    if (seconds + part.seconds > secondsMax) continue
    seconds += part.seconds
    chosen.add(part)
  }
  return {
    run: from.filter((part) => chosen.has(part)),
    leftOut: from
      .filter((part) => !chosen.has(part))
      .map((part) => ({
        part,
        reason: touched.includes(part)
          ? `no time: the parts of one run take at most ${secondsMax} s`
          : 'the change does not touch it',
      })),
  }
}

function isTouched({ paths }: Part, files: readonly string[]): boolean {
  return paths.some((path) => {
    const glob = new Bun.Glob(path)
    return files.some((file) => glob.match(file))
  })
}

/** The output of git; null if it fails. */
function git(...args: string[]): string | null {
  const { exitCode, stdout } = Bun.spawnSync(['git', ...args], { stderr: 'ignore' })
  return exitCode === 0 ? stdout.toString().trim() : null
}

/**
 * The commit that a run compares with: where HEAD left `CI_BASE`, or else the main branch. Null if that is HEAD itself or not known, as in a
 * fresh clone of the main branch: which of its commits was tested before is written nowhere.
 */
function baseOfChange(): string | null {
  const given = process.env.CI_BASE ?? ''
  const branches = given === '' ? ['origin/HEAD', 'origin/main', 'main'] : [given]
  const bases = branches.map((branch) => git('merge-base', branch, 'HEAD'))
  return bases.find((base) => base !== null && base !== git('rev-parse', 'HEAD')) ?? null
}

if (import.meta.main) {
  if (process.argv.includes('--full')) for (const part of parts) printRun(part)
  else {
    const base = baseOfChange()
    const files = base === null ? null : git('diff', '--name-only', base)
    const turn = Number.parseInt(git('rev-parse', '--short=8', 'HEAD') ?? '0', 16)
    const { run, leftOut } = choose({ files: files === null ? null : files.split('\n'), turn })
    const compared = files === null ? 'nothing to compare with: every part counts as touched' : `compared with ${base}`
    console.log(`note\t${compared}`)
    for (const part of run) printRun(part)
    for (const [reason, left] of Map.groupBy(leftOut, (one) => one.reason)) {
      console.log(`left out\t${left.map(({ part }) => `${part.name} (${part.seconds} s)`).join(', ')}\t${reason}`)
    }
  }
}

function printRun({ name, run }: Part): void {
  for (const command of run) console.log(`run\t${name}\t${command}`)
}
