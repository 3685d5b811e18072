// Damages pages of a data file: fills each kind of page with each byte, and changes random bytes. Another process opens each copy, asks
// questions and writes. It must never end, and each answer is the right one or an error that names the damage.
// Run alone: bun test/stress/damaged-pages.ts [--fills 256] [--random 500] [--step 97] [--seed N]
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PageFile, type PageTree, TreePage } from '../../src/store/pages/page-file.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { writeWorld } from './damage-fixture.ts'
import { numberAfter } from './flags.ts'

const PAGE = 4096
const PAGE_BYTE_MAX = 255

export interface DamagedPagesOutcome {
  /** Kinds of pages, such as `adjacency leaf`. */
  readonly kinds: readonly string[]
  readonly damages: number
  /** Copies that were refused when they were opened. */
  readonly refused: number
  /** Copies in which a question or the write was refused. */
  readonly told: number
  /** Copies in which everything was answered as before: the damaged bytes are not used. */
  readonly same: number
  /** Damages that ended the process: must be empty. */
  readonly ended: readonly string[]
  /** Answers that were neither right nor an error that names the damage: must be empty. */
  readonly wrong: readonly string[]
}

interface PageDamage {
  readonly name: string
  change(bytes: Buffer): void
}

/** `fills`: the bytes with which a page of each kind is filled. `random`: number of random damages. */
export async function damagedPages(
  fills: readonly number[],
  random: number,
  seed: number,
  step: number,
): Promise<DamagedPagesOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-damaged-pages-'))
  const process = new AskingProcess(step)
  try {
    const whole = join(folder, 'whole')
    await writeWorld(whole)
    const bytes = readFileSync(join(whole, 'data.mdb'))
    const kinds = pagesByKind(join(whole, 'data.mdb'))
    const copyOf = (name: string): string => {
      const copy = join(folder, name)
      mkdirSync(copy)
      copyFileSync(join(whole, 'data.mdb'), join(copy, 'data.mdb'))
      return copy
    }
    const right = await process.ask(copyOf('right'))
    if (right === null) throw new Error('the process ended without any damage')
    const counts = { refused: 0, told: 0, same: 0 }
    const ended: string[] = []
    const wrong: string[] = []
    const damages = [...fillDamages(kinds, fills), ...randomDamages(kinds, bytes, random, new Random(seed))]
    for (const [i, { name, change }] of damages.entries()) {
      const copy = copyOf(`${i}`)
      const changed = Buffer.from(bytes)
      change(changed)
      writeFileSync(join(copy, 'data.mdb'), changed)
      const answers = await process.ask(copy)
      rmSync(copy, { recursive: true })
      if (answers === null) {
        ended.push(name)
        continue
      }
      for (const [question, answer] of Object.entries(answers))
        if (!answer.startsWith('told: ') && answer !== right[question]) wrong.push(`${name}: ${question}: ${answer}`)
      if (answers.open?.startsWith('told: ')) counts.refused += 1
      else if (Object.values(answers).some((answer) => answer.startsWith('told: '))) counts.told += 1
      else counts.same += 1
    }
    return { kinds: [...kinds.keys()], damages: damages.length, ...counts, ended, wrong }
  } finally {
    process.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

function* fillDamages(kinds: ReadonlyMap<string, readonly number[]>, fills: readonly number[]): Iterable<PageDamage> {
  for (const [kind, pages] of kinds) {
    for (const fill of fills) {
      const page = pages[fill % pages.length]!
      yield {
        name: `${kind} (page ${page}) filled with ${fill}`,
        change: (bytes) => bytes.fill(fill, page * PAGE, (page + 1) * PAGE),
      }
    }
  }
}

function* randomDamages(
  kinds: ReadonlyMap<string, readonly number[]>,
  bytes: Buffer,
  count: number,
  random: Random,
): Iterable<PageDamage> {
  const all = [...kinds].flatMap(([kind, pages]) => pages.map((page) => ({ kind, page })))
  const byte = () => random.between(0, PAGE_BYTE_MAX)
  for (let i = 0; i < count; i++) {
    const { kind, page } = random.pick(all)
    const other = random.pick(all).page
    const start = page * PAGE
    // The header of a page and of its first entries are the start of the page; the entries themselves fill it from the end.
    const at = random.pick([random.between(0, 80), random.between(0, PAGE - 1)])
    const length = Math.min(random.pick([1, 2, 8, 64, 512]), PAGE - at)
    const mask = random.between(1, PAGE_BYTE_MAX)
    const noise = Uint8Array.from({ length }, byte)
    const name = `${kind} (page ${page}), damage ${i}`
    const changes: readonly PageDamage[] = [
      { name: `${name}: byte ${at} with ${mask}`, change: (b) => b.writeUInt8(b[start + at]! ^ mask, start + at) },
      { name: `${name}: ${length} random bytes at ${at}`, change: (b) => b.set(noise, start + at) },
      { name: `${name}: ${length} zeros at ${at}`, change: (b) => b.fill(0, start + at, start + at + length) },
      { name: `${name}: page ${other}`, change: (b) => b.copy(b, start, other * PAGE, (other + 1) * PAGE) },
      {
        name: `${name}: page ${other} with its number`,
        change: (b) => b.copy(b, start + 8, other * PAGE + 8, (other + 1) * PAGE),
      },
      { name: `${name}: cut at ${page}`, change: (b) => b.fill(0, start, bytes.length) },
    ]
    yield random.pick(changes)
  }
}

/** All pages in use of a file: meta pages, and branch, leaf and overflow pages of each tree. */
export function pagesByKind(path: string): ReadonlyMap<string, readonly number[]> {
  const kinds = new Map<string, number[]>([
    ['meta 0', [0]],
    ['meta 1', [1]],
  ])
  const file = new PageFile(path)
  const add = (kind: string, page: number): void => {
    kinds.set(kind, [...(kinds.get(kind) ?? []), page])
  }
  const walk = (name: string, number: number, named: Map<string, PageTree>): void => {
    const page = new TreePage(file.pageBytes)
    const damage = page.load(file, number)
    if (damage !== null) throw new Error(damage)
    add(`${name} ${page.isLeaf ? 'leaf' : 'branch'}`, number)
    for (let i = 0; i < page.count; i++) {
      if (!page.isLeaf) walk(name, page.child(i), named)
      else {
        const tree = page.tree(i)
        if (tree !== null) named.set(page.name(i), tree)
        const overflow = page.overflow(i)
        if (overflow !== null) add(`${name} overflow`, overflow.page)
      }
    }
  }
  const [{ free, main }] = file.metas()!
  const named = new Map<string, PageTree>([
    ['free list', free],
    ['names', main],
  ])
  for (const [name, { root }] of named) if (root !== null) walk(name, root, named)
  file.close()
  return kinds
}

/** The process that opens the copies. It is started again when it has ended. */
class AskingProcess {
  private readonly step: number
  private child: ReturnType<typeof spawnAsking> | null = null
  private lines: AsyncIterator<string> | null = null

  constructor(step: number) {
    this.step = step
  }

  /** Resolves with the answers; null if the process ended. */
  async ask(folder: string): Promise<Readonly<Record<string, string>> | null> {
    if (this.child === null || this.lines === null) {
      this.child = spawnAsking(this.step)
      this.lines = linesOf(this.child.stdout)
    }
    this.child.stdin.write(`${folder}\n`)
    await this.child.stdin.flush()
    const line = await this.lines.next()
    if (line.done !== true) return JSON.parse(line.value) as Record<string, string>
    this.end()
    return null
  }

  end(): void {
    this.child?.kill('SIGKILL')
    this.child = null
  }
}

function spawnAsking(step: number) {
  const program = join(import.meta.dirname, 'damaged-pages-process.ts')
  return Bun.spawn([process.execPath, program, String(step)], { stdin: 'pipe', stdout: 'pipe', stderr: 'ignore' })
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

if (import.meta.main) {
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const fills = Array.from({ length: numberAfter('--fills', PAGE_BYTE_MAX + 1) }, (_, i) => i)
  const outcome = await damagedPages(fills, numberAfter('--random', 500), seed, numberAfter('--step', 97))
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.wrong.length + outcome.ended.length === 0 ? 0 : 1)
}
