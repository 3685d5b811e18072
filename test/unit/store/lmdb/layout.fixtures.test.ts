// Each layout version that a program ever wrote has a data folder among the fixtures: the tests of migrations read all of them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dataFolders, earlierDataFolders, layoutKinds } from '../../../support/earlier-data-folders.ts'

/** No program wrote them. */
const unused = ['documents 2']

const versions = layoutKinds.flatMap(([contents, { version }]) =>
  Array.from({ length: version }, (_, at) => `${contents} ${at + 1}`).filter((one) => !unused.includes(one)),
)

describe('the layout version', () => {
  it.each(versions)('%s has a data folder; `bun test/support/make-data-folder.ts` makes one', (version) => {
    const found = [...earlierDataFolders].filter(([, { layouts }]) =>
      Object.entries(layouts).some(([contents, number]) => `${contents} ${number}` === version),
    )
    expect(found).not.toEqual([])
    for (const [name, { asked }] of found) {
      expect([name, existsSync(join(dataFolders, `${name}.tar.gz`)), asked.length > 0]).toEqual([name, true, true])
    }
  })

  it('of all environments together is that of one data folder, with which the next version is compared', () => {
    const present = Object.fromEntries(layoutKinds.map(([contents, { version }]) => [contents, version]))
    expect([...earlierDataFolders.values()].map(({ layouts }) => layouts)).toContainEqual(present)
  })
})
