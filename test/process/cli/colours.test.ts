import { expect, it } from 'vitest'
import { supportsColours } from '../../../src/cli/output/colours.ts'
import { runCommand } from '../../support/cli-process.ts'

const cases: [environment: Record<string, string>, terminal: boolean, wanted: boolean][] = [
  [{}, true, true],
  [{}, false, false],
  [{ CI: 'true' }, false, false],
  [{ CI: 'true' }, true, true],
  [{ TERM: 'dumb' }, true, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ NO_COLOR: '' }, true, true],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '3', TERM: 'dumb' }, false, true],
  [{ FORCE_COLOR: '' }, false, false],
  [{ FORCE_COLOR: '0' }, true, false],
  [{ FORCE_COLOR: 'false' }, true, false],
  [{ NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
]
it.each(cases)('with %j and a terminal %s: %s', (environment, terminal, wanted) => {
  expect(supportsColours(environment, terminal)).toBe(wanted)
})

const missing = ['init', '--settings', '/there/is/none.json']
const plain = 'error: /there/is/none.json: the settings file does not exist\n'

it('are not written to a pipe, nor on a build machine, unless requested', async () => {
  expect((await runCommand(missing, { CI: 'true' })).stderr).toBe(plain)
  expect((await runCommand(missing, { CI: 'true', FORCE_COLOR: '1', NO_COLOR: '1' })).stderr).toBe(plain)
  const coloured = (await runCommand(missing, { FORCE_COLOR: '1' })).stderr
  expect(coloured).toBe(plain.replace('error:', '\u001b[31merror:\u001b[39m'))
})
