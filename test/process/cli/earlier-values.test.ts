// `verify` names elements that earlier versions stored in another way, and `migrate` writes integers again, as real processes.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { folderWithEarlierValues } from '../../support/earlier-values.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

afterEach(killAll)

it('verify names such values, migrate --check what migrate would write again, and migrate writes it again once', async () => {
  const data = temporaryFolder()
  const folder = join('projects', 'one', 'default')
  mkdirSync(join(data, folder), { recursive: true, mode: 0o700 })
  await folderWithEarlierValues([1, 1n, [1, 'x'], [1n, 7]], join(data, folder))
  const told = async (...args: string[]): Promise<[number, string[]]> => {
    const { exitCode, stdout } = await runCommand([...args, '--data', data])
    return [exitCode, stdout.trim().split('\n')]
  }
  const wide = 'an integer is stored in more bits than it needs: `migrate` stores it as the number'
  const rewritten = ['the node `Pass` "p1"', 'the node `Pass` "p3"', 'the relationship 1 `LINK`'].map(
    (element) => `${folder}: ${element}: ${wide}`,
  )
  const mixed = expect.stringMatching(/^notice {3}\S+: the node `Pass` "p2": the property `level`: .*: write it again$/)

  const [code, verified] = await told('verify')
  expect(code).toBe(0)
  const notices = verified.filter((line) => line.startsWith('notice'))
  const [p1, p3, link] = rewritten.map((line) => `notice   ${line}`)
  expect(notices).toEqual([p1, mixed, p3, link])

  const [checkCode, checked] = await told('migrate', '--check')
  expect(checkCode).toBe(1)
  expect(checked.filter((line) => line.startsWith('rewrite'))).toEqual(rewritten.map((line) => `rewrite     ${line}`))
  const [, [json]] = await told('migrate', '--check', '--json')
  expect(JSON.parse(json!).rewrites).toHaveLength(3)

  expect(await told('migrate')).toEqual([0, expect.arrayContaining([`migrated  ${folder}`])])
  expect(await told('migrate')).toEqual([0, expect.arrayContaining([`unchanged ${folder}`])])
  const [cleanCode, clean] = await told('migrate', '--check')
  expect([cleanCode, clean.filter((line) => line.startsWith('rewrite'))]).toEqual([0, []])
  expect((await told('verify'))[1].filter((line) => line.startsWith('notice'))).toEqual([mixed])
})
