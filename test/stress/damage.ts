// Changes bytes of a data file at random places, each in a separate copy, and repeats all questions. A decision may be
// refused, and the process may end, but no decision may differ without an error.
// Run alone: bun test/stress/damage.ts [--flips 200] [--structure] [--step 7] [--seed N]
import { closeSync, copyFileSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import { runCommand } from '../support/cli-process.ts'
import { type DamageAnswers, writeWorld } from './damage-fixture.ts'
import { numberAfter } from './flags.ts'

export interface DamageOutcome {
  readonly flips: number
  /** All answers as before: the byte is on no used page, or irrelevant to the questions. */
  readonly same: number
  /** Some question or the opening was refused as corrupted; the others had the same answer. */
  readonly told: number
  /** Some question failed with an error of another kind. */
  readonly failed: number
  /** The process ended without an answer to some question. */
  readonly crashed: number
  /** Of all flips, those that `verify` finds. */
  readonly verified: number
  readonly opening: number
  /** Questions for each copy. */
  readonly questions: number
  /** Decisions that differ without an error: must be empty. */
  readonly wrong: readonly string[]
}

const PAGE = 4096

export async function damageRounds(
  flips: number,
  seed: number,
  options: { readonly structure: boolean; readonly step: number; readonly verify: boolean },
): Promise<DamageOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-damage-'))
  const whole = join(folder, 'whole')
  const random = new Random(seed)
  const outcome = { same: 0, told: 0, failed: 0, crashed: 0, verified: 0, opening: 0 }
  const wrong: string[] = []
  try {
    await writeWorld(whole)
    const bytes = readFileSync(join(whole, 'data.mdb'))
    const right = (await answersOf(whole, options.step)).answers
    for (let flip = 0; flip < flips; flip++) {
      const at = options.structure ? structuralPlace(bytes, random) : random.between(0, bytes.length - 1)
      const mask = random.between(1, 255)
      const copy = join(folder, `${flip}`)
      mkdirSync(copy)
      copyFileSync(join(whole, 'data.mdb'), join(copy, 'data.mdb'))
      const file = openSync(join(copy, 'data.mdb'), 'r+')
      writeSync(file, Uint8Array.of(bytes[at]! ^ mask), 0, 1, at)
      closeSync(file)
      const { answers, ended } = await answersOf(copy, options.step)
      const others: string[] = []
      for (const [question, answer] of Object.entries(answers)) {
        if (answer !== right[question] && !/^(told|failed): /.test(answer)) others.push(question)
      }
      const place = `byte ${at} (page ${Math.floor(at / PAGE)}, ${at % PAGE}) with ${mask}`
      for (const question of others) wrong.push(`${place}: ${question} came out another way`)
      const texts = Object.values(answers)
      if (texts.some((answer) => answer.startsWith('failed: '))) {
        outcome.failed += 1
        console.log(
          place,
          texts.find((answer) => answer.startsWith('failed: ')),
        )
      } else if (!ended) outcome.crashed += 1
      else if (texts.some((answer) => answer.startsWith('told: '))) outcome.told += 1
      else outcome.same += 1
      if (answers.open?.startsWith('told: ')) outcome.opening += 1
      if (options.verify && (await runCommand(['verify', '--data', copy])).exitCode === 1) outcome.verified += 1
      rmSync(copy, { recursive: true })
    }
    return { flips, ...outcome, questions: Object.keys(right).length, wrong }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In the header of a tree page, in its directory, or in the header of an entry: the structure of the page. */
function structuralPlace(bytes: Buffer, random: Random): number {
  for (;;) {
    const page = random.between(0, bytes.length / PAGE - 1) * PAGE
    const flags = bytes.readUInt16LE(page + 18)
    if (flags !== 1 && flags !== 2) continue
    const count = bytes.readUInt16LE(page + 20) >> 1
    const entry = page + 24 + bytes.readUInt16LE(page + 24 + 2 * random.between(0, count - 1))
    const where = random.between(0, 9)
    if (where < 3) return page + random.between(0, 23)
    if (where < 6) return page + 24 + random.between(0, 2 * count - 1)
    return entry + random.between(0, flags === 1 ? 23 : 7)
  }
}

async function answersOf(folder: string, step: number): Promise<{ answers: DamageAnswers; ended: boolean }> {
  const world = join(import.meta.dirname, 'damage-fixture.ts')
  const child = Bun.spawn([process.execPath, world, folder, String(step)], { stdout: 'pipe', stderr: 'ignore' })
  const text = await child.stdout.text()
  await child.exited
  const answers: Record<string, string> = {}
  // The last line of a killed process may be truncated.
  for (const line of text.slice(0, text.lastIndexOf('\n')).split('\n')) {
    const [question = '', answer = ''] = line.split('\t')
    answers[question] = answer
  }
  const ended = answers.done !== undefined || answers.open?.startsWith('told: ') === true
  return { answers, ended }
}

if (import.meta.main) {
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const structure = process.argv.includes('--structure')
  const outcome = await damageRounds(numberAfter('--flips', 200), seed, {
    structure,
    step: numberAfter('--step', 7),
    verify: true,
  })
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.wrong.length === 0 ? 0 : 1)
}
