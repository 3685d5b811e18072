// Runs every case of a folder in the JSON form of the openCypher TCK and prints the score per category.
// npm run tck -- DIR [--failures] [--only=TEXT] [--rules=off] [--write-baseline]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeBaseline } from './baseline.ts'
import type { TckCase } from './case.ts'
import { CASE_MS_MAX, type CaseVerdict, TRIES } from './run-case.ts'
import { Score } from './score.ts'
import { readSuite } from './suite.ts'

const USAGE = 'usage: npm run tck -- DIR [--failures] [--only=TEXT] [--rules=off] [--write-baseline]'
/** In addition to all tries of a case: a busy machine is not a hang. */
const PATIENCE_MS = TRIES * CASE_MS_MAX + 3_000

type WorkerMessage = { readonly begun: number } | { readonly index: number; readonly verdict: CaseVerdict }

/** Verdicts in the order of the cases. A process that hangs or crashes is killed and started again. */
async function verdicts(folder: string, count: number, rules: string): Promise<CaseVerdict[]> {
  const found: CaseVerdict[] = []
  while (found.length < count) {
    const why = await answersFrom(folder, found, rules)
    if (found.length < count) found.push({ passed: false, level: null, why })
  }
  return found
}

/** Reads the output of one process until it ends; reports the case that it did not finish. */
async function answersFrom(folder: string, found: CaseVerdict[], rules: string): Promise<string> {
  const script = join(import.meta.dirname, 'answer.ts')
  const child = Bun.spawn([process.execPath, script, folder, String(found.length), rules], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let timer: NodeJS.Timeout | undefined
  let hung = false
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const bytes of child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const message = JSON.parse(line) as WorkerMessage
        clearTimeout(timer)
        if ('verdict' in message) found.push(message.verdict)
        else {
          timer = setTimeout(() => {
            hung = true
            child.kill('SIGKILL')
          }, PATIENCE_MS)
        }
      }
    }
    const code = await child.exited
    return hung ? `no answer within ${PATIENCE_MS} ms` : `the process ended with ${code}`
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}

function showFailures(failures: Score['failures']): void {
  for (const { item, why } of failures) {
    console.log(`${item.id}\n  ${item.query.replaceAll('\n', '\n  ')}\n  -> ${why}`)
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      failures: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      rules: { type: 'string', default: 'on' },
      'write-baseline': { type: 'boolean', default: false },
    },
  })
  const [folder] = positionals
  if (folder === undefined) throw new Error(USAGE)
  const { cases } = readSuite(folder)
  if (cases.length === 0) throw new Error(`there is no case in ${folder}`)
  const { only } = values
  const isWanted = (item: TckCase): boolean => item.id.includes(only) || (item.category ?? '').includes(only)
  const score = new Score()
  const found = await verdicts(folder, cases.length, values.rules)
  cases.forEach((item, i) => {
    if (isWanted(item)) score.add(item, found[i]!)
  })
  if (values.failures) showFailures(score.failures)
  for (const line of score.report()) console.log(line)
  if (values['write-baseline']) writeBaseline(score)
  if (score.failed > 0) process.exitCode = 1
}

await main()
