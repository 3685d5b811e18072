// A test cannot pass by mistake: in the scenarios of this repository, each name of a question that is answered no is misspelt, one at
// a time, and the file then fails at that place. The names of the tests are the list of the mutations.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { ProjectFolderError } from '../../src/project/file-diagnostic.ts'
import { loadProject } from '../../src/project/load-project.ts'
import { readScenarioText } from '../../src/scenarios/load-scenario.ts'
import { runScenario } from '../../src/scenarios/run.ts'

const top = join(import.meta.dirname, '..', '..')
const example = join(top, 'examples', 'team-repository', 'authz')
const files = [join(top, 'test', 'scenarios'), join(example, 'scenarios')].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.scenario.yaml'))
    .map((name) => join(folder, name)),
)
const exampleProject = await loadProject(example)

/** The questions of a file that expect nothing to be granted, at most these many of each file. */
const QUESTIONS_MAX = 2
const question = /^ {2}- \[(?<names>[^{}]*?)(?<params>, \{[^}]*\})?, (?:no|\[\])\]$/
const name = /[\p{L}\p{N}][\p{L}\p{N}_-]*/gu

interface Mutation {
  readonly file: string
  readonly line: number
  readonly from: string
  readonly to: string
  readonly text: string
}

/** A typing error: one more letter. No scenario has such a name. */
function misspelt(from: string): string {
  return `${from}${from.endsWith('q') ? 'z' : 'q'}`
}

function mutationsOf(file: string): Mutation[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const asked = lines.flatMap((line, index) => {
    const groups = question.exec(line)?.groups
    return groups === undefined ? [] : [{ line, index, names: groups.names ?? '', params: groups.params ?? '' }]
  })
  return asked.slice(0, QUESTIONS_MAX).flatMap(({ line, index, names, params }) => {
    const start = line.indexOf('[') + 1
    // In the parameters, only the keys are names.
    const keys = [...params.matchAll(/[{,]\s*([\p{L}_][\p{L}\p{N}_]*):/gu)].map(
      ({ index: at, 0: whole, 1: key = '' }) => ({
        at: start + names.length + at + whole.lastIndexOf(key),
        from: key,
      }),
    )
    const found = [...names.matchAll(name)].map(({ index: at, 0: from }) => ({ at: start + at, from }))
    return [...found, ...keys].map(({ at, from }) => {
      const to = misspelt(from)
      const text = lines.with(index, line.slice(0, at) + to + line.slice(at + from.length)).join('\n')
      return { file, line: index + 1, from, to, text }
    })
  })
}

function projectOf(file: string) {
  return file.startsWith(example) ? exampleProject : null
}

/** The place and the message of each failure. */
async function failuresOf(file: string, text: string): Promise<{ readonly line: number; readonly message: string }[]> {
  try {
    const { checks } = await runScenario(readScenarioText(file, text, projectOf(file)))
    return checks
      .filter(({ passed }) => !passed)
      .map(({ position, actual }) => ({ line: position.line, message: actual }))
  } catch (error) {
    if (!(error instanceof ProjectFolderError)) throw error
    return [...error.diagnostics]
  }
}

const mutations = files.flatMap(mutationsOf)

test('there are at least 40 mutations, of at least 15 files', () => {
  expect(mutations.length).toBeGreaterThanOrEqual(40)
  expect(new Set(mutations.map(({ file }) => file)).size).toBeGreaterThanOrEqual(15)
})

test.each(files.map((file) => [basename(file), file]))('%s passes as it is', async (_, file) => {
  expect(await failuresOf(file, readFileSync(file, 'utf8'))).toEqual([])
})

test.each(mutations.map((one) => [basename(one.file), one.line, one.from, one.to, one] as const))(
  '%s, line %d: `%s` → `%s` is found',
  async (_file, _line, _from, _to, { file, line, to, text }) => {
    const failures = await failuresOf(file, text)
    expect(failures).toEqual([{ ...failures[0], line, message: expect.stringContaining(to) }])
  },
)
