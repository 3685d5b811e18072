// The command `test`: its report never replaces a scenario.
import { linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testScenarios } from '../../../../src/cli/policies/test-scenarios.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

test('refuses to write the report to a scenario file of the run, by its name or a link', async () => {
  const folder = temporaryFolder()
  const scenario = join(folder, 'drive.scenario.yaml')
  writeFileSync(scenario, 'the text of a scenario')
  const [link, hardLink] = [join(folder, 'report.json'), join(folder, 'report.xml')]
  symlinkSync(scenario, link)
  linkSync(scenario, hardLink)
  for (const out of [scenario, link, hardLink]) {
    const flags = { bail: false, coverage: false, reporter: 'json', watch: false, out } as const
    await expect(testScenarios([folder], flags)).rejects.toThrow(`--out: ${out} is a scenario file of this run`)
  }
  expect(readFileSync(scenario, 'utf8')).toBe('the text of a scenario')
})
