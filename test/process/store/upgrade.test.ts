// Upgrades of data folders that earlier versions wrote: each is refused with the command to run, migrated, verified and served, and
// gives the answers of the version that wrote it.
import { afterEach, describe, expect, it } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { askDataFolder, earlierDataFolders, layoutKinds, unpackDataFolder } from '../../support/earlier-data-folders.ts'

afterEach(killAll)

describe.each([...earlierDataFolders])('a data folder with the layouts %s', (name, { layouts, key, asked }) => {
  const isCurrent = layoutKinds.every(([contents, { version }]) => (layouts[contents] ?? version) === version)

  it('is migrated, is sound, and decides as the version that wrote it', async () => {
    const folder = unpackDataFolder(name)
    const data = ['--data', folder]
    const checked = await runCommand(['migrate', '--check', '--json', ...data])
    const states = (JSON.parse(checked.stdout) as { layouts: { state: string }[] }).layouts.map(({ state }) => state)
    const state = isCurrent ? 'current' : 'older'
    expect([checked.exitCode, new Set(states)]).toEqual([isCurrent ? 0 : 1, new Set([state])])
    if (!isCurrent) {
      const refused = await runCommand(['serve', '--port', '0', ...data])
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('run `verdigraph migrate`')])
      const examined = await runCommand(['doctor', ...data])
      expect([examined.exitCode, examined.stdout]).toEqual([1, expect.stringContaining('✗ layout')])
    }

    const migrated = await runCommand(['migrate', '--json', ...data])
    expect([migrated.exitCode, migrated.stderr]).toEqual([0, ''])
    expect((JSON.parse(migrated.stdout) as { migrated: string[] }).migrated.length > 0).toBe(!isCurrent)
    expect((await runCommand(['migrate', '--check', ...data])).exitCode).toBe(0)
    const verified = await runCommand(['verify', ...data])
    expect([verified.exitCode, verified.stdout]).toEqual([0, expect.stringMatching(/^sound {4}config$/m)])

    const server = await startServer(data)
    const answers = []
    for (const { target, body } of asked) answers.push(await askDataFolder(server.url, key, target, body))
    expect(answers).toEqual(asked.map(({ answer }) => answer))
    // Permits and denials, and lists with documents.
    for (const part of [{ decision: true }, { decision: false }]) expect(answers).toContainEqual(part)
    expect(JSON.stringify(answers)).toContain('service-thistle')
    expect(await server.kill('SIGTERM')).toBe(0)
  })
})
